//! Slots and the crates that are their newest rivals: loads for one use, loads by a cache, and stores.
//!
//! The objects of kovan are the values of its own nodes, without a count; those of hazarc are `Arc`s.

use crate::objects::{Dropping as Object, Payload};
use crate::sharing::{USES, new_slot, new_swap, uses};
use crate::workload::{Workload, repeated};
use arc_swap::ArcSwap;
use hazarc::AtomicArc;
use kovan::Atom;
use releasepool::{Slot, SlotCache};
use std::hint::black_box;
use std::sync::{Arc, LazyLock};

fn new_atomic_arc() -> AtomicArc<Object> {
    AtomicArc::from(Object::new(1))
}

// --- loads ---------------------------------------------------------------------

static ATOMIC: LazyLock<AtomicArc<Object>> = LazyLock::new(new_atomic_arc);

/// Returns loads of a borrow from hazarc.
pub fn hazarc_load() -> Workload {
    uses("hazarc, load", || black_box(&*ATOMIC).load().touch())
}

/// Returns loads of a counted reference from hazarc.
pub fn hazarc_load_owned() -> Workload {
    uses("hazarc, load_owned", || {
        black_box(&*ATOMIC).load_owned().touch()
    })
}

/// Returns loads of a guard from kovan.
pub fn kovan_load() -> Workload {
    static ATOM: LazyLock<Atom<Object>> = LazyLock::new(|| Atom::new(Object::new(1)));
    uses("kovan, load", || black_box(&*ATOM).load().touch())
}

/// Returns loads of a counted reference from kovan.
pub fn kovan_load_clone() -> Workload {
    static ATOM: LazyLock<Atom<Arc<Object>>> =
        LazyLock::new(|| Atom::new(Arc::new(Object::new(1))));
    uses("kovan Atom<Arc>, load_clone", || {
        black_box(&*ATOM).load_clone().touch()
    })
}

/// Returns loads from a slot for one use each, without a pool.
pub fn slot_with() -> Workload {
    static SLOT: LazyLock<Slot<Object>> = LazyLock::new(new_slot);
    uses("slot.with", || black_box(&*SLOT).with(Object::touch))
}

// --- loads by a cache ----------------------------------------------------------

/// Returns loads from a slot by a cache, while nothing is stored.
pub fn slot_cache() -> Workload {
    static SLOT: LazyLock<Slot<Object>> = LazyLock::new(new_slot);
    let make = || SlotCache::new(&*SLOT);
    Workload::timed("SlotCache::load", USES, make, |cache| {
        for _ in 0..USES {
            black_box(&mut *cache).load().touch();
        }
    })
}

/// Returns loads from an arc-swap by a cache, while nothing is stored.
pub fn arc_swap_cache() -> Workload {
    static SWAP: LazyLock<ArcSwap<Object>> = LazyLock::new(new_swap);
    let make = || arc_swap::cache::Cache::new(&*SWAP);
    Workload::timed("arc-swap, Cache::load", USES, make, |cache| {
        for _ in 0..USES {
            black_box(&mut *cache).load().touch();
        }
    })
}

/// Returns loads from hazarc by a cache, while nothing is stored.
pub fn hazarc_cache() -> Workload {
    let make = || hazarc::Cache::new(&*ATOMIC);
    Workload::timed("hazarc, Cache::load", USES, make, |cache| {
        for _ in 0..USES {
            black_box(&mut *cache).load().touch();
        }
    })
}

// --- stores --------------------------------------------------------------------

/// Returns stores to hazarc, which release the old objects at once, unless they are borrowed.
pub fn hazarc_store() -> Workload {
    static ATOMIC: LazyLock<AtomicArc<Object>> = LazyLock::new(new_atomic_arc);
    repeated(
        "hazarc, store",
        USES,
        || (),
        |(), seed| {
            ATOMIC.store(Arc::new(Object::new(seed)));
        },
    )
}

/// Returns stores to kovan, which destroys the old objects in batches.
pub fn kovan_store() -> Workload {
    static ATOM: LazyLock<Atom<Object>> = LazyLock::new(|| Atom::new(Object::new(1)));
    repeated(
        "kovan, store",
        USES,
        || (),
        |(), seed| {
            ATOM.store(Object::new(seed));
        },
    )
}
