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
# Orderings are weakened at every atomic operation but those of src/sync/counter.rs: statistics, settings and unique
# numbers order nothing. The models weaken an operation when they start, without another build. `order` has the
# functions with an atomic operation, a lock, a wake-up or a call of destructors; `logic` and `omit` have all
# functions and tables. No move is made that cannot change an execution: of statements that only count for reports,
# unless a lock is involved, and of those that only compute a local variable that the other one does not mention. No
# mutants have constant functions that are called where a constant is computed, arguments of macros, names of types,
# src/sync, and the files that only C programs reach (foreign/class.rs, foreign/by_hand.rs).
#
# A mutant survives if no check notices it of all that reach it: models in both modes, and tests with all features that
# have code of their own; the ledger is built in only for what nothing reaches without it, as drains then destroy
# objects one by one. All but the weakened orderings are built in, behind switches. First each is shown to the quick
# checks that reach it, for some seconds. Then what is left is shown to all others, up to 256 mutants of different
# places at once; a check that fails is shown each half, and so on. A mutant counts as shown only if the check has
# reached it. A check may take five times as long as without a mutant, and ten seconds. Each run first tries two
# mutants that a model is known to notice.
#
# Runs with N end after the quick checks. A run renews the report, ci/mutate/report.txt, after each 700 mutants, about,
# that were shown to these, and at its end, which comes early once there is a file target/mutate/stop. One that is
# stopped goes on where it was, as long as the programs stay as they are. The report has the figures of each file, a
# checksum of the code that was examined, each survivor with the number of checks that it was shown to, and the checks
# that noticed the others.
#
# A mutant that some checks were not shown yet is undecided: `stale` counts these, and needs no reasons for them. Each
# other survivor has a reason in ci/mutate/reasons.txt, which begins with one of these words:
#
#   equivalent        why no execution of any program differs
#   slower BENCHMARK  only instructions are lost; the benchmark counts them
#   noticed CHECK     a check outside of the copy fails: Miri, a sanitizer, the C interface, the inspector; `prove`
#                     runs it with the mutant and without
#   models            the statement is there for models alone
#   open              a user could notice it, and no check does yet: it is not proved
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
