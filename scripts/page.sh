#!/usr/bin/env bash
# Builds the page into ui/dist, unless what is there is newer than its sources: whatever embeds the
# page is compiled anew after each build.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ ! -f ui/dist/index.html ] ||
  [ -n "$(find ui/src ui/public ui/index.html ui/*.ts ui/*.json -newer ui/dist/index.html -print -quit)" ]; then
  npm run --silent --prefix ui build -- --logLevel error
fi
