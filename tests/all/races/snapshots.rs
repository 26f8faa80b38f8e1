//! Snapshots while threads end.

use super::ROUNDS;
use crate::support::{fresh_to_the_end, global};
use releasepool::{AutoreleasePool, Ref, autorelease};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Returns figures that only grow: releases and objects handed over.
fn figures() -> (u64, u64) {
    let snapshot = global().snapshot();
    let totals = snapshot.threads.iter().map(|thread| thread.totals);
    let all = totals.chain([snapshot.departed]);
    all.fold((0, 0), |sum, totals| {
        (sum.0 + totals.released, sum.1 + totals.handed_over)
    })
}

#[test]
fn the_figures_of_a_thread_that_ends_count_at_any_time() {
    let over = AtomicBool::new(false);
    let here = global().current_thread().unwrap();
    let one = || {
        let here = here.clone();
        fresh_to_the_end(move || {
            autorelease(Ref::new(1));
            global().drain_root();
            here.release(Ref::new(2));
        });
    };
    let before = figures();
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..ROUNDS {
                one();
            }
            over.store(true, Ordering::Relaxed);
        });
        let mut last = before;
        while !over.load(Ordering::Relaxed) {
            let now = figures();
            assert!(now.0 >= last.0 && now.1 >= last.1, "{last:?}, then {now:?}");
            last = now;
        }
    });
    let (released, handed_over) = figures();
    let least = u64::from(ROUNDS);
    assert!(released - before.0 >= least && handed_over - before.1 >= least);
    // Makes the releases that were sent.
    drop(AutoreleasePool::new());
}
