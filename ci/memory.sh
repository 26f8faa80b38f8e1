#!/usr/bin/env bash
# Objects that one thread makes and another frees, with flat memory: 100 million of them, or as
# many as said.
. "$(dirname "$0")/lib.sh"

tests_of memory
RELEASEPOOL_OBJECTS="${1:-100000000}" step cargo test --release --test all -- "${tests[@]}"
