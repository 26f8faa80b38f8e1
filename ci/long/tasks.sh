#!/usr/bin/env bash
# Checks that the inspector reports nothing that tasks of tokio have: three times in each of 300 processes,
# or the given number, beside busy threads.
. "$(dirname "$0")/../lib.sh"

RELEASEPOOL_PROCESSES="${1:-300}" step cargo test --release -p releasepool-inspect --test tasks
