#!/usr/bin/env bash
# The long chaos test: 8 processes, 10,000 slots. The short one is part of `make test`.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh run
exec cargo test --locked -p loopkeeper-engine --test chaos -- long
