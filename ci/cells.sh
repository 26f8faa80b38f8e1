#!/usr/bin/env bash
# What loom does not see, a model cannot check: it switches threads only at its own operations, so a
# plain write on the wrong side of the exchange that publishes it is found only if it is an access to
# one of loom's cells. Outside src/sync, src/model and tests this finds
#
#   cell    std's cells: src/sync/ has those that models check
#   plain   std's atomics and locks, and what is built on them
#   raw     writes through raw pointers, in functions that touch no cell of src/sync and no witness
#
# and fails, but for what stands in ci/cells.txt with its reason. Cells need no exception. How each
# is found: xtask/src/cells.rs.
#
#   ci/cells.sh --list    all findings, listed or not
. "$(dirname "$0")/lib.sh"

xtask cells "$@"
