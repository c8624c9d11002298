#!/usr/bin/env bash
# Builds the page, both programs in release, and this system's installer.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh package
scripts/page.sh
case $(uname) in
  Linux) bundle=deb ;;
  Darwin) bundle=dmg ;;
  *) bundle=nsis ;;
esac
# What is installed beside the desktop: the program without a window, and what shells complete.
profile=--release folder=release
for argument in "$@"; do
  if [ "$argument" = --debug ]; then profile= folder=debug; fi
done
cargo build --locked $profile -p loopkeeper
program=${CARGO_TARGET_DIR:-target}/$folder/loopkeeper
stage=src-tauri/gen/package
rm -rf "$stage"
mkdir -p "$stage"
install -m 755 "$program" "$stage/loopkeeper"
"$program" completions bash >"$stage/loopkeeper.bash"
"$program" completions zsh >"$stage/_loopkeeper"
"$program" completions fish >"$stage/loopkeeper.fish"
gzip -9nc CHANGELOG.md >"$stage/changelog.gz"
exec ui/node_modules/.bin/tauri build --bundles "$bundle" "$@"
