//! One object that all threads use; and a pointer that all threads read and some replace now and then.

use crate::pools::deferred::Collected;
use crate::scenario::{Scenario, contestants};
use arc_swap::ArcSwap;
use basedrop::{Shared, SharedCell};
use crossbeam_epoch::{self as epoch, Atomic, Owned};
use parking_lot::RwLock;
use releasepool::{AutoreleasePool, Hot, HotRef, Ref, Slot};
use releasepool_benches::objects::Payload;
use releasepool_benches::workload::{Workload, repeated};
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use trc::{SharedTrc, Trc};

/// Uses of the hot object for which a pool or a guard is opened.
const USES: u64 = 1_000;

/// Calls `touch` for each use, with a thread's reference to the object that all threads share.
fn uses<R: 'static>(
    make: impl Fn() -> R + Send + Sync + 'static,
    touch: impl Fn(&R) + Copy + Send + Sync + 'static,
) -> Workload {
    repeated("", USES, make, move |hot, _| touch(hot))
}

/// Returns uses of clones of this reference.
fn clones<R: Clone + Send + Sync + 'static>(
    hot: R,
    touch: impl Fn(&R) + Copy + Send + Sync + 'static,
) -> Workload {
    uses(move || hot.clone(), touch)
}

fn pool_ref<P: Payload>() -> Workload {
    let hot = Ref::new(P::new(1));
    let make = move || (hot.clone(), AutoreleasePool::new());
    Workload::timed("", USES, make, |(hot, pool)| {
        let lent = pool.autorelease(hot.clone());
        for _ in 0..USES {
            let copy = black_box(lent);
            copy.touch();
        }
        pool.drain();
    })
}

fn hot_guarded<P: Payload>() -> Workload {
    let hot = Arc::new(Guarded::<P>::new());
    let make = move || hot.clone();
    Workload::timed("", USES, make, |hot| {
        let guard = epoch::pin();
        for _ in 0..USES {
            hot.load(&guard);
        }
    })
}

pub fn hot() -> Scenario {
    Scenario {
        id: "hot",
        title: "One hot object, retained and released by all",
        what: "All threads use the same object: each takes a reference of its own, reads the object, \
               and drops the reference. An operation is one use.",
        remarks: "A PoolRef is valid until its pool is drained, and copies of it are not counted. A \
                  guard of crossbeam-epoch keeps the garbage of the whole process, and its pointers \
                  need unsafe code.",
        helpers: 0,
        peak: false,
        contestants: contestants! {
            Ours "releasepool (PoolRef)", "added to a pool once for 1,000 uses; copied for each use" =>
                pool_ref::<P>();
            Ours "releasepool (HotRef)", "cloned and dropped; the owner is kept" => {
                let hot = Hot::try_new(Ref::new(P::new(1))).expect("there is room");
                uses(move || hot.get(), |hot| black_box(HotRef::clone(hot)).touch())
            };
            Ours "releasepool (Ref)", "cloned and dropped" =>
                clones(Ref::new(P::new(1)), |hot| black_box(hot.clone()).touch());
            Reference "Rc", "plain counts, one thread only" =>
                uses(|| Rc::new(P::new(1)), |hot| black_box(hot.clone()).touch());
            Peer "Arc" => clones(Arc::new(P::new(1)), |hot| black_box(hot.clone()).touch());
            Peer "triomphe" => clones(triomphe::Arc::new(P::new(1)), |hot| black_box(hot.clone()).touch());
            Peer "trc", "plain counts by thread, converted once; these references are not Send" => {
                let hot = SharedTrc::from_trc(&Trc::new(P::new(1)));
                uses(move || SharedTrc::to_trc(hot.clone()), |hot| black_box(hot.clone()).touch())
            };
            Peer "basedrop" => {
                let hot = Arc::new(Collected::new(|handle| Shared::new(handle, P::new(1))));
                clones(hot, |hot| black_box(hot.value.clone()).touch())
            };
            Peer "crossbeam-epoch", "loaded under a guard, pinned once for 1,000 uses; not counted" =>
                hot_guarded::<P>();
        },
    }
}

// --- a pointer -----------------------------------------------------------------

/// Loads in a frame, for which a pool or a guard is opened.
const LOADS: u64 = 100;
/// Frames between two stores of a thread.
const FRAMES: u64 = 100;

/// Returns frames of loads. `here` creates a value for each thread, such as a pool. `store` is called
/// in the first of each [`FRAMES`] frames, and `load` in each frame.
fn frames<S: Send + Sync + 'static, T: 'static>(
    shared: S,
    here: impl Fn() -> T + Send + Sync + 'static,
    store: impl Fn(&S, u64) + Copy + Send + Sync + 'static,
    load: impl Fn(&S, &mut T) + Copy + Send + Sync + 'static,
) -> Workload {
    let shared = Arc::new(shared);
    let make = move || (shared.clone(), here(), 0);
    Workload::timed("", LOADS, make, move |(shared, here, frame)| {
        if *frame % FRAMES == 0 {
            store(shared, *frame);
        }
        *frame += 1;
        load(shared, here);
    })
}

