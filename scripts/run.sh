#!/usr/bin/env bash
# Builds the program and runs it in the foreground until Ctrl-C.
#
# With a display that is the desktop, without one the server.
#
# Without DATA it runs a sample: a project, data, settings and a home folder of their own, all in a
# temporary folder that goes when the program ends. With DATA it runs that data folder.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh run
desktop=
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
  if scripts/setup.sh check; then
    desktop=1
  else
    echo "The desktop cannot be built here yet (see above): the server is started in its place."
  fi
fi

# The page is part of the program.
scripts/page.sh
cargo build --locked -p loopkeeper
built=${CARGO_TARGET_DIR:-target}/debug
program=$built/loopkeeper
[ -z "$desktop" ] || cargo build --locked -p loopkeeper-desktop

work=
child=
clean_up() { [ -z "$work" ] || rm -rf "$work"; }
trap clean_up EXIT

sample() {
  work=$(mktemp -d "${TMPDIR:-/tmp}/loopkeeper-sample.XXXXXX")
  local loop=$work/sample/.agents/loops/sample.md
  mkdir -p "$(dirname "$loop")" "$work/home" "$work/data"
  cat >"$loop" <<'LOOP'
---
name: sample
schedule: "* * * * *"
enabled: true
model: demo/echo
---
Say hello. The demo agent needs no network: it answers with the prompt.
LOOP
  # The user's own loops and settings have no part in the sample.
  export HOME=$work/home LOOPKEEPER_CONFIG=$work/settings.toml
  DATA=$work/data
  "$program" projects add "$work/sample" --data-dir "$DATA"
  echo
  echo "The sample's loop runs every minute. Edit it and see: $loop"
  echo "Ctrl-C ends it and removes its folder."
  echo
}
[ -n "${DATA:-}" ] || sample

# With job control the program is in a group of its own, so that Ctrl-C reaches it once, from here.
set -m
teller=
if [ -n "$desktop" ]; then
  "$program" list --data-dir "$DATA" ${work:+--project sample} || true
  "$built/loopkeeper-desktop" --open --data-dir "$DATA" &
  child=$!
  # What happens is told here too; it ends with the desktop.
  "$program" watch --data-dir "$DATA" &
  teller=$!
else
  "$program" serve --data-dir "$DATA" &
  child=$!
fi
asked=
stop() {
  asked=1
  kill -TERM "$child" 2>/dev/null || true
}
trap stop INT TERM
code=0
wait "$child" || code=$?
# A trapped signal ends `wait` early: wait for the program's own end.
while kill -0 "$child" 2>/dev/null; do
  code=0
  wait "$child" || code=$?
done
if [ -n "$teller" ]; then
  kill -TERM "$teller" 2>/dev/null || true
  wait "$teller" 2>/dev/null || true
fi
[ -z "$asked" ] || code=0
exit "$code"
