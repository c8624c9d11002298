#!/usr/bin/env bash
# Every test, after the checks. Goes on after a failure, and fails at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
export NO_COLOR=1 CARGO_TERM_COLOR=never
started=$SECONDS
scripts/setup.sh test
set_up=$((SECONDS - started))
. scripts/steps.sh

step "check" "^[a-z ]+: (ok|FAILED), " scripts/check.sh
step "cargo test" "^(     Running|   Doc-tests|test result)" cargo test --locked
step "page tests" "^ +(Test Files|Tests) " npm run --prefix ui test
echo
echo "set-up: $set_up s"
summary
