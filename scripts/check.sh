#!/usr/bin/env bash
# Everything that can be said about the source without running it.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh check
. scripts/steps.sh

# A lock file that names where packages came from would bind every machine to that place.
lock_files() {
  if grep -n '"resolved"' ui/package-lock.json tests/package-lock.json; then
    echo "remove these addresses: npm leaves them out where it reads .npmrc of this repository"
    return 1
  fi
}

# Files that are made from others and committed beside them. What the REST interface and the help
# say is compared by tests of their crates.
generated() {
  local bad=0
  if ! cmp icons/icon.svg ui/public/icon.svg; then
    echo "icons/ has changed: run \`node scripts/icons.mjs\` and commit what it wrote"
    bad=1
  fi
  made crates/server/openapi.json \
    "cargo run -p loopkeeper-server --example openapi > crates/server/openapi.json" \
    cargo run --quiet --locked -p loopkeeper-server --example openapi || bad=1
  made crates/cli/tests/reference.txt \
    "cargo run -p loopkeeper -- reference > crates/cli/tests/reference.txt" \
    cargo run --quiet --locked -p loopkeeper -- reference || bad=1
  made ui/src/api/schema.d.ts "npm run --prefix ui types" \
    ui/node_modules/.bin/openapi-typescript crates/server/openapi.json || bad=1
  return $bad
}

# made FILE HOW COMMAND…: what COMMAND prints is what stands in FILE; else HOW makes it anew.
made() {
  local file=$1 how=$2
  shift 2
  if ! "$@" 2>/dev/null | cmp - "$file"; then
    echo "$file is not what it is made from says: run \`$how\` and commit it"
    return 1
  fi
}

step "lock files" "" lock_files
step "page" "" npm run --prefix ui build
step "page size" "^page without" npm run --prefix ui size
step "generated files" "" generated
step "formatting" "" cargo fmt --all --check
step "page types" "" npm run --prefix ui check
step "clippy" "" cargo clippy --workspace --all-targets --locked -- -D warnings
if cargo deny --version >/dev/null 2>&1; then
  step "dependency policy" "" cargo deny --all-features check bans licenses sources
else
  echo "== dependency policy: not checked, cargo-deny is not installed"
fi
summary
