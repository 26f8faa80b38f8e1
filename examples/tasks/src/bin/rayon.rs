//! Jobs on rayon's threads: a pool for each job.
//!
//! `cargo run --release -p releasepool-tasks --bin rayon`
//!
//! rayon's threads never end and belong to nobody's loop, so what a job autoreleases
//! without a pool of its own would wait for ever. A pool around the job releases it when
//! the job is done; jobs that a job waits for nest.

use rayon::prelude::*;
use releasepool::{AutoreleasePool, PoolManager, PoolRef, Ref, autorelease, autoreleasepool};
use std::time::Duration;

const JOBS: u64 = 20_000;

/// A tree whose parts all come out of pools, as game code builds its scenes.
struct Tree {
    weight: u64,
    children: Vec<Ref<Tree>>,
}

fn tree(pool: &AutoreleasePool, depth: u64, weight: u64) -> Ref<Tree> {
    let children = (0..depth).map(|n| tree(pool, n.min(depth - 1), weight + n));
    let children = children.collect();
    PoolRef::retain(pool.create(Tree { weight, children }))
}

fn weigh(tree: &Tree) -> u64 {
    tree.weight + tree.children.iter().map(|child| weigh(child)).sum::<u64>()
}

fn main() {
    let job = |n: u64| {
        autoreleasepool(|pool| {
            let tree = tree(pool, n % 5, n);
            autorelease(Ref::new(format!("temporary of job {n}")));
            // Two jobs of their own, perhaps on other threads: what they get is counted.
            let (a, b) = rayon::join(
                || autoreleasepool(|_| weigh(&tree)),
                || autoreleasepool(|pool| *pool.create(n)),
            );
            a + b
        })
    };
    let sum: u64 = (0..JOBS).into_par_iter().map(job).sum();
    let alone: u64 = (0..JOBS).map(job).sum();
    assert_eq!(sum, alone);

    let manager = PoolManager::global();
    assert!(manager.quiesce(Duration::from_secs(10)));
    let snapshot = manager.snapshot();
    println!("{snapshot}");
    assert_eq!(snapshot.live_objects(), 0);
    println!("{JOBS} jobs twice, sum {sum}; live objects: 0");
}
