#!/usr/bin/env bash
# Miri: undefined behaviour in the unit tests and the small integration tests,
# under both aliasing models, with strict provenance.
. "$(dirname "$0")/lib.sh"

if ! rustup component add miri rust-src --toolchain nightly >/dev/null 2>&1; then
    echo "SKIPPED: there is no nightly toolchain with miri here"
    exit 0
fi
# Leaks are not looked for here: tests forget guards on purpose, which leaks by
# design. The models count allocations, and tests/all/heap.rs counts bytes.
export MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-strict-provenance -Zmiri-ignore-leaks"
filter=("$@")
step cargo +nightly miri test --target-dir target/miri -p releasepool --lib --test all -- "${filter[@]}"
MIRIFLAGS="$MIRIFLAGS -Zmiri-tree-borrows" \
    step cargo +nightly miri test --target-dir target/miri -p releasepool --lib --test all -- "${filter[@]}"
