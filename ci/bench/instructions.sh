#!/usr/bin/env bash
# Counts the instructions of the hot paths, and fails if there are more than benches/instructions
# allows. Needs valgrind, and installs gungraun's runner in target/.
. "$(dirname "$0")/../lib.sh"

[ "$(uname -m)" = x86_64 ] || skip "the limits are those of x86-64"
needs valgrind clippy

# Other compilers count differently.
limits_of=$(sed -n 's|^//! Compiler: rustc \(.*\)$|\1|p' benches/instructions/main.rs)
rustc=$(rustc --version | cut -d' ' -f2)
[ "$rustc" = "$limits_of" ] || skip "the limits are those of rustc $limits_of, and this is rustc $rustc"

version=$(sed -n 's/^gungraun = "=\(.*\)"/\1/p' benches/instructions/Cargo.toml)
needs gungraun-runner
export GUNGRAUN_RUNNER="$PWD/target/gungraun/bin/gungraun-runner"
step cargo clippy --manifest-path benches/instructions/Cargo.toml --target-dir target/instructions \
    --profile bench --all-targets -- -D warnings
cd benches/instructions
step cargo bench --locked --target-dir ../../target/instructions
