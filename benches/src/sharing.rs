//! Objects that several threads use: a pointer that all of them read, and one hot object.

use crate::handing::collector;
use crate::objects::{Dropping as Object, Payload};
use crate::workload::{Role, Workload, repeated};
use arc_swap::ArcSwap;
use basedrop::{Shared, SharedCell};
use crossbeam_epoch as epoch;
use parking_lot::RwLock as ParkingLot;
use releasepool::{AutoreleasePool, Hot, HotRef, Ref, Slot, autoreleasepool};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, RwLock};
use std::thread;
use std::time::Duration;

/// Loads between two drains of a pool, unless a workload says otherwise.
pub const USES: u64 = 100;

/// Repeats an operation that needs no state of the thread.
pub(crate) fn uses(
    name: &'static str,
    operation: impl Fn() + Copy + Send + Sync + 'static,
) -> Workload {
    repeated(name, USES, || (), move |(), _| operation())
}

pub(crate) fn new_slot() -> Slot<Object> {
    Slot::new(Ref::new(Object::new(1)))
}

pub(crate) fn new_swap() -> ArcSwap<Object> {
    ArcSwap::from_pointee(Object::new(1))
}

fn new_lock() -> RwLock<Arc<Object>> {
    RwLock::new(Arc::new(Object::new(1)))
}

// --- loads ---------------------------------------------------------------------

/// Returns loads from a slot by a pool, which is drained after `uses` loads. They count nothing.
pub fn slot_load(uses: u64) -> Workload {
    static SLOT: LazyLock<Slot<Object>> = LazyLock::new(new_slot);
    let name = format!("slot.load(&pool), drained after {uses}");
    Workload::timed(name, uses, AutoreleasePool::new, move |pool| {
        for _ in 0..uses {
            black_box(&*SLOT).load(pool).touch();
        }
        pool.drain();
    })
}

/// Returns loads of a counted reference from a slot.
pub fn slot_load_full() -> Workload {
    static SLOT: LazyLock<Slot<Object>> = LazyLock::new(new_slot);
    uses("slot.load_full()", || black_box(&*SLOT).load_full().touch())
}

static SWAP: LazyLock<ArcSwap<Object>> = LazyLock::new(new_swap);

/// Returns loads of a guard from arc-swap.
pub fn arc_swap_load() -> Workload {
    uses("arc-swap, load", || black_box(&*SWAP).load().touch())
}

/// Returns loads of a counted reference from arc-swap.
pub fn arc_swap_load_full() -> Workload {
    uses("arc-swap, load_full", || {
        black_box(&*SWAP).load_full().touch()
    })
}

/// Returns clones from behind the lock of the standard library.
pub fn rw_lock() -> Workload {
    static LOCK: LazyLock<RwLock<Arc<Object>>> = LazyLock::new(new_lock);
    uses("RwLock<Arc>, read and clone", || {
        let object = LOCK.read().expect("no thread panicked").clone();
        object.touch();
    })
}

/// Returns clones from behind parking_lot's lock.
pub fn parking_lot() -> Workload {
    static LOCK: LazyLock<ParkingLot<Arc<Object>>> =
        LazyLock::new(|| ParkingLot::new(Arc::new(Object::new(1))));
    uses("parking_lot::RwLock<Arc>, read and clone", || {
        let object = LOCK.read().clone();
        object.touch();
    })
}

static ATOMIC: LazyLock<epoch::Atomic<Object>> =
    LazyLock::new(|| epoch::Atomic::new(Object::new(1)));

fn load_atomic(guard: &epoch::Guard) {
    let shared = black_box(&*ATOMIC).load(Ordering::Acquire, guard);
    // SAFETY: the pointer is not null, and the object is never replaced or destroyed.
    let object = unsafe { shared.deref() };
    object.touch();
}

/// Returns loads with one guard of crossbeam-epoch for each.
pub fn epoch_atomic() -> Workload {
    uses("crossbeam-epoch Atomic, pin each", || {
        load_atomic(&epoch::pin())
    })
}

/// Returns loads with one guard of crossbeam-epoch for many, like a pool of releasepool.
pub fn epoch_atomic_pinned() -> Workload {
    let name = format!("crossbeam-epoch Atomic, pin every {USES}");
    Workload::timed(
        name,
        USES,
        || (),
        |()| {
            let guard = epoch::pin();
            for _ in 0..USES {
                load_atomic(&guard);
            }
        },
    )
}

/// Returns loads of a counted reference from basedrop's cell.
pub fn basedrop_load() -> Workload {
    static CELL: LazyLock<SharedCell<Object>> = LazyLock::new(|| {
        let handle = collector().handle();
        SharedCell::new(Shared::new(&handle, Object::new(1)))
    });
    uses("basedrop SharedCell, get", || {
        black_box(&*CELL).get().touch()
    })
}

// --- stores --------------------------------------------------------------------

/// Returns stores to a slot, and the release of the old objects.
pub fn slot_store() -> Workload {
    static SLOT: LazyLock<Slot<Object>> = LazyLock::new(new_slot);
    let name = "slot.store, drained after 100";
    Workload::timed(
        name,
        USES,
        || (),
        |()| {
            for seed in 0..USES {
                SLOT.store(Ref::new(Object::new(seed)));
            }
            autoreleasepool(|_| ());
        },
    )
}

