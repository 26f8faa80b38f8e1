#!/usr/bin/env bash
# Fuzzing: replays the kept corpus, then fuzzes each target for the given number of seconds
# (default: 600), with AddressSanitizer and LeakSanitizer.
. "$(dirname "$0")/lib.sh"

seconds=${1:-600}
needs_nightly c++ cargo-fuzz

# Leaks are detected: what programs forget on purpose, the harness frees when their threads have
# ended. A program that hangs counts as a crash.
options=(-timeout=60 -rss_limit_mb=4096)

fuzz() {
    local target=$1
    shift
    step cargo +nightly fuzz run "$target" "$@" && return
    cat >&2 <<END

$target found a failure. The output above has the failing step, what was expected, the program,
and the file that holds the program, FILE below. To run it again, and to minimize it:
    cargo +nightly fuzz run $target FILE
    cargo +nightly fuzz tmin $target FILE
Then turn it into a test, as fuzz/README.md describes.
END
    exit 1
}

for target in one_thread threads; do
    fuzz "$target" "fuzz/corpus/$target" -- "${options[@]}" -runs=0
done
for target in one_thread threads; do
    # New inputs go to the first directory, which is not kept.
    found=fuzz/target/found/$target
    mkdir -p "$found"
    fuzz "$target" "$found" "fuzz/corpus/$target" -- "${options[@]}" \
        -max_total_time="$seconds" -max_len=300 -len_control=0 -print_final_stats=1
done
