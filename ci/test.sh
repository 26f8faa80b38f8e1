#!/usr/bin/env bash
# The README's test command, without features and with all of them.
. "$(dirname "$0")/lib.sh"

step cargo test
step cargo test --features allocator-api2,checks,leak-detection,serde,tracing
