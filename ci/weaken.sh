#!/usr/bin/env bash
# Weakens every memory ordering in src/ by one step, one after the other: a model must fail, and the
# comment in the source must name it. Takes about two minutes. With an argument, examines only files
# with it in their paths.
. "$(dirname "$0")/lib.sh"

unset RUSTFLAGS
step cargo test --quiet --manifest-path loom_tests/Cargo.toml -p releasepool-order-mutants \
    --target-dir target/order/tool
step cargo weaken "$@"
