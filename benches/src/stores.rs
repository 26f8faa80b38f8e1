//! Stores into a pointer that several threads use, and the release of what they replace.
//!
//! hazarc releases an object at once unless it is borrowed, kovan in batches; arc-swap may wait for readers.

use crate::objects::{Dropping as Object, POOL, Payload};
use crate::sharing::{BEST, Beside, Compared, USES, compared, pause, shared};
use crate::table::Target;
use crate::workload::{Role, Workload, repeated};
use arc_swap::ArcSwap;
use hazarc::AtomicArc;
use kovan::Atom;
use releasepool::{AutoreleasePool, Ref, Slot, autoreleasepool};
use std::sync::{Arc, LazyLock, RwLock};

fn new_ref(seed: u64) -> Ref<Object> {
    Ref::new(Object::new(seed))
}

fn new_arc(seed: u64) -> Arc<Object> {
    Arc::new(Object::new(seed))
}

shared! {
    SLOT: Slot<Object> = Slot::new(new_ref(1));
    SWAP: ArcSwap<Object> = ArcSwap::new(new_arc(1));
    HAZARC: AtomicArc<Object> = AtomicArc::new(new_arc(1));
    KOVAN: Atom<Object> = Atom::new(Object::new(1));
    LOCK: RwLock<Arc<Object>> = RwLock::new(new_arc(1));
}

/// A name, and an operation that makes a new object from a seed.
type Operation = (&'static str, fn(u64));

/// What a measured thread has beside it: a reader, or nothing.
type Neighbor = fn() -> Option<Beside>;

const STORES: [Operation; 4] = [
    ("slot.store", |n| SLOT.store(new_ref(n))),
    ("arc-swap, store", |n| SWAP.store(new_arc(n))),
    ("hazarc, store", |n| HAZARC.store(new_arc(n))),
    ("kovan, store", |n| KOVAN.store(Object::new(n))),
];

const SWAPS: [Operation; 4] = [
    ("slot.swap", |n| drop(SLOT.swap(new_ref(n)))),
    ("arc-swap, swap", |n| drop(SWAP.swap(new_arc(n)))),
    ("hazarc, swap", |n| drop(HAZARC.swap(new_arc(n)))),
    ("kovan, swap", |n| drop(KOVAN.swap(Object::new(n)))),
];

const UPDATES: [Operation; 4] = [
    ("slot.rcu", |n| drop(SLOT.rcu(|old| Ref::new(next(old, n))))),
    ("arc-swap, rcu", |n| drop(SWAP.rcu(|old| next(old, n)))),
    ("hazarc, fetch_update", |n| {
        drop(HAZARC.fetch_update(|old| Some(Arc::new(next(old, n)))));
    }),
    ("kovan, rcu", |n| KOVAN.rcu(|old| next(old, n))),
];

fn next(old: &Object, seed: u64) -> Object {
    old.touch();
    Object::new(seed)
}

const ALONE: [Neighbor; 4] = [|| None; 4];

/// Readers that always hold an object, each for 100 µs: short, so that most of what waits for a reader is
/// released in the sample in which it was replaced.
const READERS: [Neighbor; 4] = [
    || Some(Beside::spawn(|| SLOT.with(|_| pause()))),
    || Some(Beside::spawn(|| pause_with(SWAP.load()))),
    || Some(Beside::spawn(|| pause_with(HAZARC.load()))),
    || Some(Beside::spawn(|| pause_with(KOVAN.load()))),
];

fn pause_with(_guard: impl Sized) {
    pause();
}

/// Returns workloads that repeat operations; the first, on a slot, has a drain after each `after`.
fn repeat(after: u64, operations: [Operation; 4], neighbors: [Neighbor; 4]) -> Vec<Workload> {
    let repeat = |(at, ((name, operation), neighbor)): (usize, (Operation, Neighbor))| {
        Workload::timed(name, after, neighbor, move |_| {
            (0..after).for_each(operation);
            if at == 0 {
                autoreleasepool(|_| ());
            }
        })
    };
    let each = operations.into_iter().zip(neighbors).enumerate();
    let mut works: Vec<_> = each.map(repeat).collect();
    works[0].name += &format!(", drained after {after}");
    works
}

/// Returns frames that fill a pool, store one more object, and drain the pool. The last store none.
fn frames() -> Compared {
    let frame = |(name, store): Operation| {
        Workload::timed(name, 1, AutoreleasePool::new, move |pool| {
            for seed in 0..POOL {
                pool.create(Object::new(seed));
            }
            store(POOL);
            pool.drain();
        })
    };
    let nothing = frame(("nothing stored", |_| ())).role(Role::Reference);
    let frames: Vec<_> = STORES.map(frame).into_iter().chain([nothing]).collect();
    compared(Target::None, &frames)
}

/// Returns the titles of rows, and what they compare.
pub fn all() -> [(&'static str, Compared); 7] {
    let stores = |after| compared(BEST, &repeat(after, STORES, ALONE));
    let others = |operations, beside| compared(Target::None, &repeat(USES, operations, beside));
    let mut usual = stores(USES);
    let write = |(): &(), n| *LOCK.write().expect("no thread panicked") = new_arc(n);
    let lock = repeated("RwLock<Arc>, write", USES, || (), write);
    usual.1.push((Target::None, lock));
    [
        ("stores", usual),
        ("stores, a drain after each", stores(1)),
        ("stores, a drain after 10,000", stores(10_000)),
        ("stores beside a stalled reader", others(STORES, READERS)),
        ("swaps", others(SWAPS, ALONE)),
        ("read, copy, update", others(UPDATES, ALONE)),
        ("frames of 1,000 objects with a store", frames()),
    ]
}
