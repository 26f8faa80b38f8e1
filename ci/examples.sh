#!/usr/bin/env bash
# The short examples, each of which asserts that no object is left that should not be; and the
# examples for tokio and rayon, with tests of jobs that rayon runs inside destructors.
. "$(dirname "$0")/lib.sh"

step cargo run --example frames
step cargo run --example home
step cargo run --example parser
step cargo run --release -p releasepool-tasks --bin tokio
step cargo run --release -p releasepool-tasks --bin rayon
step cargo test --release -p releasepool-tasks
