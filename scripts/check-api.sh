#!/usr/bin/env bash
# Asks a running server everything that its own description allows, and much that it does not:
# nothing may answer 5xx, nor anything that the description does not say. Takes a few minutes.
#
# The server runs on a data, home and project folder of its own, which go when it ends.
set -euo pipefail
cd "$(dirname "$0")/.."
examples=${EXAMPLES:-15}
tools=target/check-api
program=${PROGRAM:-}
if [ -z "$program" ]; then
  cargo build --locked -p loopkeeper
  program=${CARGO_TARGET_DIR:-target}/debug/loopkeeper
fi
if [ ! -x "$tools/bin/schemathesis" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet "schemathesis==4.32.5"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/loopkeeper-api.XXXXXX")
child=
clean_up() {
  if [ -n "$child" ]; then
    kill "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap clean_up EXIT
mkdir -p "$work/home" "$work/data" "$work/project/.agents/loops"
cat >"$work/project/.agents/loops/hello.md" <<'LOOP'
---
name: hello
schedule: "0 9 * * *"
enabled: true
model: demo/echo
---
Hello.
LOOP
tools=$PWD/$tools
export HOME=$work/home LOOPKEEPER_CONFIG=$work/settings.toml NO_COLOR=1
"$program" projects add "$work/project" --data-dir "$work/data" >/dev/null
"$program" serve --port 0 --data-dir "$work/data" >"$work/log" 2>&1 &
child=$!
url=
for _ in $(seq 200); do
  url=$(sed -nE 's|.*"url": ?"(http://[^/"]+).*|\1|p' "$work"/data/loopkeeper/run/serve-*.json 2>/dev/null || true)
  [ -z "$url" ] || break
  kill -0 "$child" 2>/dev/null || break
  sleep 0.1
done
[ -n "$url" ] || { echo "the server did not start:"; cat "$work/log"; exit 1; }

# ask NAME ARGUMENT…: one pass over the operations.
ask() {
  echo "== $1"
  shift
  "$tools/bin/schemathesis" --config-file "$work/schemathesis.toml" run "$url/api/openapi.json" \
    --header "Authorization: Bearer $(cat "$work/data/loopkeeper/token")" \
    --exclude-path-regex '/events$' \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
    --phases examples,coverage,fuzzing --max-examples "$examples" \
    --generation-deterministic --request-timeout 30 --no-color "$@"
}

cd "$work"
# First on what there is; what takes it away would leave the rest with nothing.
project=$(sed -nE 's|.*"id": ?"(path_[^"]+)".*|\1|p' data/loopkeeper/projects.json | head -n 1)
cat >schemathesis.toml <<CONFIG
[parameters]
"path.projectId" = "$project"
"path.taskId" = "loop:project:hello"
"query.project" = "$project"
"query.path" = "$work/project/.agents/loops/hello.md"
CONFIG
ask "what there is" --exclude-operation-id removeProject --exclude-operation-id deleteLoopFile
: >schemathesis.toml
ask "every operation, ids as they come"
