//! Objects that several threads use: a pointer that is read by all, and one hot object.

use crate::handing::collector;
use crate::objects::{Dropping as Object, Payload};
use crate::workload::{Workload, timed};
use arc_swap::ArcSwap;
use basedrop::{Shared, SharedCell};
use crossbeam_epoch as epoch;
use parking_lot::RwLock as ParkingLot;
use releasepool::{AutoreleasePool, Ref, Slot, autoreleasepool};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, RwLock};
use std::thread;
use std::time::Duration;

/// Loads between two drains of a pool, unless something else is said.
pub const USES: u64 = 100;

// --- loads ---------------------------------------------------------------------

/// Ours: no count is touched, but the pool has to be drained.
pub fn slot_load(uses: u64) -> Workload {
    static SLOT: LazyLock<Slot<Object>> = LazyLock::new(|| Slot::new(Ref::new(Object::new(1))));
    let name = format!("slot.load(&pool), drained after {uses}");
    Workload::new(name, uses, move || {
        let mut pool = AutoreleasePool::new();
        timed(move || {
            for _ in 0..uses {
                black_box(&*SLOT).load(&pool).touch();
            }
            pool.drain();
        })
    })
}

/// Ours, counted.
pub fn slot_load_full() -> Workload {
    static SLOT: LazyLock<Slot<Object>> = LazyLock::new(|| Slot::new(Ref::new(Object::new(1))));
    Workload::new("slot.load_full()", USES, || {
        timed(|| {
            for _ in 0..USES {
                black_box(&*SLOT).load_full().touch();
            }
        })
    })
}

static SWAP: LazyLock<ArcSwap<Object>> = LazyLock::new(|| ArcSwap::from_pointee(Object::new(1)));

/// By a guard.
pub fn arc_swap_load() -> Workload {
    Workload::new("arc-swap, load", USES, || {
        timed(|| {
            for _ in 0..USES {
                black_box(&*SWAP).load().touch();
            }
        })
    })
}

/// Counted.
pub fn arc_swap_load_full() -> Workload {
    Workload::new("arc-swap, load_full", USES, || {
        timed(|| {
            for _ in 0..USES {
                black_box(&*SWAP).load_full().touch();
            }
        })
    })
}

/// The standard library's lock.
pub fn rw_lock() -> Workload {
    static LOCK: LazyLock<RwLock<Arc<Object>>> =
        LazyLock::new(|| RwLock::new(Arc::new(Object::new(1))));
    Workload::new("RwLock<Arc>, read and clone", USES, || {
        timed(|| {
            for _ in 0..USES {
                let object = LOCK.read().expect("no panic").clone();
                object.touch();
            }
        })
    })
}

/// The other lock.
pub fn parking_lot() -> Workload {
    static LOCK: LazyLock<ParkingLot<Arc<Object>>> =
        LazyLock::new(|| ParkingLot::new(Arc::new(Object::new(1))));
    Workload::new("parking_lot::RwLock<Arc>, read and clone", USES, || {
        timed(|| {
            for _ in 0..USES {
                let object = LOCK.read().clone();
                object.touch();
            }
        })
    })
}

static ATOMIC: LazyLock<epoch::Atomic<Object>> =
    LazyLock::new(|| epoch::Atomic::new(Object::new(1)));

fn load_atomic(guard: &epoch::Guard) {
    let shared = black_box(&*ATOMIC).load(Ordering::Acquire, guard);
    // SAFETY: nothing is ever put in its place.
    let object = unsafe { shared.deref() };
    object.touch();
}

/// A guard for each load.
pub fn epoch_atomic() -> Workload {
    Workload::new("crossbeam-epoch Atomic, pin each", USES, || {
        timed(|| {
            for _ in 0..USES {
                load_atomic(&epoch::pin());
            }
        })
    })
}

/// A guard for many loads, as our pool is one.
pub fn epoch_atomic_pinned() -> Workload {
    let name = format!("crossbeam-epoch Atomic, pin every {USES}");
    Workload::new(name, USES, || {
        timed(|| {
            let guard = epoch::pin();
            for _ in 0..USES {
                load_atomic(&guard);
            }
        })
    })
}

