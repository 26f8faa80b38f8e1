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
# Lines are enough in reports.
export RUSTFLAGS=-Zsanitizer=thread CARGO_PROFILE_DEV_DEBUG=line-tables-only
# A race in a process that a test starts is seen by its exit code.
export TSAN_OPTIONS="exitcode=66"
build=(-Zbuild-std --target "$host" --target-dir target/tsan -p releasepool)
share=(--example share -- -q --frame-hz 0 --workers 4)
skips=(
    # Measures the memory of the process, of which ThreadSanitizer has its share.
    --skip memory_is_flat
    # ThreadSanitizer gives up what it knows of a thread in the destructor of a pthread key of its
    # own; what runs in those of other keys afterwards crashes in it.
    --skip key_s_destructor
)

case ${1-} in
    "")
        step cargo +nightly test "${build[@]}" --lib --test all -- "${skips[@]}"
        RELEASEPOOL_ROUNDS=1000000 step cargo +nightly test "${build[@]}" --test all -- callback
        step cargo +nightly run --release "${build[@]}" "${share[@]}" --seconds 10
        ;;
    short)
        # Not: tests of one thread, or of several in lock step.
        step cargo +nightly test "${build[@]}" --test all -- "${skips[@]}" --skip random_programs --skip fuzz_regressions --skip lock_step --skip deep \
            --skip aborts --skip contract --skip arc_parity --skip panics --skip payloads
        # Not --release, for which std would be built once more.
        step cargo +nightly run "${build[@]}" "${share[@]}" --seconds 2
        ;;
    only) step cargo +nightly test "${build[@]}" --test all -- "$2" ;;
    *)
        echo "usage: ci/tsan.sh [short | only NAME]" >&2
        exit 2
        ;;
esac
