#!/usr/bin/env bash
# The model checks, and the examples in src/model; also checks that they cannot be switched off silently.
. "$(dirname "$0")/lib.sh"

step cargo loom

step cargo test --quiet --doc -p releasepool --features loom --target-dir target/loom-doc \
    --config "build.rustflags=$loom_flags" --config "build.rustdocflags=$loom_flags" -- src/model
refuses_loom_off --manifest-path loom_tests/Cargo.toml
