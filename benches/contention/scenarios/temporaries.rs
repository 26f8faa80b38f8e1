//! Objects that are alive for one frame; nested pools with few objects or none; and threads that are alive
//! for a short time.

use crate::pools::cocos::Cocos;
use crate::pools::deferred::{Basedrop, Epoch};
use crate::pools::locked::{ByDashMap, ByMutex, Global};
use crate::pools::vectors::{Arcs, Arena, Boxes, Bumped, Keys, Triomphes};
use crate::pools::{Autoreleased, Created, Pools};
use crate::scenario::{Scenario, with_pools};
use releasepool_benches::objects::{Payload, Plain};
use releasepool_benches::workload::Workload;
use std::sync::Arc;
use std::thread;

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

pub fn temporaries() -> Vec<Scenario> {
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

// --- nested pools --------------------------------------------------------------

/// Pools that are opened and closed in a turn.
const POOLS: u64 = 1_000;
/// Towers of nested pools that are built in a turn, and their height.
const TOWERS: u64 = 100;
const HEIGHT: u64 = 8;

fn empty<I: Pools<P>, P: Payload>() -> Workload {
    let shared = Arc::<I::Shared>::default();
    let make = move || I::here(&shared);
    Workload::timed(I::NAME, POOLS, make, |pools| {
        // So that the outer pool is not empty.
        pools.add(0);
        for _ in 0..POOLS {
            pools.nested(|_| ());
        }
        pools.drain();
    })
}

fn tower<I: Pools<P>, P: Payload>(pools: &mut I, height: u64) {
    pools.add(height);
    if height > 1 {
        pools.nested(|inner| tower(inner, height - 1));
    }
}

fn towers<I: Pools<P>, P: Payload>() -> Workload {
    let shared = Arc::<I::Shared>::default();
    let make = move || I::here(&shared);
    Workload::timed(I::NAME, TOWERS * HEIGHT, make, |pools| {
        for _ in 0..TOWERS {
            pools.nested(|pools| tower(pools, HEIGHT));
        }
    })
}

pub fn nested() -> [Scenario; 2] {
    [
        Scenario {
            id: "nested-empty",
            title: "Empty pools in a pool",
            what: "Each thread opens a pool inside its pool and closes it without adding objects. \
                   An operation is one such pool.",
            remarks: "A pool takes objects of any type, and a mark in a vector those of one type.",
            helpers: 0,
            peak: false,
            contestants: with_pools!(empty(): Created, Cocos, Arcs, ByMutex, ByDashMap),
        },
        Scenario {
            id: "nested-deep",
            title: "Pools in pools, 8 deep, an object in each",
            what: "Each thread opens a pool, creates an object in it, opens an inner pool, and so \
                   on until 8 are open; then it closes all. An operation is one pool and its object.",
            remarks: "A pool takes objects of any type, and a mark in a vector those of one type.",
            helpers: 0,
            peak: false,
            contestants: with_pools!(towers(): Created, Autoreleased, Cocos, Arcs, Triomphes, Arena, Keys,
                ByMutex, ByDashMap, Basedrop),
        },
    ]
}

// --- short threads -------------------------------------------------------------

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

pub fn threads() -> Scenario {
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
