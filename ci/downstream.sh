#!/usr/bin/env bash
# A crate that builds on this one and checks its own code with loom, as
# docs/CHECKING.md says: its tests, its models, and that the recipe shows what is
# really there.
. "$(dirname "$0")/lib.sh"

unset RUSTFLAGS
package=loom_tests/downstream
models=(--release --features models --test loom)
loom="build.rustflags=['--cfg=loom','--cfg=crossbeam_loom']"

step cargo test --manifest-path $package/Cargo.toml --target-dir target/downstream
step cargo test --manifest-path $package/Cargo.toml --target-dir target/downstream-loom \
    "${models[@]}" --config "$loom"

# With RUSTFLAGS set the flags given by --config are ignored: that must not build.
off=$(RUSTFLAGS="-Cdebuginfo=0" cargo check --manifest-path $package/Cargo.toml \
    --target-dir target/downstream-off "${models[@]}" --config "$loom" 2>&1) && {
    echo "the models built with loom off" >&2
    exit 1
}
grep -q "loom is off, so nothing would be checked" <<<"$off"
echo "with RUSTFLAGS set, the models refuse to build: good"

# The recipe shows this package word for word, except for the paths of dependencies.
step xtask recipe "$package" "${models[*]}" "--config \"$loom\""
