#!/usr/bin/env bash
# Formatting and clippy for every package, without warnings.
. "$(dirname "$0")/lib.sh"

can_have rustfmt clippy || fail "$missing"
# Nothing is installed but by these rows.
if grep -nE '(apt-get|rustup [a-z]+|cargo) (install|add)' .ci/run ci/*.sh ci/*/*.sh | grep -v '^ci/\(lib\|lint\).sh'; then
    fail "that belongs in ci/installs.txt"
fi

step cargo fmt --all --check
for package in loom_tests fuzz benches/instructions loom_tests/downstream loom_tests/miri; do
    step cargo fmt --manifest-path $package/Cargo.toml --all --check
done
# The library without and with its features (tests/features); and the packages that turn some of them on, for all
# packages of the command.
step cargo clippy --workspace --exclude releasepool-metrics --exclude releasepool-mistakes --exclude releasepool-inspect-ledger --all-targets -- -D warnings
step cargo clippy -p releasepool-metrics -p releasepool-mistakes -p releasepool-inspect-ledger --all-targets -- -D warnings
step cargo clippy --manifest-path loom_tests/Cargo.toml --target-dir target/loom \
    --config "build.rustflags=$loom_flags" -- -D warnings
step cargo clippy --manifest-path loom_tests/Cargo.toml --bin shuttle --features shuttle --target-dir target/shuttle \
    --config "build.rustflags=['--cfg=releasepool_shuttle']" -- -D warnings
# These build libFuzzer and snmalloc.
if has "clippy for fuzz/ and the benchmark of snmalloc" c++; then
    step cargo clippy --manifest-path fuzz/Cargo.toml -- -D warnings
    step cargo clippy -p releasepool-benches --all-targets --features snmalloc -- -D warnings
fi
step cargo clippy --manifest-path loom_tests/downstream/Cargo.toml --target-dir target/downstream \
    --all-targets -- -D warnings
step cargo clippy --manifest-path loom_tests/downstream/Cargo.toml --target-dir target/downstream-loom \
    --all-targets --features models --config "build.rustflags=$loom_flags" -- -D warnings

step cargo clippy --manifest-path loom_tests/miri/Cargo.toml --target-dir target/downstream \
    --all-targets -- -D warnings

# The program behind these scripts, the cells that models do not see, and the lists of tests.
step cargo test --quiet -p xtask --target-dir target/xtask
step xtask cells
step xtask tests

# No reason is of a mutant that is gone. Which files must be examined again is for those who ask.
step xtask mutate stale >/dev/null

# Folders use only those below them; the table is in docs/DESIGN.md.
step xtask layers

# No part has more lines of code or files than the table in CONTRIBUTING.md allows.
step xtask mass

# Planted bugs can be planted: ci/sanitize/planted.sh, which looks whether they are found, takes longer.
for patch in ci/sanitize/planted/*.patch; do
    git apply --check "$patch" || fail "bring $patch up to date"
done

# benches/TABLE.md has each row of the benchmarks on 1 and 2 threads, and no others on as many threads as processors.
# How many more threads were measured ("4, more than processors") is up to the machine.
table=benches/TABLE.md
rows=$(cargo test --quiet -p releasepool-benches --bench contention -- --rows)
while read -r row; do
    grep -qF -- "$row" $table || fail "$table has no row $row: benches/README.md says how it is written"
done <<<"$rows"
while read -r row; do
    grep -qxF -- "$row" <<<"$rows" || fail "no benchmark has the row $row of $table any more: benches/README.md says how it is written"
done < <(sed -n 's/^\(| [^|]* | [0-9]*\) .*/\1/p' $table)
