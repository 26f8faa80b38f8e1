//! Threads that live for a short time.

use crate::pools::Pools;
use crate::pools::alone::{Arcs, Triomphes};
use crate::pools::deferred::{Basedrop, Epoch};
use crate::pools::locked::{ByDashMap, ByMutex, Global};
use crate::pools::ours::{Autoreleased, Created};
use crate::scenario::{Scenario, with_pools};
use releasepool_benches::objects::Payload;
use releasepool_benches::workload::{Workload, timed};
use std::sync::Arc;
use std::thread;

/// Threads in a turn, one after the other.
const LIVES: u64 = 4;
/// Objects of each.
const OBJECTS: u64 = 100;

fn lives<I: Pools<P>, P: Payload>() -> Workload {
    let shared = Arc::<I::Shared>::default();
    Workload::new(I::NAME, LIVES, move || {
        let shared = shared.clone();
        timed(move || {
            for _ in 0..LIVES {
                let shared = shared.clone();
                let life = thread::spawn(move || {
                    let mut pools = I::here(&shared);
                    for seed in 0..OBJECTS {
                        pools.add(seed);
                    }
                    pools.drain();
                });
                life.join().expect("no panic");
            }
        })
    })
}

pub fn scenario() -> Scenario {
    Scenario {
        id: "threads",
        title: "Threads that come and go",
        what: "Each thread starts another, which opens a pool, makes 100 objects in it, drains it and \
               ends; and waits for it. An operation is one such life, for the most part the \
               operating system's work.",
        lesson: "Starting and ending a thread is nearly all of it, so choose by something else: \
                 nothing here is far from the rest. What releasepool does for a thread that \
                 comes and goes is lost in it.",
        helpers: 0,
        countable: true,
        peak: false,
        contestants: with_pools!(lives(): Created, Autoreleased, Arcs, Triomphes, Global, ByMutex,
            ByDashMap, Basedrop, Epoch),
    }
}
