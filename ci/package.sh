#!/usr/bin/env bash
# The packages for crates.io, as their users get them: outside of this repository they build with and without
# features, and no warning is printed.
. "$(dirname "$0")/lib.sh"

unset RUSTFLAGS
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
features=allocator-api2,checks,leak-detection,metrics,serde,tracing

# unpacked NAME: packs a package, unpacks it elsewhere, and goes there.
unpacked() {
    step cargo package --quiet --no-verify --allow-dirty -p "$1" --target-dir "$work/packed"
    tar -xzf "$work/packed/package/$1-"*.crate -C "$work"
    cd "$work/$1-"*[0-9]
    find . -type f | wc -l | xargs echo "files in $1:"
}

# quiet COMMAND...: runs it, and fails if it warns.
quiet() {
    local said
    printf '\n== %s ==\n' "$*"
    said=$("$@" 2>&1) || fail "$said"
    if grep -q '^warning' <<<"$said"; then fail "$said"; fi
}

root=$PWD
unpacked releasepool
quiet cargo build --target-dir "$work/target"
quiet cargo check --features $features --target-dir "$work/target"
RUSTDOCFLAGS="-D warnings" quiet cargo doc --no-deps --features $features --target-dir "$work/target"
cd "$root"
unpacked releasepool-inspect
quiet cargo build --target-dir "$work/target"
cd "$root"

# What crates.io would say. The registry may not be reachable.
for package in releasepool releasepool-inspect; do
    step cargo publish --dry-run --no-verify --allow-dirty -p $package --target-dir "$work/packed"
done
