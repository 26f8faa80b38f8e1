#!/usr/bin/env bash
# Builds and tests with the oldest supported toolchain, if it can be installed.
. "$(dirname "$0")/lib.sh"

msrv=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
needs msrv
step cargo "+$msrv" test --target-dir target/msrv
