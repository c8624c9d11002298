#!/usr/bin/env bash
# Proves the package that `make package` built (Linux): looks at it, installs it, runs both programs
# with an empty home, removes it, and looks for what was left behind. Another file may be named.
#
# It installs a package on this machine, so it wants root, and refuses where one is installed
# already. The programs run in temporary folders and touch nobody's tasks.
set -euo pipefail
cd "$(dirname "$0")/.."
bundles=${CARGO_TARGET_DIR:-target}/${LOOPKEEPER_TEST_PROFILE:-release}/bundle/deb
fail() {
  echo "package test: $*" >&2
  exit 1
}
step() { echo "== $*"; }

package=${1:-$(find "$bundles" -name 'Loopkeeper_*.deb' -print 2>/dev/null | sort | tail -1)}
[ -f "$package" ] || fail "there is no package in $bundles: run make package"
[ "$(id -u)" -eq 0 ] || fail "installing a package takes root: run it with sudo"
! dpkg-query -s loopkeeper >/dev/null 2>&1 || fail "loopkeeper is installed here: remove it first (apt-get remove loopkeeper)"
scripts/setup.sh test

work=$(mktemp -d "${TMPDIR:-/tmp}/loopkeeper-package.XXXXXX")
server=
clean_up() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  ! dpkg-query -s loopkeeper >/dev/null 2>&1 || dpkg --purge loopkeeper >/dev/null
  rm -rf "$work"
}
trap clean_up EXIT

step "what it says: $package"
dpkg-deb --info "$package"
field() { dpkg-deb --field "$package" "$1"; }
has() { [[ "$(field "$1")" == *"$2"* ]] || fail "$1 is \"$(field "$1")\" and lacks \"$2\""; }
has Package loopkeeper
has Version "$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)"
has Architecture "$(dpkg --print-architecture)"
has Maintainer Loopkeeper
has Section utils
for library in libc6 libwebkit2gtk-4.1-0 libgtk-3-0 libayatana-appindicator3-1; do has Depends $library; done
[ "$(field Description | wc -l)" -gt 1 ] || fail "the description is one line"

step "what is in it"
dpkg-deb --contents "$package"
inside=$(dpkg-deb --contents "$package" | awk '{print $6}')
for file in bin/loopkeeper bin/loopkeeper-desktop lib/systemd/user/loopkeeper.service \
  share/applications/Loopkeeper.desktop share/icons/hicolor/128x128/apps/loopkeeper-desktop.png \
  share/icons/hicolor/32x32/apps/loopkeeper-desktop.png \
  share/bash-completion/completions/loopkeeper share/zsh/vendor-completions/_loopkeeper \
  share/fish/vendor_completions.d/loopkeeper.fish share/doc/loopkeeper/copyright \
  share/doc/loopkeeper/changelog.gz; do
  grep -qE "^(\./)?usr/$file$" <<<"$inside" || fail "usr/$file is not in it"
done
strange=$(dpkg-deb --contents "$package" | awk '$2 != "root/root" && $2 != "0/0" || $1 ~ /^-.......w/')
[ -z "$strange" ] || fail "not root's, or for everybody to write: $strange"

step "install"
apt-get install -y --no-install-recommends "$(realpath "$package")" >"$work/apt.log" 2>&1 </dev/null ||
  { cat "$work/apt.log"; fail "it cannot be installed"; }
dpkg --verify loopkeeper
dpkg -L loopkeeper | sort >"$work/installed"
cmp LICENSE /usr/share/doc/loopkeeper/copyright

mkdir "$work/home" "$work/project" "$work/data"
# Nothing of this machine's settings has a part in it.
clean=(env -i "HOME=$work/home" PATH=/usr/bin:/bin LANG=C.UTF-8 TZ=UTC)

