#!/usr/bin/env bash
# Order mutants: misplaces statements in every function of src/ with an atomic operation, a lock or
# a wake-up. A model or a test must notice each mutant, or loom_tests/order/justified.txt has its
# reason.
#
#   ci/order.sh                  mutants of all files
#   ci/order.sh FILE...          mutants of the files with FILE in their paths
#   ci/order.sh changed          mutants of the files that have changed since the report was written
#   ci/order.sh commit [N]       mutants of the functions that the last commit changed, at most N (40)
#   ci/order.sh quick [FILE...]  a first look: only models and tests that take a moment
#   ci/order.sh list [FILE...]   prints the mutants
#   ci/order.sh wide ...         any of these, also for functions that call these functions
#
# Without `wide`, the first three forms update the report, loom_tests/order/report.txt, which has a
# line for each file.
. "$(dirname "$0")/lib.sh"

needs kill
unset RUSTFLAGS
if [ "${1:-}" = commit ] && ! git rev-parse -q --verify HEAD^ >/dev/null; then
    skip "this clone does not have the commit before the last one"
fi
step cargo test --quiet --manifest-path loom_tests/Cargo.toml -p releasepool-order-mutants \
    --target-dir target/order/tool
step cargo weaken -- --order "$@"
