//! One object that all use.

use crate::pools::deferred::Garbage;
use crate::scenario::{Scenario, contestant};
use basedrop::Shared;
use crossbeam_epoch::{self as epoch, Atomic};
use releasepool::{AutoreleasePool, Ref};
use releasepool_benches::objects::Payload;
use releasepool_benches::results::Role;
use releasepool_benches::workload::{Workload, timed};
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Uses for which a pool is opened, or a guard.
const USES: u64 = 1_000;

fn pool_ref<P: Payload>() -> Workload {
    let hot = Ref::new(P::new(1));
    Workload::new("", USES, move || {
        let hot = hot.clone();
        let mut pool = AutoreleasePool::new();
        timed(move || {
            let lent = pool.autorelease(hot.clone());
            for _ in 0..USES {
                let copy = black_box(lent);
                copy.touch();
            }
            pool.drain();
        })
    })
}

/// A reference of one's own for each use. All threads refer to the same object.
fn clones<R: Clone + Send + Sync + 'static>(hot: R, touch: fn(&R)) -> Workload {
    Workload::new("", USES, move || {
        let hot = hot.clone();
        timed(move || {
            for _ in 0..USES {
                let clone = black_box(hot.clone());
                touch(&clone);
            }
        })
    })
}

fn refs<P: Payload>() -> Workload {
    clones(Ref::new(P::new(1)), |r| r.touch())
}

fn arcs<P: Payload>() -> Workload {
    clones(Arc::new(P::new(1)), |r| r.touch())
}

fn triomphes<P: Payload>() -> Workload {
    clones(triomphe::Arc::new(P::new(1)), |r| r.touch())
}

fn plain<P: Payload>() -> Workload {
    Workload::new("", USES, || {
        let hot = Rc::new(P::new(1));
        timed(move || {
            for _ in 0..USES {
                let clone = black_box(hot.clone());
                clone.touch();
            }
        })
    })
}

/// Dropped before the collector, which destroys it.
struct Collected<P: Send + 'static> {
    hot: Shared<P>,
    _garbage: Garbage,
}

fn basedrop<P: Payload>() -> Workload {
    let garbage = Garbage::default();
    let hot = Shared::new(&garbage.handle(), P::new(1));
    let all = Arc::new(Collected {
        hot,
        _garbage: garbage,
    });
    Workload::new("", USES, move || {
        let all = all.clone();
        timed(move || {
            for _ in 0..USES {
                let clone = black_box(all.hot.clone());
                clone.touch();
            }
        })
    })
}

struct Owner<P>(Atomic<P>);

impl<P> Drop for Owner<P> {
    fn drop(&mut self) {
        // SAFETY: nobody else has it any more, and it was never replaced.
        unsafe { std::mem::replace(&mut self.0, Atomic::null()).try_into_owned() };
    }
}

fn guarded<P: Payload>() -> Workload {
    let hot = Arc::new(Owner(Atomic::new(P::new(1))));
    Workload::new("", USES, move || {
        let hot = hot.clone();
        timed(move || {
            let guard = epoch::pin();
            for _ in 0..USES {
                let shared = black_box(&hot.0).load(Ordering::Acquire, &guard);
                // SAFETY: the owner outlives this, and never replaces it.
                unsafe { shared.deref() }.touch();
            }
        })
    })
}

pub fn scenario() -> Scenario {
    Scenario {
        id: "hot",
        title: "One hot object, retained and released by all",
        what: "All threads use the same object: each takes a reference of its own, looks at the \
               object, and lets go of it. An operation is one use.",
        lesson: "Do not count what many threads use often: leave it to the pool once and copy the \
                PoolRef. Every counted reference, ours too, costs more with each thread that \
                counts the same object. A guard of crossbeam-epoch is as cheap, but holds back \
                the garbage of the whole process, and its pointers need unsafe code.",
        helpers: 0,
        countable: true,
        peak: false,
        contestants: vec![
            contestant!("releasepool (PoolRef)", Role::Ours, pool_ref())
                .note("left to a pool once for 1,000 uses; a copy costs nothing"),
            contestant!("releasepool (Ref)", Role::Ours, refs()).note("cloned and dropped"),
            contestant!("Rc", Role::Reference, plain()).note("plain counts, one thread only"),
            contestant!("Arc", Role::Peer, arcs()),
            contestant!("triomphe", Role::Peer, triomphes()),
            contestant!("basedrop", Role::Peer, basedrop()),
            contestant!("crossbeam-epoch", Role::Peer, guarded())
                .note("loaded under a guard, pinned once for 1,000 uses; not counted"),
        ],
    }
}
