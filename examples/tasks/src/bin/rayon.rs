//! Jobs on rayon's threads: a pool for every job.
//!
//! `cargo run --release -p releasepool-tasks --bin rayon`
//!
//! rayon's threads do not end, and have no frame loop. Without a pool of its own, a job would leave
//! what it autoreleases in memory for ever. `callback_scope` gives the job a pool and releases its
//! objects when the job is done.
//!
//! While a job waits, for example in `rayon::join`, its thread runs other jobs. That can happen in
//! a destructor, where releases may be queued until the destructor has returned. Inside a
//! `callback_scope` nothing is queued, so a job may wait for the destruction of an object that it
//! has released; `tests/stolen.rs` shows this.

use rayon::prelude::*;
use releasepool::{AutoreleasePool, PoolManager, PoolRef, Ref, autorelease, callback_scope};
use std::time::Duration;

const JOBS: u64 = 20_000;

struct Tree {
    weight: u64,
    children: Vec<Ref<Tree>>,
}

/// Builds a tree as game code builds its scenes: the pool owns each part, and the tree above it
/// retains it.
fn tree(pool: &AutoreleasePool, depth: u64, weight: u64) -> Ref<Tree> {
    let children = (0..depth).map(|n| tree(pool, n.min(depth - 1), weight + n));
    let children = children.collect();
    PoolRef::retain(pool.create(Tree { weight, children }))
}

fn weigh(tree: &Tree) -> u64 {
    tree.weight + tree.children.iter().map(|child| weigh(child)).sum::<u64>()
}

fn job(n: u64) -> u64 {
    callback_scope(|pool| {
        let tree = tree(pool, n % 5, n);
        autorelease(Ref::new(format!("temporary of job {n}")));
        // Two more jobs, perhaps on other threads. The tree can be shared because it is counted.
        let (weight, own) = rayon::join(
            || callback_scope(|_| weigh(&tree)),
            || callback_scope(|pool| *pool.create(n)),
        );
        weight + own
    })
}

fn main() {
    let sum: u64 = (0..JOBS).into_par_iter().map(job).sum();
    let alone: u64 = (0..JOBS).map(job).sum();
    assert_eq!(sum, alone);

    let manager = PoolManager::global();
    assert!(manager.quiesce(Duration::from_secs(10)));
    let snapshot = manager.snapshot();
    println!("{JOBS} jobs, in parallel and then one after the other: sum {sum} each time");
    println!("live objects: {}", snapshot.live_objects());
    assert_eq!(snapshot.live_objects(), 0);
}
