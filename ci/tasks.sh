#!/usr/bin/env bash
# The examples for tokio and rayon, a package of their own: each asserts that no object
# is left. And tests: jobs that rayon runs inside destructors.
. "$(dirname "$0")/lib.sh"

step cargo run --release -p releasepool-tasks --bin tokio
step cargo run --release -p releasepool-tasks --bin rayon
step cargo test --release -p releasepool-tasks
