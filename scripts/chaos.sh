#!/usr/bin/env bash
# The long tests; short turns of them are part of `make test`.
#
# An engine under load for an hour of virtual and five minutes of real time: nothing grows. 8
# processes and 10,000 slots as fast as they are claimed. Two desktops and a server, killed one after
# the other, in real time for ten minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh test
scripts/page.sh
failed=0
cargo test --locked -p loopkeeper-engine --test soak -- long || failed=1
cargo test --locked -p loopkeeper-engine --test chaos -- long || failed=1
LOOPKEEPER_TEST_MINUTES=${LOOPKEEPER_TEST_MINUTES:-10} scripts/desktop-tests.sh test_sharing || failed=1
exit $failed