step "the program without a window"
"${clean[@]}" loopkeeper --version
mkdir -p "$work/project/.agents/loops"
cat >"$work/project/.agents/loops/hello.md" <<'LOOP'
---
name: hello
schedule: "0 9 * * *"
enabled: true
model: demo/echo
---
Say hello.
LOOP
"${clean[@]}" loopkeeper --data-dir "$work/data" projects add "$work/project"
"${clean[@]}" loopkeeper --data-dir "$work/data" serve --port 0 >"$work/serve.log" 2>&1 &
server=$!
until grep -qs "^page: " "$work/serve.log"; do
  kill -0 "$server" 2>/dev/null || { cat "$work/serve.log"; fail "the server ended"; }
  sleep 0.1
done
cat "$work/serve.log"
page=$(sed -n 's/^page: *//p' "$work/serve.log")
"${clean[@]}" /usr/bin/python3 -c "
import sys, urllib.request as web
opener = web.build_opener(web.HTTPCookieProcessor())
with opener.open(sys.argv[1]) as answer: text = answer.read().decode()
assert 'id=\"app\"' in text, text[:200]
print('page:', answer.status, len(text), 'bytes')" "$page" || fail "the page is not served"
"${clean[@]}" loopkeeper --data-dir "$work/data" run hello --project project
kill -TERM "$server"
code=0
wait "$server" || code=$?
server=
[ $code -eq 0 ] || fail "the server ended with $code"

step "what stands around the programs"
if command -v systemd-analyze >/dev/null; then
  mkdir -m 700 "$work/runtime"
  XDG_RUNTIME_DIR=$work/runtime systemd-analyze verify --user /usr/lib/systemd/user/loopkeeper.service
  echo "unit: ok"
else
  echo "unit: systemd-analyze is not installed, not checked"
fi
if command -v desktop-file-validate >/dev/null; then
  desktop-file-validate /usr/share/applications/Loopkeeper.desktop
  echo "desktop file: ok"
else
  echo "desktop file: desktop-file-validate is not installed, not checked"
fi
completed=$("${clean[@]}" bash --norc -c '
  source /usr/share/bash-completion/completions/loopkeeper
  function=$(complete -p loopkeeper | sed "s/.*-F \([^ ]*\).*/\1/")
  COMP_WORDS=(loopkeeper doc) COMP_CWORD=1 COMP_LINE="loopkeeper doc" COMP_POINT=14
  $function loopkeeper doc loopkeeper
  echo "${COMPREPLY[@]}"')
[ "$completed" = doctor ] || fail "bash completes \"doc\" to \"$completed\""
echo "bash completes doc to $completed"
for shell in zsh fish; do
  command -v $shell >/dev/null || { echo "$shell: not installed, not checked"; continue; }
  case $shell in
    zsh) zsh -n /usr/share/zsh/vendor-completions/_loopkeeper ;;
    fish) fish -n /usr/share/fish/vendor_completions.d/loopkeeper.fish ;;
  esac
  echo "$shell: reads its completions"
done

step "the desktop: tray, window, run, quit"
LOOPKEEPER_TEST_PROGRAMS=/usr/bin scripts/desktop-tests.sh test_tray.Tray.test_run_now_is_a_run_in_the_ledger \
  test_process.Process.test_closing_the_window_leaves_the_tray_and_quit_ends_all_case_l02 \
  test_window.Window.test_a_loop_is_edited_run_and_toggled

step "remove"
dpkg --remove loopkeeper
[ "$(dpkg-query -W -f='${Status}' loopkeeper 2>/dev/null || echo gone)" != "install ok installed" ] || fail "it is still there"
dpkg --purge loopkeeper 2>/dev/null || true
! dpkg-query -s loopkeeper >/dev/null 2>&1 || fail "dpkg still knows it"
left=
while read -r path; do
  if [ -d "$path" ] && [ ! -L "$path" ]; then
    # A folder stays when it is another package's too.
    dpkg-query -S "$path" >/dev/null 2>&1 || [ "$path" = /. ] || left+=" $path"
  elif [ -e "$path" ] || [ -L "$path" ]; then
    left+=" $path"
  fi
done <"$work/installed"
left+=$(find /etc /usr /var/lib /opt -xdev -iname '*loopkeeper*' -not -path '*/node_modules/*' 2>/dev/null | tr '\n' ' ')
[ -z "${left// /}" ] || fail "left behind:$left"
echo "nothing is left behind"
echo "package test: ok"
