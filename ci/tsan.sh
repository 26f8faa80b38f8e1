#!/usr/bin/env bash
# ThreadSanitizer: data races, in the tests and in the main job. Std and all that
# we depend on are built with it, too, so it misses no synchronisation and nothing
# need be suppressed.
#
#   ci/tsan.sh             everything
#   ci/tsan.sh short       what CI runs: tests of several threads, a shorter job
#   ci/tsan.sh only NAME   only those tests
. "$(dirname "$0")/lib.sh"

needs_nightly rust-src
export RUSTFLAGS=-Zsanitizer=thread CARGO_PROFILE_DEV_DEBUG=line-tables-only
# A race in a process that a test starts: by its exit code.
export TSAN_OPTIONS="exitcode=66 halt_on_error=0"
build=(-Zbuild-std --target "$host" --target-dir target/tsan -p releasepool)
share=(-q --frame-hz 0 --workers 4)

case ${1-} in
    "")
        step cargo +nightly test "${build[@]}" --lib --test all
        seconds=10
        ;;
    short)
        # One thread, or threads in lock step: nothing to be found here.
        step cargo +nightly test "${build[@]}" --test all -- --skip model --skip deep --skip aborts \
            --skip contract --skip likeness --skip panics --skip payloads
        seconds=2
        ;;
    only)
        step cargo +nightly test "${build[@]}" --test all -- "$2"
        exit
        ;;
    *)
        echo "usage: ci/tsan.sh [short | only NAME]" >&2
        exit 2
        ;;
esac
step cargo +nightly run --release "${build[@]}" --example share -- "${share[@]}" --seconds "$seconds"
