//! Jobs on rayon's threads: a pool for each job.
//!
//! `cargo run --release -p releasepool-tasks --bin rayon`
//!
//! rayon's threads never end and belong to nobody's loop, so what a job autoreleases
//! without a pool of its own would wait for ever. A pool around the job releases it when
//! the job is done; jobs that a job waits for nest.
//!
//! A job that waits, in `rayon::join` say, runs others meanwhile. If it waits inside a
//! destructor, so do they, and last references that they drop may queue until that destructor
//! is done. A job that waits for what it has dropped would wait for ever. So jobs run in a
//! `callback_scope` or `settle_scope`, in which nothing of that kind queues;
//! `tests/stolen.rs` shows both, and the destructor that isolates the jobs itself.

use rayon::prelude::*;
use releasepool::{
    AutoreleasePool, Budget, PoolManager, PoolRef, Ref, autorelease, autoreleasepool,
    callback_scope, settle_scope,
};
use std::sync::mpsc::channel;
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

/// Waits in its destructor for two jobs; rayon may run any others there meanwhile.
struct Waits(u64);

impl Drop for Waits {
    fn drop(&mut self) {
        rayon::join(|| drop_and_wait(self.0), || drop_and_wait(self.0 + 1));
    }
}

/// A job that waits until an object that it has dropped is destroyed.
fn drop_and_wait(n: u64) {
    settle_scope(|| {
        let (sender, receiver) = channel();
        sender.send(n).expect("the receiver is here");
        drop(Ref::new(sender));
        assert!(receiver.iter().eq([n]), "and then it ends");
    });
}

fn main() {
    let job = |n: u64| {
        callback_scope(|pool| {
            let tree = tree(pool, n % 5, n);
            autorelease(Ref::new(format!("temporary of job {n}")));
            // Two jobs of their own, perhaps on other threads: what they get is counted.
            let (a, b) = rayon::join(
                || autoreleasepool(|_| weigh(&tree)),
                || autoreleasepool(|pool| *pool.create(n)),
            );
            // What this releases in its turn waits for the end of the drain.
            let mut budgeted = AutoreleasePool::new();
            budgeted.create(Waits(n));
            budgeted.drain_within(Budget::All);
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
