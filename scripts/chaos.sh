#!/usr/bin/env bash
# The long chaos test (8 processes, 10,000 slots), and the long soak (an hour of virtual time, five
# minutes of real time: nothing grows). Short turns of both are part of `make test`.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh run
cargo test --locked -p loopkeeper-engine --test soak -- long
cargo test --locked -p loopkeeper-engine --test chaos -- long
