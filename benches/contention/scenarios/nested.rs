//! Nested pools with few objects or none.

use crate::pools::Pools;
use crate::pools::arenas::{Arena, Keys};
use crate::pools::cocos::Cocos;
use crate::pools::deferred::Basedrop;
use crate::pools::locked::{ByDashMap, ByMutex};
use crate::pools::ours::{Autoreleased, Created};
use crate::pools::vectors::{Arcs, Triomphes};
use crate::scenario::{Scenario, with_pools};
use releasepool_benches::objects::Payload;
use releasepool_benches::workload::Workload;
use std::sync::Arc;

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

pub fn all() -> [Scenario; 2] {
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
