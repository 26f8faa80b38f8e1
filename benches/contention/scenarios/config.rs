//! A pointer that all read and somebody replaces now and then.

use crate::pools::deferred::Garbage;
use crate::scenario::{Contestant, Scenario, contestant};
use arc_swap::ArcSwap;
use basedrop::{Handle, Shared, SharedCell};
use crossbeam_epoch::{self as epoch, Atomic, Owned};
use parking_lot::RwLock;
use releasepool::{AutoreleasePool, Ref, Slot};
use releasepool_benches::objects::Payload;
use releasepool_benches::results::Role;
use releasepool_benches::workload::{Workload, timed};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Loads for which a pool is opened, or a guard.
const LOADS: u64 = 100;
/// Frames of so many loads from one store of a thread to its next.
const FRAMES: u64 = 100;

/// Calls `store` in the first of each [`FRAMES`].
fn seldom(mut store: impl FnMut(u64)) -> impl FnMut() {
    let mut frame = 0;
    move || {
        if frame % FRAMES == 0 {
            store(frame);
        }
        frame += 1;
    }
}

fn slot<P: Payload>() -> Workload {
    let slot = Arc::new(Slot::new(Ref::new(P::new(1))));
    Workload::new("", LOADS, move || {
        let slot = slot.clone();
        let to = slot.clone();
        let mut store = seldom(move |seed| to.store(Ref::new(P::new(seed))));
        let mut pool = AutoreleasePool::new();
        timed(move || {
            store();
            for _ in 0..LOADS {
                black_box(&*slot).load(&pool).touch();
            }
            pool.drain();
        })
    })
}

fn slot_full<P: Payload>() -> Workload {
    let slot = Arc::new(Slot::new(Ref::new(P::new(1))));
    Workload::new("", LOADS, move || {
        let slot = slot.clone();
        let to = slot.clone();
        let mut store = seldom(move |seed| to.store(Ref::new(P::new(seed))));
        timed(move || {
            store();
            for _ in 0..LOADS {
                black_box(&*slot).load_full().touch();
            }
        })
    })
}

fn swap<P: Payload>(full: bool) -> Workload {
    let swap = Arc::new(ArcSwap::from_pointee(P::new(1)));
    Workload::new("", LOADS, move || {
        let swap = swap.clone();
        let to = swap.clone();
        let mut store = seldom(move |seed| to.store(Arc::new(P::new(seed))));
        if full {
            timed(move || {
                store();
                for _ in 0..LOADS {
                    black_box(&*swap).load_full().touch();
                }
            })
        } else {
            timed(move || {
                store();
                for _ in 0..LOADS {
                    black_box(&*swap).load().touch();
                }
            })
        }
    })
}

fn lock<P: Payload>() -> Workload {
    let lock = Arc::new(RwLock::new(Arc::new(P::new(1))));
    Workload::new("", LOADS, move || {
        let lock = lock.clone();
        let to = lock.clone();
        let mut store = seldom(move |seed| {
            let new = Arc::new(P::new(seed));
            // The old one is dropped outside.
            let _old = std::mem::replace(&mut *to.write(), new);
        });
        timed(move || {
            store();
            for _ in 0..LOADS {
                let object = black_box(&*lock).read().clone();
                object.touch();
            }
        })
    })
}

/// Destroys what it has when it goes.
struct Guarded<P: Payload>(Atomic<P>);

impl<P: Payload> Guarded<P> {
    fn store(&self, value: P) {
        let guard = epoch::pin();
        let old = self.0.swap(Owned::new(value), Ordering::AcqRel, &guard);
        // SAFETY: nobody finds it any more.
        unsafe { guard.defer_destroy(old) };
    }

    fn load(&self, guard: &epoch::Guard) {
        let shared = black_box(&self.0).load(Ordering::Acquire, guard);
        // SAFETY: it is never null, and destroyed only when the guard is gone.
        unsafe { shared.deref() }.touch();
    }
}

impl<P: Payload> Drop for Guarded<P> {
    fn drop(&mut self) {
        // SAFETY: nobody else has it any more.
        unsafe { std::mem::replace(&mut self.0, Atomic::null()).try_into_owned() };
    }
}

fn guarded<P: Payload>(each: bool) -> Workload {
    let pointer = Arc::new(Guarded(Atomic::new(P::new(1))));
    Workload::new("", LOADS, move || {
        let pointer = pointer.clone();
        let to = pointer.clone();
        let mut store = seldom(move |seed| to.store(P::new(seed)));
        if each {
            timed(move || {
                store();
                for _ in 0..LOADS {
                    pointer.load(&epoch::pin());
                }
            })
        } else {
            timed(move || {
                store();
                let guard = epoch::pin();
                for _ in 0..LOADS {
                    pointer.load(&guard);
                }
            })
        }
    })
}

/// Dropped before the collector, which destroys what was in it.
struct Cell<P: Payload> {
    cell: SharedCell<P>,
    handle: Handle,
    garbage: Garbage,
}

fn basedrop<P: Payload>() -> Workload {
    let garbage = Garbage::default();
    let handle = garbage.handle();
    let all = Arc::new(Cell {
        cell: SharedCell::new(Shared::new(&handle, P::new(1))),
        handle,
        garbage,
    });
    Workload::new("", LOADS, move || {
        let all = all.clone();
        let to = all.clone();
        let handle = to.handle.clone();
        let mut store = seldom(move |seed| {
            to.cell.set(Shared::new(&handle, P::new(seed)));
            to.garbage.collect_all();
        });
        timed(move || {
            store();
            for _ in 0..LOADS {
                black_box(&all.cell).get().touch();
            }
        })
    })
}

fn contestants() -> Vec<Contestant> {
    let mut all = vec![
        contestant!("releasepool (slot)", Role::Ours, slot())
            .note("slot.load(&pool), drained after 100 loads; not counted"),
        contestant!("releasepool (load_full)", Role::Ours, slot_full())
            .note("slot.load_full(), counted"),
        contestant!("arc-swap", Role::Peer, swap(false)).note("load, a guard"),
        contestant!("arc-swap, load_full", Role::Peer, swap(true)).note("counted"),
        contestant!("RwLock of Arc", Role::Peer, lock()).note("parking_lot's; read and clone"),
        contestant!("crossbeam-epoch", Role::Peer, guarded(false))
            .note("Atomic, pinned once for 100 loads; not counted"),
        contestant!("crossbeam-epoch, pin each", Role::Peer, guarded(true))
            .note("Atomic, pinned for each load; not counted"),
    ];
    // Its readers and writers agree by what x86 does anyway (basedrop's issue 10);
    // elsewhere a reader may find what was destroyed.
    if cfg!(target_arch = "x86_64") {
        all.push(
            contestant!("basedrop", Role::Peer, basedrop())
                .note("SharedCell, counted; who stores runs the collector"),
        );
    }
    all
}

pub fn scenario() -> Scenario {
    Scenario {
        id: "config",
        title: "Configuration that all read and few replace",
        what: "All threads load the same pointer, look at the object, and go on; after 10,000 loads \
               a thread stores a new object. An operation is one load.",
        lesson: "Load from a slot by the pool that is open anyway: several times as cheap as \
                arc-swap's guard, and nearly the same for two threads. Whatever counts \
                (load_full, ours too, and locks) gets slower with every thread. crossbeam-epoch \
                pinned by hand is cheaper than the slot, most of all with more threads than \
                processors; it needs unsafe code, and lends nothing that could be kept.",
        helpers: 0,
        countable: true,
        peak: false,
        contestants: contestants(),
    }
}
