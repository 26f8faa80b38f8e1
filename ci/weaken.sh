#!/usr/bin/env bash
# Every ordering in src/ weakened by a step, one after the other: some model must
# fail, and be the one that the source names. About two minutes. With an argument,
# only the files whose path contains it.
. "$(dirname "$0")/lib.sh"

unset RUSTFLAGS
step cargo test --quiet --manifest-path loom_tests/Cargo.toml -p releasepool-order-mutants \
    --target-dir target/order/tool
step cargo weaken "$@"
