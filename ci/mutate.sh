#!/usr/bin/env bash
# Mutants: small changes of src/, each of which a model or a test must notice, or
# ci/mutate/reasons.txt has its reason.
#
#   ci/mutate.sh [KIND] all          of all files
#   ci/mutate.sh [KIND] FILE...      of the files with FILE in their paths
#   ci/mutate.sh [KIND] changed [N]  of the files whose text has changed since the report, and survivors
#                                    without a reason, or not shown to all checks; with N, at most N of them
#   ci/mutate.sh [KIND] commit [N]   of what the last commit changed, at most N (40)
#   ci/mutate.sh stale               prints what must be examined again after a change; fails unless the reasons are
#                                    those of the report's survivors, and if a file with weakened operations has changed
#   ci/mutate.sh prove [PART]        runs the checks that reasons name, with their mutants: those with PART in a line
#
# KIND is one of these; without it, all but the last:
#
#   order   statements that synchronize with other threads are moved or deleted
#   logic   conditions, computations and results are changed, as cargo-mutants lists them; and constants
#   omit    a term, a test, or all but the first of several is left out; lists and keys are read too early;
#           a lock is given up and taken again within a decision
#   weaken  memory orderings are weakened, and the comment at each must name a model that fails then;
#           read-modify-writes are split into a load and a store
#
# A mutant survives if no check notices it of all that reach it: models in both modes, and tests. Runs with N show it
# only to quick checks, for some seconds. A run renews the report, ci/mutate/report.txt, at its end, which comes early
# once there is a file target/mutate/stop. One that is stopped goes on where it was, as long as the programs stay
# as they are.
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
case "${1-}" in
    weaken | stale) ;;
    *) needs cargo-mutants ;;
esac
step xtask mutate "$@"
