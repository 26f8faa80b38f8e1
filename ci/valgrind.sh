#!/usr/bin/env bash
# Valgrind's memcheck on the main job, built as a user builds it: reads of what
# was never written (which the sanitizers do not see), use after free, leaks.
#
#   ci/valgrind.sh          300 rounds over all documents of the example
#   ci/valgrind.sh short    what CI runs: 10 rounds
. "$(dirname "$0")/lib.sh"

if ! command -v valgrind >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    (apt-get update && apt-get install -y --no-install-recommends valgrind) >/dev/null 2>&1 || true
fi
command -v valgrind >/dev/null || skip "there is no valgrind (apt-get install valgrind)"

case ${1-} in
    "") rounds=300 ;;
    short) rounds=10 ;;
    *)
        echo "usage: ci/valgrind.sh [short]" >&2
        exit 2
        ;;
esac
unset RUSTFLAGS
# Lines of the source in the reports.
export CARGO_PROFILE_RELEASE_DEBUG=line-tables-only
step cargo build --release --target-dir target/valgrind --example share
# The registry and other things of the process live until its end and are still
# reachable then; anything else is a leak. Fair scheduling, or one thread would
# starve the others.
step valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect,possible \
    --fair-sched=yes target/valgrind/release/examples/share -q --frame-hz 0 --workers 2 --rounds "$rounds" \
    examples/share/scene.json
