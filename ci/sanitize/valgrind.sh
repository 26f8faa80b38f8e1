#!/usr/bin/env bash
# Valgrind's memcheck on the release build of the example `share`: reads of uninitialized memory
# (which the sanitizers do not detect), use after free, leaks.
#
#   ci/sanitize/valgrind.sh          3,000 rounds
#   ci/sanitize/valgrind.sh short    100 rounds
. "$(dirname "$0")/../lib.sh"

needs valgrind

case ${1-} in
    "") rounds=3000 ;;
    short) rounds=100 ;;
    *) usage ;;
esac
# Source lines for the reports.
export CARGO_PROFILE_RELEASE_DEBUG=line-tables-only
step cargo build --release --target-dir target/valgrind --example share
# The crate's global tables live until the process ends. They are still reachable then, but through
# pointers into their middle, which valgrind calls "possibly lost". Without fair scheduling one
# thread would starve the others.
step valgrind --quiet --error-exitcode=99 --fair-sched=yes --leak-check=full \
    --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect \
    target/valgrind/release/examples/share -q --frame-hz 0 --workers 2 --rounds "$rounds" examples/share/scene.json
