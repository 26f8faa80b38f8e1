#!/usr/bin/env bash
# AddressSanitizer, with LeakSanitizer: use after free, out of bounds, use of a
# stack frame that is gone, and leaks; in the tests, in the main job and in C++. Which tests it leaves out,
# and why: ci/tests.txt.
#
#   ci/sanitize/asan.sh             everything, with the features and the inspector, too
#   ci/sanitize/asan.sh short       what CI runs: without the slowest tests, and `share` for a shorter time
#   ci/sanitize/asan.sh only NAME   only those tests
#   ci/sanitize/asan.sh callbacks   only the callback in C++, as in the short form
. "$(dirname "$0")/../lib.sh"

needs_nightly
# The cfg makes a `BlockAllocator` poison its free blocks.
export RUSTFLAGS="-Zsanitizer=address --cfg releasepool_asan" CARGO_PROFILE_DEV_DEBUG=line-tables-only
export ASAN_OPTIONS="detect_leaks=1 detect_stack_use_after_return=1"
# Leaks on purpose, each with its reason.
export LSAN_OPTIONS="suppressions=$PWD/ci/sanitize/lsan.supp print_suppressions=0"
build=(--target "$host" --target-dir target/asan)
share=(-q --frame-hz 0 --workers 4)

case ${1-} in
    "")
        skip_tests asan
        step cargo +nightly test "${build[@]}" -p releasepool --lib --test all -- "${skips[@]}"
        # With the ledger and all other features; and the inspector's reader.
        step cargo +nightly test "${build[@]}" -p releasepool-with-features -- "${skips[@]}"
        step cargo +nightly test "${build[@]}" -p releasepool-inspect --lib --test library
        seconds=25 rounds=1000000
        ;;
    short)
        skip_tests asan asan-short
        step cargo +nightly test "${build[@]}" -p releasepool --lib --test all -- "${skips[@]}"
        seconds=5 rounds=20000
        ;;
    only)
        step cargo +nightly test "${build[@]}" -p releasepool --test all -- "$2"
        exit
        ;;
    callbacks)
        callbacks address 20000
        exit
        ;;
    *) usage ;;
esac
step cargo +nightly run --release "${build[@]}" -p releasepool-share --example share -- "${share[@]}" --seconds "$seconds"
callbacks address "$rounds"
