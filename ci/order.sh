#!/usr/bin/env bash
# Order mutants: statements of src/ in the wrong order, in every function that synchronizes; a
# model or a test must notice each, or it stands in loom_tests/order/justified.txt with its reason.
#
#   ci/order.sh              those of all files: of functions with an atomic operation, a lock, a wake
#   ci/order.sh FILE...      those of files whose path contains FILE
#   ci/order.sh changed      those of files that have changed since the report was made
#   ci/order.sh commit [N]   those of functions that the last commit changed, at most N (40)
#   ci/order.sh quick [FILE...]  the same, by models and tests that take a moment: a first look
#   ci/order.sh list [FILE...]   prints them
#   ci/order.sh wide ...         the same as without `wide`, in functions that call these, too
#
# Without `wide`, the first three keep the report, loom_tests/order/report.txt: a line for each file.
. "$(dirname "$0")/lib.sh"

unset RUSTFLAGS
if [ "${1:-}" = commit ] && ! git rev-parse -q --verify HEAD^ >/dev/null; then
    skip "the commit before the last one is not here"
fi
step cargo test --quiet --manifest-path loom_tests/Cargo.toml -p releasepool-order-mutants \
    --target-dir target/order/tool
step cargo weaken -- --order "$@"
