#!/usr/bin/env bash
# Fuzzing: replays the kept corpus, then fuzzes each target for so many seconds (600
# unless said otherwise), with the address and leak sanitizers.
. "$(dirname "$0")/lib.sh"

seconds=${1:-600}
needs_nightly
command -v c++ >/dev/null || skip "libFuzzer is built with a C++ compiler, and there is none (c++)"
if ! command -v cargo-fuzz >/dev/null; then
    step cargo install cargo-fuzz --locked
fi

# Leaks are looked for: what programs forget on purpose, the harness gives back when
# their threads have ended. A program that hangs is a crash, too.
options=(-timeout=60 -rss_limit_mb=4096)

fuzz() {
    local target=$1
    shift
    step cargo +nightly fuzz run "$target" "$@" && return
    cat >&2 <<END

$target found something. Above stand the step, what was expected, the program that
leads there, and the file it is kept in, FILE below. To see it again, and smaller:
    cargo +nightly fuzz run $target FILE
    cargo +nightly fuzz tmin $target FILE
Then make it a test: fuzz/README.md says how.
END
    exit 1
}

for target in one_thread threads; do
    fuzz "$target" "fuzz/corpus/$target" -- "${options[@]}" -runs=0
done
for target in one_thread threads; do
    # What is found goes to the first directory, which is not kept.
    found=fuzz/target/found/$target
    mkdir -p "$found"
    fuzz "$target" "$found" "fuzz/corpus/$target" -- "${options[@]}" \
        -max_total_time="$seconds" -max_len=300 -len_control=0 -print_final_stats=1
done