/// Returns frames of loads that are independent of each other.
fn single<S: Send + Sync + 'static>(
    shared: S,
    store: impl Fn(&S, u64) + Copy + Send + Sync + 'static,
    load: impl Fn(&S) + Copy + Send + Sync + 'static,
) -> Workload {
    let load = move |shared: &S, (): &mut ()| {
        for _ in 0..LOADS {
            load(shared);
        }
    };
    frames(shared, || (), store, load)
}

fn new_slot<P: Payload>() -> Slot<P> {
    Slot::new(Ref::new(P::new(1)))
}

fn slot<P: Payload>() -> Workload {
    frames(
        new_slot::<P>(),
        AutoreleasePool::new,
        |slot, seed| slot.store(Ref::new(P::new(seed))),
        |slot, pool| {
            for _ in 0..LOADS {
                black_box(slot).load(pool).touch();
            }
            pool.drain();
        },
    )
}

fn swap<P: Payload>(load: impl Fn(&ArcSwap<P>) + Copy + Send + Sync + 'static) -> Workload {
    let store = |swap: &ArcSwap<P>, seed| swap.store(Arc::new(P::new(seed)));
    single(ArcSwap::from_pointee(P::new(1)), store, load)
}

fn lock<P: Payload>() -> Workload {
    single(
        RwLock::new(Arc::new(P::new(1))),
        |lock, seed| {
            let new = Arc::new(P::new(seed));
            // The old object is destroyed after the lock is released.
            let _old = std::mem::replace(&mut *lock.write(), new);
        },
        |lock| {
            let object = black_box(lock).read().clone();
            object.touch();
        },
    )
}

/// A pointer that is read under guards of crossbeam-epoch, which destroys the objects.
struct Guarded<P: Payload>(Atomic<P>);

impl<P: Payload> Guarded<P> {
    fn new() -> Self {
        Self(Atomic::new(P::new(1)))
    }

    fn store(&self, value: P) {
        let guard = epoch::pin();
        let old = self.0.swap(Owned::new(value), Ordering::AcqRel, &guard);
        // SAFETY: no new reader can reach the old object, and only this call got it.
        unsafe { guard.defer_destroy(old) };
    }

    #[inline(always)]
    fn load(&self, guard: &epoch::Guard) {
        let shared = black_box(&self.0).load(Ordering::Acquire, guard);
        // SAFETY: the pointer is never null, and the guard keeps the object alive.
        unsafe { shared.deref() }.touch();
    }
}

impl<P: Payload> Drop for Guarded<P> {
    fn drop(&mut self) {
        // SAFETY: no other thread has a reference to this value.
        unsafe { std::mem::replace(&mut self.0, Atomic::null()).try_into_owned() };
    }
}

fn load_guarded<P: Payload>(pointer: &Guarded<P>, (): &mut ()) {
    let guard = epoch::pin();
    for _ in 0..LOADS {
        pointer.load(&guard);
    }
}

pub fn config() -> Scenario {
    let mut contestants = contestants! {
        Ours "releasepool (slot)", "slot.load(&pool), drained after 100 loads; not counted" => slot::<P>();
        Ours "releasepool (load_full)", "slot.load_full(), counted" => single(
            new_slot::<P>(),
            |slot, seed| slot.store(Ref::new(P::new(seed))),
            |slot| black_box(slot).load_full().touch(),
        );
        Peer "arc-swap", "load, a guard" => swap::<P>(|swap| black_box(swap).load().touch());
        Peer "arc-swap, load_full", "counted" => swap::<P>(|swap| black_box(swap).load_full().touch());
        Peer "RwLock of Arc", "parking_lot's; read and clone" => lock::<P>();
        Peer "crossbeam-epoch", "Atomic, pinned once for 100 loads; not counted" => frames(
            Guarded::<P>::new(),
            || (),
            |pointer, seed| pointer.store(P::new(seed)),
            load_guarded,
        );
        Peer "crossbeam-epoch, pin each", "Atomic, pinned for each load; not counted" => single(
            Guarded::<P>::new(),
            |pointer, seed| pointer.store(P::new(seed)),
            |pointer| pointer.load(&epoch::pin()),
        );
        Peer "basedrop", "SharedCell, counted; the thread that stores runs the collector" => single(
            Collected::new(|handle| SharedCell::new(Shared::new(handle, P::new(1)))),
            |cell, seed| {
                cell.value.set(Shared::new(&cell.handle, P::new(seed)));
                cell.garbage.collect_all();
            },
            |cell| black_box(&cell.value).get().touch(),
        );
    };
    // basedrop's cell relies on the memory ordering of x86 (its issue 10). On other processors a
    // reader may find a destroyed object.
    if !cfg!(target_arch = "x86_64") {
        contestants.pop();
    }
    Scenario {
        id: "config",
        title: "Configuration that all read and few replace",
        what: "All threads load the same pointer and read the object; after 10,000 loads a thread \
               stores a new object. An operation is one load.",
        remarks: "A reference from slot.load(&pool) is valid until the pool is drained. load_full of \
                  either gives a reference that can be kept. crossbeam-epoch needs unsafe code, and \
                  its references are valid under the guard only.",
        helpers: 0,
        peak: false,
        contestants,
    }
}
