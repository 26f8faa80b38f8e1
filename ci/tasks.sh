#!/usr/bin/env bash
# The examples for tokio and rayon, which assert that no object is left, and tests of jobs that
# rayon runs inside destructors.
. "$(dirname "$0")/lib.sh"

step cargo run --release -p releasepool-tasks --bin tokio
step cargo run --release -p releasepool-tasks --bin rayon
step cargo test --release -p releasepool-tasks
