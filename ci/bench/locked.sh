#!/usr/bin/env bash
# Counts the locked instructions that the example `share` executes for each document, and prints the functions
# that execute most of them. Needs valgrind. Arguments are those of `share`.
. "$(dirname "$0")/../lib.sh"

needs valgrind
step cargo build --release --example share

# Two runs of different lengths are subtracted, so that what happens once does not count.
for rounds in 2 22; do
    valgrind --quiet --tool=callgrind --collect-bus=yes --compress-pos=no --compress-strings=no \
        --callgrind-out-file="$work/$rounds" \
        target/release/examples/share --rounds $rounds --workers 1 --frame-hz 0 --no-compare --quiet "$@" \
        >"$work/report" 2>&1 || fail "$(cat "$work/report")"
done
documents=$(sed -n 's/^  documents  *\([0-9,]*\)$/\1/p' "$work/report" | tr -d ,)
awk -v documents=$((documents * 20 / 22)) '
    FNR == 1 { sign = ++files == 1 ? -1 : 1 }
    /^fn=/ { name = substr($0, 4) }
    # The line below has what the call has cost.
    /^calls=/ { getline; next }
    # Line, instructions, global bus events: those of locked instructions.
    /^[0-9]/ { all += sign * $2; locked += sign * $3; by[name] += sign * $3 }
    END {
        printf "\nfor each document: %d locked instructions of %d\n", locked / documents, all / documents
        for (name in by) if (by[name] > locked / 100) printf "%4.0f %%  %s\n", 100 * by[name] / locked, name | "sort -rn"
    }' "$work/2" "$work/22"
