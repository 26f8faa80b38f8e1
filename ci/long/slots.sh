#!/usr/bin/env bash
# Checks that readers of a slot never take an old object for a new one at its address: one thread stores
# small objects as fast as it can, and two read, for ten minutes, or the given number.
. "$(dirname "$0")/../lib.sh"

tests_of slots
RELEASEPOOL_SECONDS=$((${1:-10} * 60)) step cargo test --release --test all -- "${tests[@]}"
