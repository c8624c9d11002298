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
cargo build --locked -p loopkeeper -p loopkeeper-desktop
cd tests/desktop
export PYTHONDONTWRITEBYTECODE=1
if [ $# -eq 0 ]; then exec /usr/bin/python3 -m unittest discover -v -p 'test_*.py'; fi
exec /usr/bin/python3 -m unittest -v "$@"
