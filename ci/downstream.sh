#!/usr/bin/env bash
# Crates that build on this one and check their own code, as docs/CHECKING.md says. One has models: its tests, its
# models, and that the page shows what is really there. The other one uses each public type, natively and in
# Miri with its default flags.
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
step xtask recipe "${models[*]}" "--config \"$loom\""

# Natively, too: destructors run in the same order.
package=loom_tests/miri
step cargo test --manifest-path $package/Cargo.toml --target-dir target/downstream
needs_nightly miri rust-src
unset MIRIFLAGS
log=$(mktemp)
trap 'rm -f "$log"' EXIT
step cargo +nightly miri test --manifest-path $package/Cargo.toml --target-dir target/downstream-miri 2>&1 | tee "$log"
# Undefined behavior, leaks and threads that are left are errors. Warnings are none.
if grep -E '^warning: |\.\.\. warning: ' "$log"; then
    fail "Miri or the compiler warns of something"
fi
