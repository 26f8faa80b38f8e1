#!/usr/bin/env bash
# The model checks under AddressSanitizer: loom itself lets a use after free pass
# where nobody told it of the free.
#
#   ci/loom-asan.sh           all models; takes long
#   ci/loom-asan.sh short     what CI runs: models of less than a few seconds
#   ci/loom-asan.sh NAME      models whose name contains NAME
. "$(dirname "$0")/lib.sh"

needs_nightly
# It would hide the flags below.
unset RUSTFLAGS
# Loom's threads are coroutines, which end in the middle of their stacks when a
# model fails; what they leak then says nothing. Leaks of models are found by the
# models.
export ASAN_OPTIONS="detect_leaks=0"

models() {
    step cargo +nightly run --release --quiet --manifest-path loom_tests/Cargo.toml \
        --target "$host" --target-dir target/loom-asan \
        --config "build.rustflags=['--cfg=loom','--cfg=crossbeam_loom','-Zsanitizer=address']" -- "$@"
}

case ${1-} in
    "") models ;;
    short)
        for name in canary retain_release_last cyclic_upgrade into_inner_race get_mut_race \
            drain_load_only drain_upgrade drain_duplicates inbox classic_timeline foreign_token exit_drains_root; do
            models "$name"
        done
        ;;
    *) models "$1" ;;
esac
