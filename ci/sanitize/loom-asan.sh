#!/usr/bin/env bash
# The model checks under AddressSanitizer: loom only detects a use after free if it is told of the
# free.
#
#   ci/sanitize/loom-asan.sh           all models; takes a long time
#   ci/sanitize/loom-asan.sh short     models that take at most a few seconds
#   ci/sanitize/loom-asan.sh NAME      models with NAME in their names
. "$(dirname "$0")/../lib.sh"

needs_nightly
# It would override the flags below.
unset RUSTFLAGS
# loom's threads are coroutines, which are abandoned with their stacks when a model fails; leaks are
# meaningless then. The models detect their own leaks.
export ASAN_OPTIONS="detect_leaks=0"

models() {
    step cargo +nightly run --release --quiet --manifest-path loom_tests/Cargo.toml \
        --target "$host" --target-dir target/loom-asan \
        --config "build.rustflags=['--cfg=loom','--cfg=crossbeam_loom','-Zsanitizer=address']" -- "$@"
}

case ${1-} in
    "") models ;;
    short)
        for name in canary cyclic_upgrade cyclic_panics into_inner_race get_mut_race counts_seen \
            drain_load_only drain_upgrade drain_duplicates deep_drain inbox_arm_close inbox_counted \
            classic_timeline foreign_token exit_drains_root home_exit handoff_chain later_cancel_run \
            orphans_last_part memory_remote_free memory_adoption slot_compare_exchange slot_two_writers; do
            models "$name"
        done
        ;;
    *) models "$1" ;;
esac