/// Returns stores to arc-swap, which may wait for readers.
pub fn arc_swap_store() -> Workload {
    static SWAP: LazyLock<ArcSwap<Object>> = LazyLock::new(new_swap);
    repeated(
        "arc-swap, store",
        USES,
        || (),
        |(), seed| {
            SWAP.store(Arc::new(Object::new(seed)));
        },
    )
}

/// Returns stores behind the lock of the standard library.
pub fn rw_lock_store() -> Workload {
    static LOCK: LazyLock<RwLock<Arc<Object>>> = LazyLock::new(new_lock);
    repeated(
        "RwLock<Arc>, write",
        USES,
        || (),
        |(), seed| {
            *LOCK.write().expect("no thread panicked") = Arc::new(Object::new(seed));
        },
    )
}

// --- a hot object --------------------------------------------------------------

/// Returns uses of an object that is counted once for `uses` uses.
pub fn hot_pool_ref(uses: u64) -> Workload {
    static HOT: LazyLock<Ref<Object>> = LazyLock::new(|| Ref::new(Object::new(1)));
    let name = format!("PoolRef, autoreleased once for {uses} uses");
    Workload::timed(name, uses, AutoreleasePool::new, move |pool| {
        let lent = pool.autorelease(HOT.clone());
        for _ in 0..uses {
            let copy = black_box(lent);
            copy.touch();
        }
        pool.drain();
    })
}

/// Returns uses of an object that is counted for each use.
pub fn hot_arc() -> Workload {
    static HOT: LazyLock<Arc<Object>> = LazyLock::new(|| Arc::new(Object::new(1)));
    uses("Arc, clone and drop each", || {
        let clone = black_box(HOT.clone());
        clone.touch();
    })
}

/// Returns uses of an object that is counted for each use by releasepool.
pub fn shared_ref() -> Workload {
    static HOT: LazyLock<Ref<Object>> = LazyLock::new(|| Ref::new(Object::new(1)));
    uses("Ref, clone and drop each", || {
        let clone = black_box(HOT.clone());
        clone.touch();
    })
}

static HOT: LazyLock<Hot<Object>> =
    LazyLock::new(|| Hot::try_new(Ref::new(Object::new(1))).expect("there is room"));

/// Returns uses of an object that is counted for each use, in the thread's own memory.
pub fn hot_ref() -> Workload {
    let name = "HotRef, clone and drop each";
    repeated(
        name,
        USES,
        || HOT.get(),
        |hot, _| {
            let clone = black_box(HotRef::clone(hot));
            clone.touch();
        },
    )
}

/// Returns pools with one object, each after the drop of a reference to a hot object, whose owner is
/// there; and the same without that.
pub fn pools_after_hot_refs() -> [Workload; 2] {
    let one = |pool: AutoreleasePool, seed| {
        pool.create(Object::new(seed)).touch();
    };
    let hot = || HOT.get();
    [
        repeated("HotRef dropped, pool of 1", USES, hot, move |hot, seed| {
            drop(black_box(HotRef::clone(hot)));
            one(AutoreleasePool::new(), seed);
        }),
        repeated("pool of 1", USES, hot, move |_, seed| {
            one(AutoreleasePool::new(), seed);
        })
        .role(Role::Ours),
    ]
}

// --- loads beside a writer -----------------------------------------------------

/// A thread that stores every 100 µs until this is dropped.
struct Writer(Arc<AtomicBool>, Option<thread::JoinHandle<()>>);

impl Writer {
    fn spawn(store: impl Fn() + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        let thread = thread::spawn(move || {
            while !flag.load(Ordering::Relaxed) {
                store();
                thread::sleep(Duration::from_micros(100));
            }
        });
        Self(stop, Some(thread))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        if let Some(thread) = self.1.take() {
            thread.join().expect("the writer does not panic");
        }
    }
}

/// Returns loads from a slot to which another thread stores.
pub fn slot_load_beside_a_writer() -> Workload {
    let make = || {
        let slot = Arc::new(new_slot());
        let to = slot.clone();
        let writer = Writer::spawn(move || to.store(Ref::new(Object::new(2))));
        (slot, AutoreleasePool::new(), writer)
    };
    let name = "slot.load(&pool), 100 per pool, one stores every 100 µs";
    Workload::timed(name, USES, make, |(slot, pool, _)| {
        for _ in 0..USES {
            black_box(&**slot).load(pool).touch();
        }
        pool.drain();
    })
}

/// Returns loads from an arc-swap to which another thread stores.
pub fn arc_swap_load_beside_a_writer() -> Workload {
    let make = || {
        let swap = Arc::new(new_swap());
        let to = swap.clone();
        let writer = Writer::spawn(move || to.store(Arc::new(Object::new(2))));
        (swap, writer)
    };
    let name = "arc-swap, load, one stores every 100 µs";
    repeated(name, USES, make, |(swap, _), _| {
        black_box(&**swap).load().touch()
    })
}
