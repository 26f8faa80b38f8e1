#!/usr/bin/env bash
# What loom does not see, a model cannot check: it switches threads only at its own operations, so a
# plain write on the wrong side of the exchange that publishes it is found only if it is an access to
# one of loom's cells. Outside src/sync, src/model and tests this finds
#
#   cell    std's cells: src/sync/ has those that models check
#   plain   std's atomics and locks, and what is built on them
#   raw     writes through raw pointers, in functions that touch no cell of src/sync and no witness
#
# and fails, but for what stands in ci/cells.txt with its reason. Cells need no exception.
#
#   ci/cells.sh --list    all findings, listed or not
. "$(dirname "$0")/lib.sh"

found=$(find src -name '*.rs' ! -path 'src/sync*' ! -path 'src/model*' ! -path 'src/compile_fail_tests*' ! -name '*_tests.rs' |
    LC_ALL=C sort | xargs awk -f ci/cells.awk)
if [ "${1-}" = --list ]; then
    printf '%s\n' "$found"
    exit
fi

awk '
    FNR == NR && /^(plain|raw) / {
        if (NF < 4) { print "ci/cells.txt:" FNR ": no reason is given"; bad = 1 }
        listed[$1 " " $2 " " $3] = FNR
    }
    FNR == NR { next }
    NF == 0 { next }
    {
        key = $1 " " $2 " " $3
        used[key] = 1
        if ($1 == "cell" || !(key in listed)) {
            what["cell"] = "a cell that models do not check: take it from crate::sync::cell"
            what["plain"] = "an atomic or a lock that models do not check"
            what["raw"] = "a raw write, and nothing in this function tells the models of it"
            print $2 ":" $4 ": " $3 ": " what[$1]
            bad = 1
        }
    }
    END {
        for (key in listed)
            if (!(key in used)) { print "ci/cells.txt:" listed[key] ": nothing is found by this any more"; bad = 1 }
        exit bad
    }
' ci/cells.txt - <<<"$found"
