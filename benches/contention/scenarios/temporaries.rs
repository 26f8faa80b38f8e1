//! Objects that are alive for one frame, in one pool or in pools inside it.

use crate::pools::cocos::Cocos;
use crate::pools::vectors::{Arcs, Arena, Boxes, Bumped, Triomphes};
use crate::pools::{Autoreleased, Created, Pools};
use crate::scenario::{Contestant, Scenario, with_pools};
use releasepool_benches::objects::{Payload, Plain};
use releasepool_benches::workload::Workload;
use std::sync::Arc;

/// Objects in a pool that is drained after each object.
const ALONE: u64 = 1;
/// Objects of a frame with inner pools.
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

fn frames_of_pools<I: Pools<P>, P: Payload>() -> Workload {
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

fn in_batches(batch: u64) -> Vec<Contestant> {
    with_pools!(frames(batch): Created, Autoreleased, Cocos, Boxes, Bumped, Arcs, Triomphes, Arena)
}

const WHAT: &str = "Each thread creates objects of 48 bytes, adds them to its pool, and drains it. An operation \
                    is one object: created, added to the pool, destroyed.";
const NESTED: &str = "Each thread creates 1,000 objects in a frame, in 100 pools one after the other inside the \
                      pool of the frame. An operation is one object; at most 10 are alive at the same time.";

pub fn temporaries() -> [Scenario; 6] {
    let scenario = |id, title, what, contestants| Scenario {
        id,
        title,
        what,
        helpers: 0,
        contestants,
    };
    [
        scenario(
            "temporaries-1",
            "Temporaries, one to a pool",
            WHAT,
            with_pools!(frames(ALONE): Created, Autoreleased, Cocos, Boxes, Arcs, Triomphes),
        ),
        scenario(
            "temporaries-plain",
            "Temporaries without a destructor, one to a pool",
            WHAT,
            with_pools!(Plain; frames(ALONE): Created, Autoreleased, Cocos, Boxes, Arcs, Triomphes),
        ),
        scenario(
            "temporaries-10",
            "Temporaries, 10 to a pool",
            WHAT,
            in_batches(10),
        ),
        scenario(
            "temporaries-1000",
            "Temporaries, 1,000 to a pool",
            WHAT,
            in_batches(FRAME),
        ),
        scenario(
            "temporaries-100000",
            "Temporaries, 100,000 to a pool",
            WHAT,
            in_batches(100_000),
        ),
        scenario(
            "temporaries-nested",
            "Temporaries, 10 to a pool in a pool",
            NESTED,
            with_pools!(frames_of_pools(): Created, Autoreleased, Cocos, Boxes, Arcs, Triomphes, Arena),
        ),
    ]
}
