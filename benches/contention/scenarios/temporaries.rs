//! Objects that are alive for one frame.

use crate::pools::cocos::Cocos;
use crate::pools::deferred::{Basedrop, Epoch};
use crate::pools::locked::{ByDashMap, ByMutex, Global};
use crate::pools::ours::{Autoreleased, Created};
use crate::pools::vectors::{Arcs, Boxes, Triomphes};
use crate::pools::{Nested, Pools};
use crate::scenario::{Scenario, with_pools};
use releasepool_benches::objects::Payload;
use releasepool_benches::workload::Workload;
use std::sync::Arc;

/// Objects of a frame, with inner pools and without.
const FRAME: u64 = 1_000;
/// Objects in an inner pool.
const INNER: u64 = 10;

fn frames<I: Pools<P>, P: Payload>(batch: u64) -> Workload {
    let shared = Arc::<I::Shared>::default();
    let make = move || I::here(&shared);
    Workload::timed(I::NAME, batch, make, move |pools| {
        for seed in 0..batch {
            pools.add(seed);
        }
        pools.drain();
    })
}

fn frames_of_pools<I: Nested<P>, P: Payload>() -> Workload {
    let shared = Arc::<I::Shared>::default();
    let make = move || I::here(&shared);
    Workload::timed(I::NAME, FRAME, make, |pools| {
        for _ in 0..FRAME / INNER {
            pools.nested(|pools| {
                for seed in 0..INNER {
                    pools.add(seed);
                }
            });
        }
        pools.drain();
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
            "Each thread creates 10 objects of 48 bytes, adds them to its pool, and drains it. \
             An operation is one object: created, added to the pool, destroyed.",
            "With blocks (pool.create) a pool costs less than a vector of Arcs, with other \
             threads or without. With the global allocator a pool of so few objects costs more \
             than that vector: malloc takes most of the time, the pool the rest. For one type, one \
             owner and one thread, a Vec of Box is nearly as fast. A lock or a map look-up for each \
             object costs a multiple even if no other thread uses it.",
        ),
        in_batches(
            FRAME,
            "temporaries-1000",
            "Temporaries, 1,000 to a pool",
            "Each thread creates 1,000 objects of 48 bytes, like a frame of a game, adds them to its \
             pool, and drains it. An operation is one object: created, added to the pool, destroyed.",
            "Blocks are faster than every vector, as with 10 objects. Of all others, malloc takes \
             most of the time, and with the global allocator a pool is a bit slower than a vector \
             of Arcs. One pool for all threads is slower than pools of their own as soon as there \
             are two threads.",
        ),
        in_batches(
            100_000,
            "temporaries-100000",
            "Temporaries, 100,000 to a pool",
            "Each thread creates 100,000 objects of 48 bytes, more than the caches hold, adds them \
             to its pool, and drains it. An operation is one object: created, added to the pool, \
             destroyed.",
            "Blocks stay cheap, while malloc does not, most of all with several threads. With the \
             global allocator so large a pool is at best as fast as a vector of Arcs: use \
             pool.create, or inner pools, so that fewer objects are alive.",
        ),
        Scenario {
            id: "temporaries-nested",
            title: "Temporaries, 10 to a pool in a pool",
            what: "Each thread creates 1,000 objects in a frame, in 100 pools one after the other \
                   inside the pool of the frame. An operation is one object; at most 10 are alive \
                   at the same time, while temporaries-1000 has 1,000.",
            lesson: "Inner pools keep few objects of a frame alive instead of all, at a small cost \
                     for each object. A mark in a vector does this for a single thread and a single \
                     type, and costs less than a pool with the global allocator.",
            helpers: 0,
            countable: true,
            peak: true,
            contestants: with_pools!(frames_of_pools(): Created, Autoreleased, Cocos, Boxes, Arcs,
                Triomphes, ByMutex, ByDashMap, Basedrop),
        },
    ]
}