/// Counted.
pub fn basedrop_load() -> Workload {
    static CELL: LazyLock<SharedCell<Object>> = LazyLock::new(|| {
        let handle = collector().handle();
        SharedCell::new(Shared::new(&handle, Object::new(1)))
    });
    Workload::new("basedrop SharedCell, get", USES, || {
        timed(|| {
            for _ in 0..USES {
                black_box(&*CELL).get().touch();
            }
        })
    })
}

// --- stores --------------------------------------------------------------------

/// Ours.
pub fn slot_store() -> Workload {
    static SLOT: LazyLock<Slot<Object>> = LazyLock::new(|| Slot::new(Ref::new(Object::new(1))));
    Workload::new("slot.store, drained after 100", USES, || {
        timed(|| {
            for seed in 0..USES {
                SLOT.store(Ref::new(Object::new(seed)));
            }
            autoreleasepool(|_| ());
        })
    })
}

/// Waits for readers, if it must.
pub fn arc_swap_store() -> Workload {
    static SWAP: LazyLock<ArcSwap<Object>> =
        LazyLock::new(|| ArcSwap::from_pointee(Object::new(1)));
    Workload::new("arc-swap, store", USES, || {
        timed(|| {
            for seed in 0..USES {
                SWAP.store(Arc::new(Object::new(seed)));
            }
        })
    })
}

/// By the standard library's lock.
pub fn rw_lock_store() -> Workload {
    static LOCK: LazyLock<RwLock<Arc<Object>>> =
        LazyLock::new(|| RwLock::new(Arc::new(Object::new(1))));
    Workload::new("RwLock<Arc>, write", USES, || {
        timed(|| {
            for seed in 0..USES {
                *LOCK.write().expect("no panic") = Arc::new(Object::new(seed));
            }
        })
    })
}

// --- a hot object --------------------------------------------------------------

/// Counted once, used often.
pub fn hot_pool_ref(uses: u64) -> Workload {
    static HOT: LazyLock<Ref<Object>> = LazyLock::new(|| Ref::new(Object::new(1)));
    let name = format!("PoolRef, autoreleased once for {uses} uses");
    Workload::new(name, uses, move || {
        let mut pool = AutoreleasePool::new();
        timed(move || {
            let lent = pool.autorelease(HOT.clone());
            for _ in 0..uses {
                let copy = black_box(lent);
                copy.touch();
            }
            pool.drain();
        })
    })
}

/// Counted for each use.
pub fn hot_arc() -> Workload {
    static HOT: LazyLock<Arc<Object>> = LazyLock::new(|| Arc::new(Object::new(1)));
    Workload::new("Arc, clone and drop each", USES, || {
        timed(|| {
            for _ in 0..USES {
                let clone = black_box(HOT.clone());
                clone.touch();
            }
        })
    })
}

/// A thread that does something all the time, until this is dropped.
struct Meanwhile(Arc<AtomicBool>, Option<thread::JoinHandle<()>>);

impl Meanwhile {
    fn spawn(turn: impl Fn() + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        let thread = thread::spawn(move || {
            while !flag.load(Ordering::Relaxed) {
                turn();
                thread::sleep(Duration::from_micros(100));
            }
        });
        Self(stop, Some(thread))
    }
}

impl Drop for Meanwhile {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        if let Some(thread) = self.1.take() {
            thread.join().expect("no panic");
        }
    }
}

/// While another thread stores.
pub fn slot_load_beside_a_writer() -> Workload {
    let name = "slot.load(&pool), 100 per pool, one stores every 100 µs";
    Workload::new(name, USES, || {
        let slot = Arc::new(Slot::new(Ref::new(Object::new(1))));
        let writer = {
            let slot = slot.clone();
            Meanwhile::spawn(move || slot.store(Ref::new(Object::new(2))))
        };
        let mut pool = AutoreleasePool::new();
        timed(move || {
            let _running = &writer;
            for _ in 0..USES {
                black_box(&*slot).load(&pool).touch();
            }
            pool.drain();
        })
    })
}

/// While another thread stores.
pub fn arc_swap_load_beside_a_writer() -> Workload {
    Workload::new("arc-swap, load, the same", USES, || {
        let swap = Arc::new(ArcSwap::from_pointee(Object::new(1)));
        let writer = {
            let swap = swap.clone();
            Meanwhile::spawn(move || swap.store(Arc::new(Object::new(2))))
        };
        timed(move || {
            let _running = &writer;
            for _ in 0..USES {
                black_box(&*swap).load().touch();
            }
        })
    })
}
