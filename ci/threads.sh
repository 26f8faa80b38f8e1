#!/usr/bin/env bash
# Threads that come and go, with flat memory: 100,000 of them, or as many as said.
. "$(dirname "$0")/lib.sh"

tests_of threads
RELEASEPOOL_THREADS="${1:-100000}" step cargo test --release --test all -- "${tests[@]}"
