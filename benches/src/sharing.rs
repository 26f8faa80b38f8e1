//! Objects that several threads use: a pointer that all of them read, and one hot object.
//!
//! The objects of kovan are the values of its own nodes, without a count; those of hazarc are `Arc`s.

use crate::handing::collector;
use crate::objects::{Dropping as Object, Payload};
use crate::table::Target;
use crate::workload::{Role, Workload, repeated};
use arc_swap::ArcSwap;
use basedrop::{Shared, SharedCell};
use crossbeam_epoch as epoch;
use hazarc::AtomicArc;
use kovan::Atom;
use parking_lot::RwLock as ParkingLot;
use releasepool::slot::SlotCache;
use releasepool::{AutoreleasePool, Hot, HotRef, Ref, Slot};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, RwLock};
use std::thread;
use std::time::Duration;
use trc::{SharedTrc, Trc};

/// Loads between two drains of a pool, unless a workload says otherwise.
pub const USES: u64 = 100;

/// Repeats an operation that needs no state of the thread.
fn uses(name: &str, operation: impl Fn() + Copy + Send + Sync + 'static) -> Workload {
    repeated(name, USES, || (), move |(), _| operation())
}

fn object() -> Object {
    Object::new(1)
}

fn new_slot() -> Slot<Object> {
    Slot::new(Ref::new(object()))
}

fn new_swap() -> ArcSwap<Object> {
    ArcSwap::from_pointee(object())
}

/// Defines values that all threads share.
macro_rules! shared {
    ($($name:ident: $type:ty = $new:expr;)*) => {
        $(static $name: LazyLock<$type> = LazyLock::new(|| $new);)*
    };
}
pub(crate) use shared;

// Pointers that are only read.
shared! {
    SLOT: Slot<Object> = new_slot();
    SWAP: ArcSwap<Object> = new_swap();
    HAZARC: AtomicArc<Object> = AtomicArc::from(object());
    KOVAN: Atom<Object> = Atom::new(object());
    COUNTED_KOVAN: Atom<Arc<Object>> = Atom::new(Arc::new(object()));
    LOCK: RwLock<Arc<Object>> = RwLock::new(Arc::new(object()));
    PARKING_LOT: ParkingLot<Arc<Object>> = ParkingLot::new(Arc::new(object()));
    ATOMIC: epoch::Atomic<Object> = epoch::Atomic::new(object());
    CELL: SharedCell<Object> = SharedCell::new(Shared::new(&collector().handle(), object()));
}

// --- loads ---------------------------------------------------------------------

/// Returns loads from a slot by a pool, which is drained after `uses` loads. They count nothing.
pub fn slot_load(uses: u64) -> Workload {
    let name = format!("slot.load(&pool), drained after {uses}");
    Workload::timed(name, uses, AutoreleasePool::new, move |pool| {
        for _ in 0..uses {
            black_box(&*SLOT).load(pool).touch();
        }
        pool.drain();
    })
}

/// Returns loads of a guard from arc-swap.
pub fn arc_swap_load() -> Workload {
    uses("arc-swap, load", || black_box(&*SWAP).load().touch())
}

fn arc_swap_load_full() -> Workload {
    uses("arc-swap, load_full", || {
        black_box(&*SWAP).load_full().touch()
    })
}

/// Returns loads of a borrow from hazarc, and of a guard from kovan.
pub fn other_guards() -> [Workload; 2] {
    [
        uses("hazarc, load", || black_box(&*HAZARC).load().touch()),
        uses("kovan, load", || black_box(&*KOVAN).load().touch()),
    ]
}

/// Returns clones from behind the lock of the standard library.
fn rw_lock() -> Workload {
    uses("RwLock<Arc>, read and clone", || {
        let object = LOCK.read().expect("no thread panicked").clone();
        object.touch();
    })
}

fn load_atomic(guard: &epoch::Guard) {
    let shared = black_box(&*ATOMIC).load(Ordering::Acquire, guard);
    // SAFETY: the pointer is not null, and the object is never replaced or destroyed.
    let object = unsafe { shared.deref() };
    object.touch();
}

/// Returns loads with one guard of crossbeam-epoch for each.
fn epoch_atomic() -> Workload {
    uses("crossbeam-epoch Atomic, pin each", || {
        load_atomic(&epoch::pin())
    })
}

