#!/usr/bin/env bash
# The packages for crates.io, as their users get them: outside of this repository they build with and without
# features, and no warning is printed. Two versions of the crate work side by side.
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
new=$PWD
quiet cargo build --target-dir "$work/target"
quiet cargo check --features $features --target-dir "$work/target"
RUSTDOCFLAGS="-D warnings" quiet cargo doc --no-deps --features $features --target-dir "$work/target"
cd "$root"
unpacked releasepool-inspect
quiet cargo build --target-dir "$work/target"
cd "$root"

# Two versions in one program: each has its own pools, threads and exits.
cp -r "$new" "$work/old"
sed -i '0,/^version = /s/^version = .*/version = "0.0.9"/' "$work/old/Cargo.toml"
mkdir -p "$work/both/src"
cat >"$work/both/Cargo.toml" <<END
[package]
name = "both"
version = "0.0.0"
edition = "2024"

[dependencies]
new = { package = "releasepool", path = "$new" }
old = { package = "releasepool", path = "$work/old" }
END
cat >"$work/both/src/main.rs" <<'END'
use std::sync::atomic::{AtomicUsize, Ordering};

static DESTROYED: AtomicUsize = AtomicUsize::new(0);

struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        DESTROYED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Pools of both versions by turns, and what their threads leave to their exits.
fn work() {
    old::autoreleasepool(|outer| {
        outer.create(Counted);
        new::autoreleasepool(|inner| {
            inner.create(Counted);
            // An object of one version is a value like any other to the other one.
            inner.create(old::Ref::new(Counted));
            outer.create(new::Ref::new(Counted));
        });
    });
    let (_old, _new) = (old::AutoreleasePool::new(), new::AutoreleasePool::new());
    old::autorelease(old::Ref::new(Counted));
    new::autorelease(new::Ref::new(Counted));
}

fn main() {
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(work)).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(DESTROYED.load(Ordering::Relaxed), 4 * 6);
    assert_eq!(old::PoolManager::global().snapshot().live_objects(), 0);
    assert_eq!(new::PoolManager::global().snapshot().live_objects(), 0);
    println!("two versions: all objects are destroyed");
}
END
step cargo run --quiet --manifest-path "$work/both/Cargo.toml" --target-dir "$work/target"

# What crates.io would say. The registry may not be reachable.
for package in releasepool releasepool-inspect; do
    step cargo publish --dry-run --no-verify --allow-dirty -p $package --target-dir "$work/packed"
done
