# Runs named steps, goes on after a failed one, and tells at the end what each did.
# Sourced by check.sh and test.sh, which set `pipefail`.

steps_log=$(mktemp -d)
trap 'rm -rf "$steps_log"' EXIT
steps_told=()
steps_failed=0

# step NAME PATTERN COMMAND…: the summary repeats those lines of the output that match PATTERN.
step() {
  local name=$1 pattern=$2 started=$SECONDS verdict=ok log="$steps_log/${#steps_told[@]}"
  shift 2
  echo "== $name"
  if ! "$@" </dev/null 2>&1 | tee "$log"; then
    verdict=FAILED
    steps_failed=1
  fi
  steps_told+=("$name: $verdict, $((SECONDS - started)) s")
  if [ -n "$pattern" ]; then grep -E "$pattern" "$log" || true; fi >"$log.summary"
}

# Prints each step with its seconds and its runner's own closing lines; fails if a step failed.
summary() {
  local index
  echo
  for index in "${!steps_told[@]}"; do
    echo "${steps_told[$index]}"
    cat "$steps_log/$index.summary"
  done
  return $steps_failed
}
