#!/usr/bin/env bash
# Checks that threads which start and end leave memory use flat: 100,000 threads, or the given
# number.
. "$(dirname "$0")/../lib.sh"

tests_of threads
RELEASEPOOL_THREADS="${1:-100000}" step cargo test --test all -- "${tests[@]}"
