#!/usr/bin/env bash
# The README's test command, and the same with all features.
. "$(dirname "$0")/lib.sh"

step cargo test
step cargo test --features checks,tracing
