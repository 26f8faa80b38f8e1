#!/usr/bin/env bash
# AddressSanitizer, with LeakSanitizer: use after free, out of bounds, use of a
# stack frame that is gone, and leaks; in the tests and in the main job.
#
#   ci/asan.sh             everything
#   ci/asan.sh short       what CI runs: without the slowest tests, a shorter job
#   ci/asan.sh only NAME   only those tests
. "$(dirname "$0")/lib.sh"

needs_nightly
# With the cfg, free blocks of a `BlockAllocator` are poisoned.
export RUSTFLAGS="-Zsanitizer=address --cfg releasepool_asan" CARGO_PROFILE_DEV_DEBUG=line-tables-only
export ASAN_OPTIONS="detect_leaks=1 detect_stack_use_after_return=1"
# What is leaked on purpose; each with its reason.
export LSAN_OPTIONS="suppressions=$PWD/ci/lsan.supp print_suppressions=0"
build=(--target "$host" --target-dir target/asan -p releasepool)
share=(-q --frame-hz 0 --workers 4)
skips=(
    # Count on how much stack a frame takes; here, locals are elsewhere.
    --skip settle_counts_what_it_destroys
    --skip settle_scopes
    --skip object_that_waits_in_the_queue
    --skip time_budgets_apply_deep
    --skip drain_deep_inside_a_destructor
    --skip has_queued_aborts
    # Forgets a pool on a looper's thread: no frame of what is leaked names the test.
    --skip every_command_has_a_pool
    # Measures the memory of the process; here, what is freed is kept for a while.
    --skip memory_is_flat
)

case ${1-} in
    "")
        step cargo +nightly test "${build[@]}" --lib --test all -- "${skips[@]}"
        seconds=10
        ;;
    short)
        # Millions of objects, or 100,000 generations: as long as all others.
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
