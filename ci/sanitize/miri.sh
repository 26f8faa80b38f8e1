#!/usr/bin/env bash
# Miri: undefined behavior in the unit tests and tests (tests/all) that it can run, under both
# aliasing models; and data races and weak memory in small versions of the models
# (tests/all/races), with many seeds.
#
#   ci/sanitize/miri.sh             everything, 64 seeds
#   ci/sanitize/miri.sh short       what CI runs: a half of the list `miri-short`, under Stacked Borrows, and the models
#                                   in one row of the matrix; another half and another row for another commit
#   ci/sanitize/miri.sh seeds N [NAME]...      tests with NAME in their names (default: races), with N seeds, in
#                                      each row of the matrix
#   ci/sanitize/miri.sh row R N [NAME]...      in its row R, from 0
#   ci/sanitize/miri.sh defaults N [NAME]...   with Miri's defaults, under Stacked Borrows
#
# The matrix: Miri's defaults are mild. It seldom takes a thread off its processor (at 1 of 100 blocks of
# code), seldom gives an address out again (1 of 2 times), and where another thread gets it (1 of 10
# times), that synchronizes the two, which hides races. So the models run with threads that change
# places more often, or at every block; with addresses that are almost always used again, by the same
# thread or by others too; and for processors of weak memory and of 32 bits.
#
# Not under Miri: tests in processes of their own, as Miri starts none (`alone!` and its like return),
# and those that take too long, each with its reason beside it (`cfg_attr(miri, ignore)`). Numbers of
# rounds are smaller (`cfg!(miri)`). Other lists of tests are in ci/tests.txt.
. "$(dirname "$0")/../lib.sh"

needs_nightly miri rust-src

# * Isolation is off, as tests read the clock and the environment.
# * Leaks are ignored: tests forget guards on purpose, which leaks by design. ci/sanitize/sanitizers.sh asan detects
#   leaks.
# * Strict provenance is checked below, by Miri's warnings about casts: -Zmiri-strict-provenance
#   would stop at the casts of two files, which may cast. src/memory/block/collections.rs: a collection of
#   allocator-api2 frees its memory by a pointer that covers only the value, and the header before it can
#   only be reached by exposed provenance. src/foreign/class.rs, for C: a class is found by the address of
#   its first field.
flags="-Zmiri-disable-isolation -Zmiri-ignore-leaks"

# The aliasing models: Stacked Borrows and Tree Borrows.
models=("" -Zmiri-tree-borrows)

# miri FLAGS TEST-ARGUMENTS...: runs tests under these models.
miri() {
    local more=$1 model log
    log=$(mktemp -p "$work")
    shift
    for model in "${models[@]}"; do
        export MIRIFLAGS="$flags $more $model"
        printf '\nMIRIFLAGS=%s' "$MIRIFLAGS"
        step cargo +nightly miri test --target-dir "${dir:-target/miri}" -p releasepool --features allocator-api2 "$@" 2>&1 | tee "$log" || return 1
        # A cast from an integer to a pointer is said once for each place, with the place where
        # it is after the arrow.
        if grep -A2 'warning: integer-to-pointer cast' "$log" | grep -e '-->' | grep -vE -- '--> src/(memory/block/collections|foreign/class)\.rs:'; then
            echo "strict provenance is violated there" >&2
            exit 1
        fi
        if grep -q '^test result: ok. 0 passed' "$log" && ! grep -qE '^test result: ok. [1-9]' "$log"; then
            echo "no test was run" >&2
            exit 1
        fi
    done
}

# The thread-locals of systems without native ones: threads that race for their first use.
key_locals() {
    local dir=target/miri-key-locals
    export RUSTFLAGS="--cfg releasepool_key_locals"
    tests_of key-locals
    miri "-Zmiri-preemption-rate=0.1" --lib --test all -- sync::native::locals:: "${tests[@]}"
    unset RUSTFLAGS
}

# The rows of the matrix: a target, and how hostile the schedule and the addresses are.
rows=()
for target in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu i686-unknown-linux-gnu; do
    for preemption in 0.01 0.1 1; do
        for reuse in 0.5 0.95; do
            for across in 0 0.5; do
                rows+=("$target -Zmiri-preemption-rate=$preemption -Zmiri-address-reuse-rate=$reuse -Zmiri-address-reuse-cross-thread-rate=$across")
            done
        done
    done
done

# matrix SEEDS NAMES...: runs these tests in each row, with so many seeds.
matrix() {
    local seeds=$1 row
    shift
    for row in "${rows[@]}"; do
        miri "-Zmiri-many-seeds=0..$seeds ${row#* }" --test all --target "${row%% *}" -- "$@"
    done
}

case ${1-} in
    "")
        skip_tests races
        miri "" --lib --test all -- "${skips[@]}"
        key_locals
        tests_of races
        miri "-Zmiri-many-seeds=0..64" --test all -- "${tests[@]}"
        matrix 2 "${tests[@]}"
        ;;
    short)
        # Under the stricter model alone. In two parts at once, as Miri has one thread. Whole names, as
        # Miri takes minutes to search for parts of names.
        commit=$((16#$(git rev-parse HEAD | cut -c1-7)))
        mapfile -t tests < <(xtask tests miri-short)
        models=("")
        even=() odd=()
        for i in "${!tests[@]}"; do
            case $(((i + commit) % 4)) in
                0) even+=("${tests[i]}") ;;
                1) odd+=("${tests[i]}") ;;
            esac
        done
        miri "" --lib --test all -- --exact "${even[@]}" >"$work/even" 2>&1 &
        failed=
        miri "" --lib --test all -- --exact "${odd[@]}" || failed=true
        wait $! || failed=true
        cat "$work/even"
        [ -z "$failed" ] || exit 1
        key_locals
        tests_of races
        row=$((commit % ${#rows[@]}))
        rows=("${rows[row]}")
        matrix 2 "${tests[@]}"
        ;;
    seeds | row | defaults)
        form=$1
        shift
        if [ "$form" = row ]; then
            rows=("${rows[$1]}")
            shift
        fi
        seeds=$1
        shift
        if [ $# = 0 ]; then
            tests_of races
            set -- "${tests[@]}"
        fi
        if [ "$form" = defaults ]; then
            models=("")
            miri "-Zmiri-many-seeds=0..$seeds" --lib --test all -- "$@"
        else
            matrix "$seeds" "$@"
        fi
        ;;
    *) usage ;;
esac
