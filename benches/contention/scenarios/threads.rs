//! Threads that are alive for a short time.

use crate::pools::Pools;
use crate::pools::deferred::{Basedrop, Epoch};
use crate::pools::locked::{ByDashMap, ByMutex, Global};
use crate::pools::ours::{Autoreleased, Created};
use crate::pools::vectors::{Arcs, Triomphes};
use crate::scenario::{Scenario, with_pools};
use releasepool_benches::objects::Payload;
use releasepool_benches::workload::Workload;
use std::sync::Arc;
use std::thread;

/// Threads that are started in a turn, one after the other.
const LIVES: u64 = 4;
/// Objects that each of them creates.
const OBJECTS: u64 = 100;

fn lives<I: Pools<P>, P: Payload>() -> Workload {
    let shared = Arc::<I::Shared>::default();
    let make = move || shared.clone();
    Workload::timed(I::NAME, LIVES, make, |shared| {
        for _ in 0..LIVES {
            let shared = shared.clone();
            let life = thread::spawn(move || {
                let mut pools = I::here(&shared);
                for seed in 0..OBJECTS {
                    pools.add(seed);
                }
                pools.drain();
            });
            life.join().expect("the thread does not panic");
        }
    })
}

pub fn scenario() -> Scenario {
    Scenario {
        id: "threads",
        title: "Threads that come and go",
        what: "Each thread starts another one, which opens a pool, creates 100 objects in it, drains \
               it and ends, and waits for it. An operation is one such thread.",
        remarks: "The time includes the start and the end of the thread by the operating system.",
        helpers: 0,
        peak: false,
        contestants: with_pools!(lives(): Created, Autoreleased, Arcs, Triomphes, Global, ByMutex,
            ByDashMap, Basedrop, Epoch),
    }
}
