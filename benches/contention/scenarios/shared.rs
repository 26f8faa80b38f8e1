//! One object that all threads use.

use super::config::Guarded;
use crate::pools::deferred::Collected;
use crate::scenario::{Scenario, contestant};
use basedrop::Shared;
use crossbeam_epoch as epoch;
use releasepool::{AutoreleasePool, Hot, HotRef, Ref};
use releasepool_benches::objects::Payload;
use releasepool_benches::workload::{Role, Workload, repeated};
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use trc::{SharedTrc, Trc};

const POOL_REF: &str = "releasepool (PoolRef)";
const REF: &str = "releasepool (Ref)";
const HOT_REF: &str = "releasepool (HotRef)";

/// Uses for which a pool or a guard is opened.
const USES: u64 = 1_000;

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

/// Calls `touch` for each use, with a thread's reference to the object that all threads share.
fn uses<R: Clone + Send + Sync + 'static>(
    hot: R,
    touch: impl Fn(&R) + Copy + Send + Sync + 'static,
) -> Workload {
    repeated("", USES, move || hot.clone(), move |hot, _| touch(hot))
}

fn refs<P: Payload>() -> Workload {
    uses(Ref::new(P::new(1)), |hot| black_box(hot.clone()).touch())
}

fn hot_refs<P: Payload>() -> Workload {
    let hot = Hot::try_new(Ref::new(P::new(1))).expect("there is room");
    let make = move || hot.get();
    repeated("", USES, make, |hot, _| {
        black_box(HotRef::clone(hot)).touch()
    })
}

fn arcs<P: Payload>() -> Workload {
    uses(Arc::new(P::new(1)), |hot| black_box(hot.clone()).touch())
}

fn triomphes<P: Payload>() -> Workload {
    let hot = triomphe::Arc::new(P::new(1));
    uses(hot, |hot| black_box(hot.clone()).touch())
}

/// Counts the references of each thread by a plain count, and the threads by an atomic one.
fn trcs<P: Payload>() -> Workload {
    let hot = SharedTrc::from_trc(&Trc::new(P::new(1)));
    let make = move || SharedTrc::to_trc(hot.clone());
    repeated("", USES, make, |hot, _| black_box(hot.clone()).touch())
}

fn plain<P: Payload>() -> Workload {
    let make = || Rc::new(P::new(1));
    repeated("", USES, make, |hot, _| black_box(hot.clone()).touch())
}

fn basedrop<P: Payload>() -> Workload {
    let hot = Arc::new(Collected::new(|handle| Shared::new(handle, P::new(1))));
    uses(hot, |hot| black_box(hot.value.clone()).touch())
}

fn guarded<P: Payload>() -> Workload {
    let hot = Arc::new(Guarded::<P>::new());
    let make = move || hot.clone();
    Workload::timed("", USES, make, |hot| {
        let guard = epoch::pin();
        for _ in 0..USES {
            hot.load(&guard);
        }
    })
}

pub fn scenario() -> Scenario {
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
        contestants: vec![
            contestant!(POOL_REF, Role::Ours, pool_ref())
                .note("added to a pool once for 1,000 uses; copied for each use"),
            contestant!(HOT_REF, Role::Ours, hot_refs())
                .note("cloned and dropped; the owner is kept"),
            contestant!(REF, Role::Ours, refs()).note("cloned and dropped"),
            contestant!("Rc", Role::Reference, plain()).note("plain counts, one thread only"),
            contestant!("Arc", Role::Peer, arcs()),
            contestant!("triomphe", Role::Peer, triomphes()),
            contestant!("trc", Role::Peer, trcs())
                .note("plain counts by thread, converted once; these references are not Send"),
            contestant!("basedrop", Role::Peer, basedrop()),
            contestant!("crossbeam-epoch", Role::Peer, guarded())
                .note("loaded under a guard, pinned once for 1,000 uses; not counted"),
        ],
    }
}
