#!/usr/bin/env bash
# Takes each guard that keeps runs from being doubled out of a copy of the source, and fails if the
# tests that are named for it stay green.
set -euo pipefail
cd "$(dirname "$0")/.."
export NO_COLOR=1 CARGO_TERM_COLOR=never CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
# Always at the same place, so that what it builds takes the place of what the last one built.
copy=$CARGO_TARGET_DIR/mutants
rm -rf "$copy"
mkdir -p "$copy"
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard -- Cargo.toml Cargo.lock crates src-tauri/Cargo.toml \
  | tar --create --null --files-from=- --ignore-failed-read 2>/dev/null | tar --extract --directory "$copy"
# The desktop needs WebKit and is not part of this.
sed -i 's/, "src-tauri"//' "$copy/Cargo.toml"
engine=$copy/crates/engine/src
failed=0

run_tests() {
  (cd "$copy" && timeout 600 cargo test --quiet --offline -p loopkeeper-engine --test engine -- --exact "$@") \
    >"$copy/log" 2>&1
}

# mutant NAME FILE PERL-SUBSTITUTION TEST…
mutant() {
  local name=$1 file=$engine/$2 change=$3
  shift 3
  cp "$file" "$copy/kept"
  perl -0pi -e "$change" "$file"
  if cmp --silent "$file" "$copy/kept"; then
    echo "$name: the guard is not where it was; correct this script"
    failed=1
    return
  fi
  for test in "$@"; do
    if run_tests "$test"; then
      echo "$name: $test stayed GREEN: it does not see that the guard is gone"
      failed=1
    elif grep --quiet "^error" "$copy/log" && ! grep --quiet "test result: FAILED" "$copy/log"; then
      echo "$name: the copy does not compile"
      tail -n 20 "$copy/log"
      failed=1
    else
      echo "$name: $test went red"
    fi
  done
  cp "$copy/kept" "$file"
}

overlap=running::a_slot_that_finds_its_task_running_is_skipped_or_waits
beats=crash::beats_go_on_in_a_long_run_and_nobody_takes_it
lease=crash::a_holder_without_beats_is_taken_over_after_its_lease_and_keeps_its_evidence
silence=crash::nothing_beats_after_the_end_of_a_run

if ! run_tests "$overlap" "$beats" "$lease" "$silence"; then
  echo "these tests fail on the source as it is:"
  tail -n 40 "$copy/log"
  exit 1
fi

mutant "the guard of the claim" ledger/marker.rs \
  's/WHERE project = \? AND task = \? AND running_at IS NULL RETURNING fence/WHERE project = ? AND task = ? RETURNING fence/' \
  "$overlap"
mutant "the lease in the sweep" ledger/sweep.rs \
  's/\(age > marker\.lease_ms\)\.then_some/(age >= 0).then_some/' \
  "$beats" "$lease"
mutant "the guard of the heartbeat" ledger/marker.rs \
  's/(SET running_at = \?, beat_awake = \? \\\n\s+WHERE) run = \? AND fence = \? AND running_at IS NOT NULL/$1 ? IS NOT NULL AND ? IS NOT NULL/' \
  "$lease"
mutant "the end of the heartbeat" runtime/worker.rs \
  's/beat\.abort\(\);/drop(beat);/' \
  "$silence"
exit $failed
