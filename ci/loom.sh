#!/usr/bin/env bash
# The model checks; and that they cannot silently be off.
. "$(dirname "$0")/lib.sh"

unset RUSTFLAGS
step cargo loom

# With RUSTFLAGS set the alias's own flags are ignored: that must not build.
if RUSTFLAGS="-Cdebuginfo=0" cargo loom >/dev/null 2>&1; then
    echo "cargo loom ran with loom off" >&2
    exit 1
fi
echo "with RUSTFLAGS set, cargo loom refuses to build: good"
