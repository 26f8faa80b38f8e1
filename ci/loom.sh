#!/usr/bin/env bash
# The model checks; and that they cannot silently be off.
. "$(dirname "$0")/lib.sh"

unset RUSTFLAGS
step cargo loom

# With RUSTFLAGS set the alias's own flags are ignored: that must not build.
off=$(RUSTFLAGS="-Cdebuginfo=0" cargo check --manifest-path loom_tests/Cargo.toml \
    --target-dir target/loom-off --config "build.rustflags=['--cfg=loom','--cfg=crossbeam_loom']" 2>&1) && {
    echo "the models built with loom off" >&2
    exit 1
}
grep -q "loom is off, so nothing would be checked" <<<"$off"
echo "with RUSTFLAGS set, the models refuse to build: good"
