#!/usr/bin/env bash
# The model checks, and the examples in src/model; also checks that they cannot be switched off silently.
. "$(dirname "$0")/lib.sh"

unset RUSTFLAGS RUSTDOCFLAGS
step cargo loom

flags="['--cfg=loom','--cfg=crossbeam_loom']"
step cargo test --quiet --doc -p releasepool --features loom --target-dir target/loom-doc \
    --config "build.rustflags=$flags" --config "build.rustdocflags=$flags" -- src/model

# With RUSTFLAGS set, cargo ignores the alias's flags: then the models must not build.
off=$(RUSTFLAGS="-Cdebuginfo=0" cargo check --manifest-path loom_tests/Cargo.toml \
    --target-dir target/loom-off --config "build.rustflags=$flags" 2>&1) && {
    echo "the models built with loom off" >&2
    exit 1
}
grep -q "loom is off, so nothing would be checked" <<<"$off"
echo "with RUSTFLAGS set, the models refuse to build: good"
