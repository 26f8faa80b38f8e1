#!/usr/bin/env bash
# The README's test command, without features and with all of them.
. "$(dirname "$0")/lib.sh"

step cargo test
# What a program that makes mistakes is told.
step cargo test -p releasepool-mistakes
# What the feature `metrics` publishes.
step cargo test -p releasepool-metrics
step cargo test --features allocator-api2,checks,leak-detection,metrics,serde,tracing
