#!/usr/bin/env bash
# Fuzzing: replays the kept corpus, then fuzzes each target for the given number of seconds, with
# AddressSanitizer and LeakSanitizer.
#
#   ci/fuzz.sh SECONDS   programs of the library
#   ci/fuzz.sh           for 600 seconds each: these, the same with the ledger, and the inspector's reader
. "$(dirname "$0")/lib.sh"

seconds=${1:-600}
needs_nightly c++ cargo-fuzz

# Leaks are detected: what programs forget on purpose, the harness frees when their threads have
# ended. A program that hangs counts as a crash.
options=(-timeout=60 -rss_limit_mb=4096)

# fuzz FEATURES TARGET ARGUMENTS...
fuzz() {
    step cargo +nightly fuzz run --features "$@" || fail "$2 has found a failure with the features \"$1\": the output \
above has the step, the program and its file, of which fuzz/README.md says how it becomes smaller, and a test"
}

# search FEATURES TARGET CORPUS-OR-OPTION...: looks for new inputs, which go to a directory that is not kept.
search() {
    local features=$1 target=$2 found=fuzz/target/found/$2
    shift 2
    mkdir -p "$found"
    fuzz "$features" "$target" "$found" "$@" -- "${options[@]}" -max_total_time="$seconds" \
        -max_len=300 -len_control=0 -print_final_stats=1
}

for target in one_thread threads; do
    fuzz "" "$target" "fuzz/corpus/$target" -- "${options[@]}" -runs=0
done
for target in one_thread threads; do
    search "" "$target" "fuzz/corpus/$target"
done
if [ $# = 0 ]; then
    for target in one_thread threads; do
        search ledger "$target" "fuzz/corpus/$target"
    done
    # Without AddressSanitizer, which puts space into the note that the inspector reads. The inspector has no
    # unsafe code on this way.
    search inspector inspector -s none
fi
