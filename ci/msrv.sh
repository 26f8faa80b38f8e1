#!/usr/bin/env bash
# Builds and tests with the oldest supported toolchain, where it can be had.
. "$(dirname "$0")/lib.sh"

msrv=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if ! rustup toolchain install "$msrv" --profile minimal >/dev/null 2>&1; then
    echo "SKIPPED: toolchain $msrv cannot be had here (rustup toolchain install $msrv)"
    exit 0
fi
step cargo "+$msrv" test --target-dir target/msrv
