#!/usr/bin/env bash
# The README's test command and its smallest example, and the tests with all features.
. "$(dirname "$0")/lib.sh"

step cargo test
step cargo run --example home
step cargo test --features allocator-api2,checks,tracing
