#!/usr/bin/env bash
# The tests with a standard library that checks itself (cargo-careful): preconditions of std's unsafe functions,
# such as alignment and overlap; and all tests that can with panics that abort, each in a process of its own:
# ci/tests.txt has those that catch panics.
. "$(dirname "$0")/../lib.sh"

needs_nightly rust-src cargo-careful
unset RUSTFLAGS

step cargo +nightly careful test --target-dir target/careful -p releasepool --lib --test all

skip_tests abort
RUSTFLAGS="-Cpanic=abort -Zpanic-abort-tests" step cargo +nightly test --target-dir target/abort \
    --target "$host" -p releasepool --lib --test all -- "${skips[@]}"
