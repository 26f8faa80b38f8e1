#!/usr/bin/env bash
# Sanitizers, in the tests, in the main job and in C++. Which tests they leave out, and why: ci/tests.txt.
#
# * asan: AddressSanitizer with LeakSanitizer: use after free, out of bounds, use of a stack frame that is gone, and
#   leaks; with the features and the inspector, too.
# * tsan: ThreadSanitizer: data races. Std and all that we depend on are built with it, too, so it misses no
#   synchronization and nothing need be suppressed.
#
#   ci/sanitize/sanitizers.sh KIND             everything
#   ci/sanitize/sanitizers.sh KIND short       without the slowest tests, and `share` for a shorter time: with asan,
#                                              what CI runs
#   ci/sanitize/sanitizers.sh KIND only NAME   only those tests
#   ci/sanitize/sanitizers.sh KIND callbacks   only the callback in C++, as in the short form
. "$(dirname "$0")/../lib.sh"

kind=${1-}
case $kind in
    asan)
        needs_nightly
        sanitizer=address build=()
        # The cfg makes a `BlockAllocator` poison its free blocks.
        export RUSTFLAGS="-Zsanitizer=address --cfg releasepool_asan"
        export ASAN_OPTIONS="detect_leaks=1 detect_stack_use_after_return=1"
        # Leaks on purpose, each with its reason.
        export LSAN_OPTIONS="suppressions=$PWD/ci/sanitize/lsan.supp print_suppressions=0"
        ;;
    tsan)
        needs_nightly rust-src
        sanitizer=thread build=(-Zbuild-std)
        export RUSTFLAGS=-Zsanitizer=thread
        # A test notices a race in a process that it starts by the exit code.
        export TSAN_OPTIONS="exitcode=66"
        ;;
    *) usage ;;
esac
# Line numbers are enough for reports.
export CARGO_PROFILE_DEV_DEBUG=line-tables-only
build+=(--target "$host" --target-dir "target/$kind")

# tested ARGUMENTS...: runs tests.
tested() {
    step cargo +nightly test "${build[@]}" "$@"
}

seconds=5 rounds=20000 profile=(--release)
case ${2-} in
    "")
        skip_tests "$kind"
        tested -p releasepool --lib --test all -- "${skips[@]}"
        if [ "$kind" = asan ]; then
            # With the ledger and all other features; and the inspector's reader.
            tested -p releasepool-with-features -- "${skips[@]}"
            tested -p releasepool-inspect --lib --test library
        else
            tests_of tsan-rounds
            RELEASEPOOL_ROUNDS=1000000 tested -p releasepool --test all -- "${tests[@]}"
        fi
        seconds=25 rounds=1000000
        ;;
    short)
        skip_tests "$kind" "$kind-short"
        tested -p releasepool --lib --test all -- "${skips[@]}"
        # Std would be built once more.
        [ "$kind" = asan ] || profile=()
        ;;
    only)
        tested -p releasepool --test all -- "$3"
        exit
        ;;
    callbacks) seconds= ;;
    *) usage ;;
esac
[ -z "$seconds" ] || step cargo +nightly run "${profile[@]}" "${build[@]}" -p releasepool-share --example share -- \
    -q --frame-hz 0 --workers 4 --seconds "$seconds"
callbacks "$sanitizer" "$rounds"