/// Returns loads with one guard of crossbeam-epoch for many, like a pool of releasepool.
pub fn epoch_atomic_pinned() -> Workload {
    let name = format!("crossbeam-epoch Atomic, pin every {USES}");
    let turn = |(): &mut ()| {
        let guard = epoch::pin();
        for _ in 0..USES {
            load_atomic(&guard);
        }
    };
    Workload::timed(name, USES, || (), turn)
}

/// Returns loads of counted references, and loads with a guard of crossbeam-epoch each.
pub fn other_loads() -> [Workload; 5] {
    [
        arc_swap_load_full(),
        rw_lock(),
        uses("parking_lot::RwLock<Arc>, read and clone", || {
            let object = PARKING_LOT.read().clone();
            object.touch();
        }),
        epoch_atomic(),
        uses("basedrop SharedCell, get", || {
            black_box(&*CELL).get().touch()
        }),
    ]
}

/// A workload of ours, and others, each with the target that ours has against it.
pub type Compared = (Workload, Vec<(Target, Workload)>);

/// The target for what is to be close to the best of several rivals.
pub const BEST: Target = Target::AtMostTheBest(1.1);

/// Compares the first workload, which is ours, with the others, all with this target.
pub fn compared(target: Target, workloads: &[Workload]) -> Compared {
    let other = |other: &Workload| (target, other.clone());
    (
        workloads[0].clone(),
        workloads[1..].iter().map(other).collect(),
    )
}

/// Returns loads for one use each.
pub fn loads_for_one_use() -> Compared {
    let ours = uses("slot.with", || black_box(&*SLOT).with(Object::touch));
    let [hazarc, kovan] = other_guards();
    let others = vec![
        (Target::AtMost(0.5), arc_swap_load()),
        (Target::AtMost(0.5), hazarc),
        (Target::AtMost(1.3), kovan),
        (Target::None, epoch_atomic()),
    ];
    (ours, others)
}

/// Returns loads by a cache, while nothing is stored.
pub fn loads_by_a_cache() -> Compared {
    /// Repeats loads by a cache, which `make` creates for a thread.
    macro_rules! cached {
        ($name:literal, $make:expr) => {
            Workload::timed(
                $name,
                USES,
                || $make,
                |cache| {
                    for _ in 0..USES {
                        black_box(&mut *cache).load().touch();
                    }
                },
            )
        };
    }
    let ours = cached!("SlotCache::load", SlotCache::new(&*SLOT));
    let swap = cached!("arc-swap, Cache::load", arc_swap::cache::Cache::new(&*SWAP));
    let hazarc = cached!("hazarc, Cache::load", hazarc::Cache::new(&*HAZARC));
    compared(BEST, &[ours, swap, hazarc])
}

/// Returns loads of counted references.
pub fn counted_loads() -> Compared {
    let ours = uses("slot.load_full()", || black_box(&*SLOT).load_full().touch());
    let hazarc = uses("hazarc, load_owned", || {
        black_box(&*HAZARC).load_owned().touch()
    });
    let kovan = uses("kovan Atom<Arc>, load_clone", || {
        black_box(&*COUNTED_KOVAN).load_clone().touch()
    });
    let mut all = compared(BEST, &[ours, arc_swap_load_full(), hazarc, kovan]);
    all.1.push((Target::None, rw_lock()));
    all
}

// --- a hot object --------------------------------------------------------------

shared! {
    HOT_REF: Ref<Object> = Ref::new(object());
    HOT_ARC: Arc<Object> = Arc::new(object());
    HOT_TRIOMPHE: triomphe::Arc<Object> = triomphe::Arc::new(object());
    HOT_TRC: SharedTrc<Object> = SharedTrc::from_trc(&Trc::new(object()));
    HOT: Hot<Object> = Hot::new(Ref::new(object()));
}

/// Returns uses of an object that is counted once for `uses` uses.
pub fn hot_pool_ref(uses: u64) -> Workload {
    let name = format!("PoolRef, autoreleased once for {uses} uses");
    Workload::timed(name, uses, AutoreleasePool::new, move |pool| {
        let lent = pool.autorelease(HOT_REF.clone());
        for _ in 0..uses {
            let copy = black_box(lent);
            copy.touch();
        }
        pool.drain();
    })
}

/// Returns uses of an object that is counted for each use.
pub fn hot_arc() -> Workload {
    uses("Arc, clone and drop each", || {
        black_box(HOT_ARC.clone()).touch()
    })
}

/// Returns uses of an object that other crates count for each use: trc by a plain count for each thread.
pub fn other_hot() -> [Workload; 2] {
    let trc = || SharedTrc::to_trc(HOT_TRC.clone());
    [
        uses("triomphe::Arc, clone and drop each", || {
            black_box(HOT_TRIOMPHE.clone()).touch()
        }),
        repeated("trc, clone and drop each", USES, trc, |hot, _| {
            black_box(hot.clone()).touch()
        }),
    ]
}

