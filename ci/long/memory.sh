#!/usr/bin/env bash
# Checks that objects which one thread creates and another one frees leave memory use flat: 100
# million objects, or the given number.
. "$(dirname "$0")/../lib.sh"

tests_of memory
RELEASEPOOL_OBJECTS="${1:-100000000}" step cargo test --release --test all -- "${tests[@]}"
