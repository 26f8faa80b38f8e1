#!/usr/bin/env bash
# Counts the instructions of the hot paths, and fails if there are more than benches/instructions
# allows. Needs valgrind, and installs gungraun's runner in target/.
. "$(dirname "$0")/lib.sh"

[ "$(uname -m)" = x86_64 ] || skip "the limits are those of x86-64"
if ! command -v valgrind >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    (apt-get update && apt-get install -y --no-install-recommends valgrind) >/dev/null 2>&1 || true
fi
command -v valgrind >/dev/null || skip "there is no valgrind (apt-get install valgrind)"

# Other compilers count differently.
limits_of=$(sed -n 's|^//! Compiler: rustc \(.*\)$|\1|p' benches/instructions/main.rs)
rustc=$(rustc --version | cut -d' ' -f2)
[ "$rustc" = "$limits_of" ] || skip "the limits are those of rustc $limits_of, and this is rustc $rustc"

unset RUSTFLAGS
version=$(sed -n 's/^gungraun = "=\(.*\)"/\1/p' benches/instructions/Cargo.toml)
step cargo install --quiet --locked --debug --root target/gungraun --target-dir target/gungraun/build \
    "gungraun-runner@$version"
export GUNGRAUN_RUNNER="$PWD/target/gungraun/bin/gungraun-runner"
step cargo clippy --manifest-path benches/instructions/Cargo.toml --target-dir target/instructions \
    --profile bench --all-targets -- -D warnings
cd benches/instructions
step cargo bench --locked --target-dir ../../target/instructions
