#!/usr/bin/env bash
# ThreadSanitizer: data races, in the tests and in the example `share`. std and all dependencies are
# instrumented, too, so it misses no synchronization, and no suppressions are needed.
#
#   ci/tsan.sh             everything
#   ci/tsan.sh short       what CI runs: tests with several threads, and `share` for a shorter time
#   ci/tsan.sh only NAME   only those tests
. "$(dirname "$0")/lib.sh"

needs_nightly rust-src
# Line numbers are enough for reports.
export RUSTFLAGS=-Zsanitizer=thread CARGO_PROFILE_DEV_DEBUG=line-tables-only
# A test notices a race in a process that it starts by the exit code.
export TSAN_OPTIONS="exitcode=66"
build=(-Zbuild-std --target "$host" --target-dir target/tsan -p releasepool)
share=(--example share -- -q --frame-hz 0 --workers 4)
skips=(
    # Measures the memory of the process, which includes that of ThreadSanitizer.
    --skip memory_is_flat
    # ThreadSanitizer frees its state of a thread in the destructor of its own pthread key, and
    # crashes if the destructors of other keys run instrumented code afterwards.
    --skip key_s_destructor
)

case ${1-} in
    "")
        step cargo +nightly test "${build[@]}" --lib --test all -- "${skips[@]}"
        RELEASEPOOL_ROUNDS=1000000 step cargo +nightly test "${build[@]}" --test all -- callback
        step cargo +nightly run --release "${build[@]}" "${share[@]}" --seconds 10
        ;;
    short)
        # Without tests of one thread, or of several threads in lock step.
        step cargo +nightly test "${build[@]}" --test all -- "${skips[@]}" --skip random_programs --skip fuzz_regressions --skip lock_step --skip deep \
            --skip aborts --skip contract --skip likeness --skip panics --skip payloads
        # Without --release, which would build std a second time.
        step cargo +nightly run "${build[@]}" "${share[@]}" --seconds 2
        ;;
    only) step cargo +nightly test "${build[@]}" --test all -- "$2" ;;
    *)
        echo "usage: ci/tsan.sh [short | only NAME]" >&2
        exit 2
        ;;
esac