/// An object that all threads of a sitting (see `contest`) share. Objects of earlier sittings stay,
/// so that the next one gets another address.
struct Fresh<T>(Mutex<Vec<Arc<T>>>);

impl<T> Fresh<T> {
    fn get(&self, new: impl Fn() -> T) -> Arc<T> {
        let mut all = self.0.lock().expect("no thread panicked");
        match all.last() {
            Some(last) if Arc::strong_count(last) > 1 => last.clone(),
            _ => {
                all.push(Arc::new(new()));
                all[all.len() - 1].clone()
            }
        }
    }
}

/// Returns clones and drops of a reference, which all threads of a sitting count. The object is not
/// read.
fn counted_by_all<T: Clone + Send + Sync + 'static>(name: &str, new: fn() -> T) -> Workload {
    let fresh = Fresh(Mutex::default());
    repeated(
        name,
        USES,
        move || fresh.get(new),
        |shared, _| {
            drop(black_box(T::clone(shared)));
        },
    )
}

/// Returns clones and drops of one reference by all threads: ours, `Arc`'s, and others. The first
/// other is `Arc`'s again, to show how far equal workloads differ.
pub fn counted_by_both() -> (Workload, Workload, [Workload; 2]) {
    let arc = |name| counted_by_all(name, || Arc::new(object()));
    (
        counted_by_all("Ref", || Ref::new(object())),
        arc("Arc"),
        [
            arc("Arc, another one"),
            counted_by_all("triomphe::Arc", || triomphe::Arc::new(object())),
        ],
    )
}

/// Returns uses of an object that is counted for each use, in the thread's own memory.
pub fn hot_ref() -> Workload {
    let name = "HotRef, clone and drop each";
    let clone = |hot: &HotRef<Object>, _| black_box(HotRef::clone(hot)).touch();
    repeated(name, USES, || HOT.get(), clone)
}

/// Returns pools with one object, each opened after the drop of a reference to a hot object that
/// still has its owner; and pools without such a drop.
pub fn pools_after_hot_refs() -> [Workload; 2] {
    let one = |pool: AutoreleasePool, seed| {
        pool.create(Object::new(seed)).touch();
    };
    let hot = || HOT.get();
    let dropped = move |hot: &HotRef<Object>, seed| {
        drop(black_box(HotRef::clone(hot)));
        one(AutoreleasePool::new(), seed);
    };
    [
        repeated("HotRef dropped, pool of 1", USES, hot, dropped),
        repeated("pool of 1", USES, hot, move |_, seed| {
            one(AutoreleasePool::new(), seed);
        })
        .role(Role::Ours),
    ]
}

// --- loads beside a writer -----------------------------------------------------

/// A thread that works until this is dropped.
pub(crate) struct Beside(Arc<AtomicBool>);

impl Beside {
    /// Spawns the thread, which repeats `work`.
    pub(crate) fn spawn(work: impl Fn() + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        thread::spawn(move || {
            while !flag.load(Ordering::Relaxed) {
                work();
            }
        });
        Self(stop)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Sleeps for 100 µs.
pub(crate) fn pause() {
    thread::sleep(Duration::from_micros(100));
}

/// Returns loads from a slot by a pool, and from an arc-swap, to which another thread stores.
pub fn loads_beside_a_writer() -> [Workload; 2] {
    let slot = || {
        let slot = Arc::new(new_slot());
        let to = slot.clone();
        let writer = Beside::spawn(move || {
            to.store(Ref::new(Object::new(2)));
            pause();
        });
        (slot, AutoreleasePool::new(), writer)
    };
    let swap = || {
        let swap = Arc::new(new_swap());
        let to = swap.clone();
        let writer = Beside::spawn(move || {
            to.store(Arc::new(Object::new(2)));
            pause();
        });
        (swap, writer)
    };
    let name = "slot.load(&pool), 100 per pool, one stores every 100 µs";
    let by_slot = Workload::timed(name, USES, slot, |(slot, pool, _)| {
        for _ in 0..USES {
            black_box(&**slot).load(pool).touch();
        }
        pool.drain();
    });
    let name = "arc-swap, load, one stores every 100 µs";
    let by_swap = repeated(name, USES, swap, |(swap, _), _| {
        black_box(&**swap).load().touch()
    });
    [by_slot, by_swap]
}
