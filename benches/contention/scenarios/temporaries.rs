//! Objects that live for one frame.

use crate::pools::alone::{Arcs, Boxes, Cocos, Triomphes};
use crate::pools::deferred::{Basedrop, Epoch};
use crate::pools::locked::{ByDashMap, ByMutex, Global};
use crate::pools::ours::{Autoreleased, Created};
use crate::pools::{Nested, Pools};
use crate::scenario::{Scenario, with_pools};
use releasepool_benches::objects::Payload;
use releasepool_benches::workload::{Workload, timed};
use std::sync::Arc;

/// Objects of a frame, in the scenario with pools in pools and in that without.
const FRAME: u64 = 1_000;
/// Of these in a pool.
const INNER: u64 = 10;

fn frames<I: Pools<P>, P: Payload>(batch: u64) -> Workload {
    let shared = Arc::<I::Shared>::default();
    Workload::new(I::NAME, batch, move || {
        let mut pools = I::here(&shared);
        timed(move || {
            for seed in 0..batch {
                pools.add(seed);
            }
            pools.drain();
        })
    })
}

fn frames_of_pools<I: Nested<P>, P: Payload>() -> Workload {
    let shared = Arc::<I::Shared>::default();
    Workload::new(I::NAME, FRAME, move || {
        let mut pools = I::here(&shared);
        timed(move || {
            for _ in 0..FRAME / INNER {
                pools.nested(|pools| {
                    for seed in 0..INNER {
                        pools.add(seed);
                    }
                });
            }
            pools.drain();
        })
    })
}

fn in_batches(
    batch: u64,
    id: &'static str,
    title: &'static str,
    what: &'static str,
    lesson: &'static str,
) -> Scenario {
    Scenario {
        id,
        title,
        what,
        lesson,
        helpers: 0,
        countable: true,
        peak: true,
        contestants: with_pools!(frames(batch): Created, Autoreleased, Cocos, Boxes, Arcs, Triomphes,
            Global, ByMutex, ByDashMap, Basedrop, Epoch),
    }
}

pub fn all() -> Vec<Scenario> {
    vec![
        in_batches(
            10,
            "temporaries-10",
            "Temporaries, 10 to a pool",
            "Each thread makes 10 objects of 48 bytes, leaves them to its pool, and drains it. \
             An operation is one object: made, left to the pool, destroyed.",
            "With blocks (pool.create) a pool costs less than a vector of Arcs, and other \
             threads do not change that. With the global allocator a pool of so few objects \
             costs more than that vector: most of it is malloc, the rest the pool. Whoever has \
             one type, one owner and one thread is nearly as well off with a Vec of Box. A lock \
             or a map look-up for each object costs a multiple even if nobody else wants it.",
        ),
        in_batches(
            FRAME,
            "temporaries-1000",
            "Temporaries, 1,000 to a pool",
            "The same with 1,000 objects before each drain: a frame of a game.",
            "As with 10: blocks are ahead of every vector, malloc is most of what everybody else \
             pays, and with the global allocator a pool is a bit behind a vector of Arcs. One \
             pool for all threads falls behind all that a thread has for itself as soon as there \
             are two.",
        ),
        in_batches(
            100_000,
            "temporaries-100000",
            "Temporaries, 100,000 to a pool",
            "The same with 100,000 objects before each drain: more than the caches hold.",
            "Blocks stay cheap where malloc does not, the more so with several threads. With the \
             global allocator so large a pool is at best where a vector of Arcs is: use \
             pool.create, or pools in the pool, so that fewer objects wait.",
        ),
        Scenario {
            id: "temporaries-nested",
            title: "Temporaries, 10 to a pool in a pool",
            what: "Each thread makes 1,000 objects in a frame, in 100 pools one after the other \
                   inside the pool of the frame. An operation is one object; at most 10 are alive \
                   at a time, where temporaries-1000 has 1,000.",
            lesson: "Pools in the pool of a frame keep few objects alive instead of all, for a \
                     bit more for each object. A mark in a vector does the same for a single \
                     thread and a single type, and costs less than a pool with the global \
                     allocator.",
            helpers: 0,
            countable: true,
            peak: true,
            contestants: with_pools!(frames_of_pools(): Created, Autoreleased, Cocos, Boxes, Arcs,
                Triomphes, ByMutex, ByDashMap, Basedrop),
        },
    ]
}
