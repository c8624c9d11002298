#!/usr/bin/env bash
# Every test, after the checks. Goes on after a failure, and fails at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
export NO_COLOR=1 CARGO_TERM_COLOR=never
started=$SECONDS
scripts/setup.sh test
set_up=$((SECONDS - started))
. scripts/steps.sh

# Tests start real programs: more of them at once than this starve each other.
cores=$(getconf _NPROCESSORS_ONLN)
export RUST_TEST_THREADS=$((cores < 4 ? cores : 4))
target=$(cargo metadata --locked --no-deps --format-version 1 | grep -o '"target_directory":"[^"]*"' | cut -d'"' -f4)

cargo_results="^(     Running|   Doc-tests|test result)"
page_results="^ +(Test Files|Tests|Duration) "
step "check" "^[a-z ]+: (ok|FAILED), " scripts/check.sh
step "cargo test" "$cargo_results" cargo test --locked --no-fail-fast
step "page tests" "$page_results" npm run --prefix ui test
step "page in a browser" "$page_results" env LOOPKEEPER="$target/debug/loopkeeper" npm run --prefix ui test:browser
step "desktop" "$cargo_results" cargo test --locked -p loopkeeper-desktop
step "desktop on a screen" "^(Ran|OK|FAILED)" scripts/desktop-tests.sh
echo
echo "set-up: $set_up s"
summary
