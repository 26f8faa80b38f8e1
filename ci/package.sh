#!/usr/bin/env bash
# The packages for crates.io, as their users get them: outside of this repository they build with every combination
# of features and the oldest dependencies that Cargo.toml allows, and no warning is printed. Two versions of the
# crate work side by side. What is known against dependencies (deny.toml), and what breaks users since the last
# release: that needs a version that says so.
#
#   ci/package.sh            compares with the last tag
#   ci/package.sh REVISION   with this revision
. "$(dirname "$0")/lib.sh"

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

# `loom` and `shuttle` change nothing without their flags.
if has "combinations of features" cargo-hack; then
    step cargo hack check -p releasepool --lib --feature-powerset --exclude-features default,loom,shuttle \
        --target-dir target/dependencies
fi
if has "oldest versions of dependencies" nightly; then
    cd "$new"
    rm Cargo.lock
    step cargo +nightly update --quiet -Zdirect-minimal-versions
    step cargo check --lib --features $features --target-dir "$work/target"
    cd "$root"
fi

# Licenses of dependencies, where they come from, and what is known against them. The library has only one version
# of each of its own.
if has "licenses and advisories" cargo-deny; then
    step cargo deny --workspace --all-features check licenses sources
    step cargo deny --all-features --exclude-dev check bans
    if said=$(cargo deny fetch db 2>&1); then
        step cargo deny --workspace --all-features check advisories
    else
        skipped "advisories: $(tail -n 1 <<<"$said")"
    fi
fi

# What crates.io would say. The registry may not be reachable.
for package in releasepool releasepool-inspect; do
    step cargo publish --dry-run --no-verify --allow-dirty -p $package --target-dir "$work/packed"
done

before=${1-$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null)} || skip "there is no release yet"
needs cargo-semver-checks
step cargo semver-checks -p releasepool --baseline-rev "$before"
