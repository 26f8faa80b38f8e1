#!/usr/bin/env bash
# Logic mutants of the concurrent core, made by cargo-mutants: each must be noticed by
# a test, or failing that by a model, or stand in ci/mutants/justified.txt with its
# reason.
#
#   ci/mutants.sh all          all of them: about three hours on two quiet cores
#   ci/mutants.sh FILE...      those of these files of src/
#   ci/mutants.sh changed [N]  those in lines that changed since the report was
#                              made, at most N of them (40)
#   ci/mutants.sh commit [N]   those in lines that the last commit changed, as CI does
#
# The first two keep the report, ci/mutants/report.txt: a line for each file.
. "$(dirname "$0")/lib.sh"

needs cargo-mutants patch
if [ "${1-}" = commit ] && ! git rev-parse -q --verify HEAD^ >/dev/null; then
    skip "the commit before the last one is not here"
fi
xtask mutants "$@"
