//! Objects that are alive for one frame.

use crate::pools::Pools;
use crate::pools::arenas::{Arena, Bumped, Keys};
use crate::pools::cocos::Cocos;
use crate::pools::deferred::{Basedrop, Epoch};
use crate::pools::locked::{ByDashMap, ByMutex, Global};
use crate::pools::ours::{Autoreleased, Created};
use crate::pools::vectors::{Arcs, Boxes, Triomphes};
use crate::scenario::{Scenario, with_pools};
use releasepool_benches::objects::{Payload, Plain};
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

fn one_by_one<I: Pools<P>, P: Payload>() -> Workload {
    let shared = Arc::<I::Shared>::default();
    let make = move || I::here(&shared);
    Workload::timed(I::NAME, FRAME, make, |pools| {
        for seed in 0..FRAME {
            pools.add(seed);
            pools.drain();
        }
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

fn in_batches(
    batch: u64,
    id: &'static str,
    title: &'static str,
    what: &'static str,
    remarks: &'static str,
) -> Scenario {
    Scenario {
        id,
        title,
        what,
        remarks,
        helpers: 0,
        peak: true,
        contestants: with_pools!(frames(batch): Created, Autoreleased, Cocos, Boxes, Bumped, Arcs,
            Triomphes, Arena, Keys, Global, ByMutex, ByDashMap, Basedrop, Epoch),
    }
}

const ANY_TYPE: &str = "A pool takes objects of any type, the vectors those of one type. Box + Vec has \
                        one owner for each object.";

pub fn all() -> Vec<Scenario> {
    vec![
        Scenario {
            contestants: with_pools!(one_by_one(): Created, Autoreleased, Cocos, Boxes, Arcs, Triomphes),
            ..in_batches(
                1,
                "temporaries-1",
                "Temporaries, one to a pool",
                "Each thread creates an object of 48 bytes, adds it to its pool, and drains it. \
                 An operation is one object: created, added to the pool, destroyed.",
                ANY_TYPE,
            )
        },
        Scenario {
            contestants: with_pools!(Plain; one_by_one(): Created, Autoreleased, Cocos, Boxes, Arcs,
                Triomphes),
            ..in_batches(
                1,
                "temporaries-plain",
                "Temporaries without a destructor, one to a pool",
                "The same with objects that have no destructor.",
                ANY_TYPE,
            )
        },
        in_batches(
            10,
            "temporaries-10",
            "Temporaries, 10 to a pool",
            "Each thread creates 10 objects of 48 bytes, adds them to its pool, and drains it. \
             An operation is one object: created, added to the pool, destroyed.",
            ANY_TYPE,
        ),
        in_batches(
            FRAME,
            "temporaries-1000",
            "Temporaries, 1,000 to a pool",
            "Each thread creates 1,000 objects of 48 bytes, like a frame of a game, adds them to its \
             pool, and drains it. An operation is one object: created, added to the pool, destroyed.",
            ANY_TYPE,
        ),
        in_batches(
            100_000,
            "temporaries-100000",
            "Temporaries, 100,000 to a pool",
            "Each thread creates 100,000 objects of 48 bytes, together 4.8 MB and more, adds them to \
             its pool, and drains it. An operation is one object: created, added to the pool, \
             destroyed.",
            ANY_TYPE,
        ),
        Scenario {
            id: "temporaries-nested",
            title: "Temporaries, 10 to a pool in a pool",
            what: "Each thread creates 1,000 objects in a frame, in 100 pools one after the other \
                   inside the pool of the frame. An operation is one object; at most 10 are alive \
                   at the same time, while temporaries-1000 has 1,000.",
            remarks: "Inner pools keep few objects of a frame alive instead of all. A mark in a \
                      vector does this for objects of one type.",
            helpers: 0,
            peak: true,
            contestants: with_pools!(frames_of_pools(): Created, Autoreleased, Cocos, Boxes, Arcs,
                Triomphes, Arena, Keys, ByMutex, ByDashMap, Basedrop),
        },
    ]
}
