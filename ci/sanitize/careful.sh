#!/usr/bin/env bash
# The library's tests with a std that checks the preconditions of its own unsafe functions, such as alignment and
# overlap (cargo-careful); and with panics that abort. There, each test has a process of its own, and ends by the
# first panic that it would catch: a test that ends in any other way but by passing fails here.
. "$(dirname "$0")/../lib.sh"

needs_nightly rust-src cargo-careful

step cargo +nightly careful test --target-dir target/careful -p releasepool --lib --test all

log=$work/abort
export RUSTFLAGS="-Cpanic=abort -Zpanic-abort-tests"
# Random programs print no panics.
step cargo +nightly test --no-fail-fast --target "$host" --target-dir target/abort -p releasepool --lib --test all -- \
    --skip random:: >"$log" 2>&1 || true
grep '^test result' "$log"
[ "$(grep -c '^test .* \.\.\. ok$' "$log")" -ge 850 ] || {
    tail -n 40 "$log"
    fail "too few tests pass with panics that abort"
}
odd=$(awk '/^---- .* stderr ----$/ { if (name && !panics) print name; name = $2; panics = 0 }
    /panicked at/ { panics = 1 }
    END { if (name && !panics) print name }' "$log")
[ -z "$odd" ] || fail "with panics that abort, these end without one: $odd"
