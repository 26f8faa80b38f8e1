#!/usr/bin/env bash
# Checks that memory use stays flat: with objects that one thread creates and another one frees, and
# with temporaries of GLib and Python in pools; 100 million of each, or the given number.
. "$(dirname "$0")/../lib.sh"

number=${1:-100000000}
tests_of memory
RELEASEPOOL_OBJECTS=$number step cargo test --release --test all -- "${tests[@]}"
for bin in glib python; do
    if can_have "lib$bin"; then
        step cargo run --release -p releasepool-foreign --bin "$bin" "$number"
    else
        skipped "the example $bin: $missing"
    fi
done
