#!/usr/bin/env bash
# Mutants: small changes of src/, each of which a model or a test must notice, or
# ci/mutate/reasons.txt has its reason.
#
#   ci/mutate.sh [KIND] all          of all files
#   ci/mutate.sh [KIND] FILE...      of the files with FILE in their paths
#   ci/mutate.sh [KIND] changed [N]  of the files whose text has changed since the report, and survivors
#                                    without a reason; with N, at most N of them
#   ci/mutate.sh [KIND] commit [N]   of what the last commit changed, at most N (40)
#   ci/mutate.sh [KIND] stale        prints what must be examined again after a change; fails if a reason is
#                                    of a mutant that is gone, or a file with weakened operations has changed
#
# KIND is one of these; without it, `order` and `logic`, and for `stale` all:
#
#   order   statements that synchronize with other threads are swapped, moved or deleted
#   logic   conditions, computations and results are changed: the mutants that cargo-mutants lists
#   weaken  memory orderings are weakened, and the comment at each must name a model that fails then;
#           read-modify-writes are split into a load and a store
#
# A run updates the report, ci/mutate/report.txt, after each file all of whose mutants it examines, and strikes out
# survivors that are noticed now. If it is stopped, `changed` does the rest.
. "$(dirname "$0")/lib.sh"

needs kill
if [[ " $* " == *" commit "* ]]; then
    git rev-parse -q --verify HEAD^ >/dev/null || skip "this clone does not have the commit before the last one"
    # Before anything is installed.
    if git diff --quiet HEAD^ HEAD -- src; then
        echo "the last commit has changed nothing in src/"
        exit
    fi
fi
# Kinds that need no cargo-mutants are examined without it.
case "${1-}" in
    order | weaken | stale) ;;
    logic) [ "${2-}" = stale ] || needs cargo-mutants ;;
    *) can_have cargo-mutants || { skipped "logic mutants: $missing" && set -- order "$@"; } ;;
esac
step xtask mutate "$@"
