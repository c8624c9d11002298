#!/usr/bin/env bash
# The tests of the desktop program: on a screen in memory, with a bus, a tray host and a notification
# daemon of their own. Arguments go to Python's unittest (a test's name, `-k pattern`).
#
# With LOOPKEEPER_TEST_PICTURES=DIR, pictures of the window and the menus' texts are left there.
set -euo pipefail
cd "$(dirname "$0")/.."
for program in Xvfb openbox dbus-daemon xdotool wmctrl import; do
  if ! command -v "$program" >/dev/null; then
    echo "desktop tests: $program is missing: run scripts/setup.sh test" >&2
    exit 1
  fi
done
if ! /usr/bin/python3 -c "import dbus, gi" 2>/dev/null; then
  echo "desktop tests: python3-dbus and python3-gi are missing: run scripts/setup.sh test" >&2
  exit 1
fi
if [ ! -f ui/dist/index.html ]; then
  echo "desktop tests: ui/dist is missing: run make ui" >&2
  exit 1
fi
# With LOOPKEEPER_TEST_PROGRAMS=DIR the programs of that folder are tested.
[ -n "${LOOPKEEPER_TEST_PROGRAMS:-}" ] || cargo build --locked -p loopkeeper -p loopkeeper-desktop
cd tests/desktop
export PYTHONDONTWRITEBYTECODE=1
if [ $# -gt 0 ]; then exec /usr/bin/python3 -m unittest -v "$@"; fi

# Each file is a process with a screen of its own. They wait most of the time, so some run at once.
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
failed=0
running=0
for file in test_*.py; do
  if [ $running -eq 3 ]; then
    wait -n || failed=1
    running=$((running - 1))
  fi
  /usr/bin/python3 -m unittest -v "${file%.py}" >"$logs/$file" 2>&1 &
  running=$((running + 1))
done
while [ $running -gt 0 ]; do
  wait -n || failed=1
  running=$((running - 1))
done
cat "$logs"/*
exit $failed
