#!/usr/bin/env bash
# The model checks, and the examples in src/model; also checks that they cannot be switched off silently.
#
#   ci/loom.sh               everything
#   ci/loom.sh asan [NAME]   the models with NAME in their names, or all, under AddressSanitizer: loom only detects a
#                            use after free if it is told of the free. Takes a long time
. "$(dirname "$0")/lib.sh"

if [ "${1-}" = asan ]; then
    needs_nightly
    # loom's threads are coroutines, which are abandoned with their stacks when a model fails; leaks are
    # meaningless then. The models detect their own leaks.
    export ASAN_OPTIONS="detect_leaks=0"
    step cargo +nightly run --release --quiet --manifest-path loom_tests/Cargo.toml \
        --target "$host" --target-dir target/loom-asan \
        --config "build.rustflags=['--cfg=loom','-Zsanitizer=address']" -- "${@:2}"
    exit
fi
step cargo loom

step cargo test --quiet --doc -p releasepool --features loom --target-dir target/loom-doc \
    --config "build.rustflags=$loom_flags" --config "build.rustdocflags=$loom_flags" -- src/model
refuses_loom_off --manifest-path loom_tests/Cargo.toml
