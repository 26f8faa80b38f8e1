#!/usr/bin/env bash
# ThreadSanitizer: data races, in the tests, in the main job and in C++. Std and all that
# we depend on are built with it, too, so it misses no synchronisation and nothing
# need be suppressed. Which tests it leaves out, and why: ci/tests.txt.
#
#   ci/sanitize/tsan.sh             everything
#   ci/sanitize/tsan.sh short       what CI runs: tests with several threads, and `share` for a shorter time
#   ci/sanitize/tsan.sh only NAME   only those tests
#   ci/sanitize/tsan.sh callbacks   only the callback in C++, as in the short form
. "$(dirname "$0")/../lib.sh"

needs_nightly rust-src
# Line numbers are enough for reports.
export RUSTFLAGS=-Zsanitizer=thread CARGO_PROFILE_DEV_DEBUG=line-tables-only
# A test notices a race in a process that it starts by the exit code.
export TSAN_OPTIONS="exitcode=66"
build=(-Zbuild-std --target "$host" --target-dir target/tsan)
share=(-p releasepool-share --example share -- -q --frame-hz 0 --workers 4)

case ${1-} in
    "")
        skip_tests tsan
        step cargo +nightly test "${build[@]}" -p releasepool --lib --test all -- "${skips[@]}"
        tests_of tsan-rounds
        RELEASEPOOL_ROUNDS=1000000 step cargo +nightly test "${build[@]}" -p releasepool --test all -- "${tests[@]}"
        step cargo +nightly run --release "${build[@]}" "${share[@]}" --seconds 25
        callbacks thread 1000000
        ;;
    short)
        skip_tests tsan tsan-short
        step cargo +nightly test "${build[@]}" -p releasepool --test all -- "${skips[@]}"
        # Not --release, for which std would be built once more.
        step cargo +nightly run "${build[@]}" "${share[@]}" --seconds 5
        callbacks thread 20000
        ;;
    callbacks) callbacks thread 20000 ;;
    only) step cargo +nightly test "${build[@]}" -p releasepool --test all -- "$2" ;;
    *) usage ;;
esac
