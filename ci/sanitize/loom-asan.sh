#!/usr/bin/env bash
# The model checks under AddressSanitizer: loom only detects a use after free if it is told of the
# free.
#
#   ci/sanitize/loom-asan.sh           all models; takes a long time
#   ci/sanitize/loom-asan.sh NAME      models with NAME in their names
. "$(dirname "$0")/../lib.sh"

needs_nightly
# loom's threads are coroutines, which are abandoned with their stacks when a model fails; leaks are
# meaningless then. The models detect their own leaks.
export ASAN_OPTIONS="detect_leaks=0"

step cargo +nightly run --release --quiet --manifest-path loom_tests/Cargo.toml \
    --target "$host" --target-dir target/loom-asan \
    --config "build.rustflags=['--cfg=loom','--cfg=crossbeam_loom','-Zsanitizer=address']" -- "$@"
