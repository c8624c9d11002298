#!/usr/bin/env bash
# Builds the page, the desktop in release, and this system's installer.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh package
npm run --prefix ui build
case $(uname) in
  Linux) bundle=deb ;;
  Darwin) bundle=dmg ;;
  *) bundle=nsis ;;
esac
exec ui/node_modules/.bin/tauri build --bundles "$bundle" "$@"
