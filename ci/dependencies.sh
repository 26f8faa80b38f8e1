#!/usr/bin/env bash
# The library with every combination of its features, and with the oldest versions of its dependencies that
# Cargo.toml allows.
. "$(dirname "$0")/lib.sh"

unset RUSTFLAGS
if can_have cargo-hack; then
    # `loom` and `shuttle` change nothing without their flags.
    step cargo hack check -p releasepool --lib --feature-powerset --exclude-features default,loom,shuttle \
        --target-dir target/dependencies
else
    skipped "combinations of features: $missing"
fi

can_have nightly || skip "oldest versions of dependencies: $missing"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
step cargo package --quiet --no-verify --allow-dirty -p releasepool --target-dir "$work/packed"
tar -xzf "$work"/packed/package/releasepool-*.crate -C "$work"
target=$PWD/target/dependencies
cd "$work"/releasepool-*[0-9]
rm Cargo.lock
step cargo +nightly update --quiet -Zdirect-minimal-versions
step cargo check --lib --features allocator-api2,checks,leak-detection,metrics,serde,tracing --target-dir "$target"
