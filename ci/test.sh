#!/usr/bin/env bash
# The tests: of the library, without and with its features, and of the small packages; the short examples, which assert
# that no object is left that should not be; std's own tests of `Arc` and `Weak`, with `Ref` in their
# place (docs/FROM_ARC.md); and that all of it builds with the oldest supported compiler.
#
#   ci/test.sh          what CI runs
#   ci/test.sh msrv     runs the library's tests with the oldest supported compiler and optimized, too
. "$(dirname "$0")/lib.sh"

cargo_test
cargo_test -p releasepool-with-features
cargo_test -p releasepool-mistakes
cargo_test -p releasepool-metrics
# What the benchmarks conclude from samples, and the table and the page that they write.
cargo_test -p releasepool-benches --test report
# Programs in C and C++. Where all compilers and build systems are, a test that misses one fails.
if has "tests of the C interface" c++; then
    if has "some tests of the C interface" clang++ clang-runtime make cmake meson ninja pkg-config; then
        export RELEASEPOOL_REQUIRE_COMPILERS=1
    fi
    cargo_test -p releasepool-capi
    # With the ledger, lists of leaks and messages about misuse name the classes of C++.
    cargo_test -p releasepool-capi --features leak-detection -- names::
fi

for example in frames home parser; do
    step cargo run --example "$example"
done
for bin in tokio rayon; do
    step cargo run --release -p releasepool-tasks --bin "$bin"
done
# Objects of other runtimes.
for bin in glib python; do
    has "the example $bin" "lib$bin" || continue
    step cargo run --release -p releasepool-foreign --bin "$bin"
done
# Jobs that rayon runs inside destructors.
cargo_test --release -p releasepool-tasks

if has "std's tests of Arc" nightly rust-src; then xtask std-arc; fi

msrv=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if has "Rust $msrv" msrv; then
    # Optimized, as the compiler may then share or repeat what tests compare by address.
    [ "${1-}" = msrv ] && how=(test --release) || how=(check --tests --examples)
    step cargo "+$msrv" "${how[@]}" --target-dir target/msrv
    step cargo "+$msrv" "${how[@]}" --target-dir target/msrv -p releasepool-with-features
fi
