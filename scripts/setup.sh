#!/usr/bin/env bash
# Brings what a stage needs and this machine lacks. Running it again costs a moment.
#
#   setup.sh run      what builds the program without a window, and its page
#   setup.sh check    that, and what the desktop is compiled with
#   setup.sh test     that, and what the tests drive: a screen, a browser, the opencode program
#   setup.sh package  what `check` takes, and what an installer is bundled with
set -euo pipefail
cd "$(dirname "$0")/.."
stage=${1:-test}
missing=()

# need PACKAGE COMMAND…: the Debian package is missing when the command fails.
need() {
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || missing+=("$package")
}
any_of() {
  local name
  for name in "$@"; do command -v "$name" >/dev/null && return 0; done
  return 1
}
shared_library() { PATH=$PATH:/sbin:/usr/sbin ldconfig -p | grep "$1"; }
font() { fc-list | grep "$1"; }
# The system's Python: the packages are not for another one that stands before it in PATH.
python_module() { /usr/bin/python3 -c "import $1"; }

look() {
  missing=()
  [ "$(uname)" = Linux ] || return 0
  need gcc any_of cc
  need libc6-dev test -e /usr/include/stdlib.h
  [ "$stage" = run ] && return 0
  need pkg-config any_of pkg-config
  need libwebkit2gtk-4.1-dev pkg-config --exists webkit2gtk-4.1
  need libayatana-appindicator3-1 shared_library libayatana-appindicator3.so.1
  if [ "$stage" = package ]; then
    need libayatana-appindicator3-dev pkg-config --exists ayatana-appindicator3-0.1
  fi
  [ "$stage" = test ] || return 0
  need xvfb any_of Xvfb
  need xauth any_of xauth
  need openbox any_of openbox
  need dbus any_of dbus-run-session
  need dunst any_of dunst
  need webkit2gtk-driver any_of WebKitWebDriver
  need imagemagick any_of import
  need xdotool any_of xdotool
  need wmctrl any_of wmctrl
  need x11-utils any_of xwininfo
  need fontconfig any_of fc-list
  need fonts-dejavu-core font DejaVu
  need python3-dbus python_module dbus
  need python3-gi python_module gi
  need chromium any_of chromium chromium-browser google-chrome
}

packages() {
  look
  [ ${#missing[@]} -eq 0 ] && return
  local wanted="apt-get install --no-install-recommends ${missing[*]}"
  if ! command -v apt-get >/dev/null; then
    echo "setup: these are missing (Debian's names): ${missing[*]}" >&2
    echo "setup: install them with your system's package manager and start again" >&2
    exit 1
  elif [ "$(id -u)" -ne 0 ]; then
    echo "setup: these packages are missing: ${missing[*]}" >&2
    echo "setup: run this and start again: sudo $wanted" >&2
    exit 1
  fi
  echo "setup: installing ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { apt-get update && DEBIAN_FRONTEND=noninteractive $wanted -y; } >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    echo "setup: the packages could not be installed; the reason is above" >&2
    exit 1
  fi
  rm -f "$log"
  look
  if [ ${#missing[@]} -ne 0 ]; then
    echo "setup: installed, but still not found: ${missing[*]}" >&2
    exit 1
  fi
}

tools() {
  if ! command -v cargo >/dev/null; then
    echo "setup: Rust is missing: install the version that Cargo.toml names, see https://rustup.rs" >&2
    exit 1
  fi
  if ! cargo --version >/dev/null; then
    echo "setup: Rust is there and does not run; the reason is above" >&2
    exit 1
  fi
  if ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' 2>/dev/null; then
    echo "setup: Node 20.19 or newer is missing, see https://nodejs.org" >&2
    exit 1
  fi
}

# Installs a folder's packages as its lock file names them, when that was not done already.
npm_packages() {
  local done="$1/node_modules/.installed-lock"
  cmp -s "$1/package-lock.json" "$done" && return
  echo "setup: npm packages of $1/"
  # No package needs its install script, so none gets to run one.
  (cd "$1" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
  cp "$1/package-lock.json" "$done"
}

case $stage in
  run | check | test | package) ;;
  *)
    echo "setup: unknown stage \"$stage\": run, check, test or package" >&2
    exit 2
    ;;
esac
tools
packages
npm_packages ui
if [ "$stage" = test ]; then npm_packages tests; fi
