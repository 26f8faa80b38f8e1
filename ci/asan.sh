#!/usr/bin/env bash
# AddressSanitizer with LeakSanitizer: use after free, out-of-bounds accesses, use of stack frames
# that have ended, and leaks; in the tests and in the example `share`.
#
#   ci/asan.sh             everything
#   ci/asan.sh short       what CI runs: without the slowest tests, and `share` for a shorter time
#   ci/asan.sh only NAME   only those tests
. "$(dirname "$0")/lib.sh"

needs_nightly
# The cfg makes a `BlockAllocator` poison its free blocks.
export RUSTFLAGS="-Zsanitizer=address --cfg releasepool_asan" CARGO_PROFILE_DEV_DEBUG=line-tables-only
export ASAN_OPTIONS="detect_leaks=1 detect_stack_use_after_return=1"
# Leaks on purpose, each with its reason.
export LSAN_OPTIONS="suppressions=$PWD/ci/lsan.supp print_suppressions=0"
build=(--target "$host" --target-dir target/asan -p releasepool)
share=(-q --frame-hz 0 --workers 4)
skips=(
    # Depend on the size of stack frames; here, locals are elsewhere.
    --skip settle_counts_what_it_destroys
    --skip settle_scopes
    --skip object_that_waits_in_the_queue
    --skip time_is_looked_at_deep
    --skip drain_deep_inside_a_destructor
    --skip has_queued_aborts
    # Forgets a pool on a looper's thread, so no stack frame of the leak names the test.
    --skip every_command_has_a_pool
    # Measures the memory of the process; here, freed memory is kept for a while.
    --skip memory_is_flat
)

case ${1-} in
    "")
        step cargo +nightly test "${build[@]}" --lib --test all -- "${skips[@]}"
        seconds=10
        ;;
    short)
        # Millions of objects, or 100,000 generations: these take as long as all other tests.
        step cargo +nightly test "${build[@]}" --lib --test all -- "${skips[@]}" \
            --skip endless_regeneration --skip three_million --skip random_programs
        seconds=2
        ;;
    only)
        step cargo +nightly test "${build[@]}" --test all -- "$2"
        exit
        ;;
    *)
        echo "usage: ci/asan.sh [short | only NAME]" >&2
        exit 2
        ;;
esac
step cargo +nightly run --release "${build[@]}" --example share -- "${share[@]}" --seconds "$seconds"
