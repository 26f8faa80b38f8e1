#!/usr/bin/env bash
# Tests what the benchmarks conclude from samples, and the table and the page that they write.
. "$(dirname "$0")/../lib.sh"

step cargo test -p releasepool-benches --test report
