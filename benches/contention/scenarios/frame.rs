//! A mix of all kinds of work, like a frame of a game.

use crate::handing::{Handing, Here, Sender, pool, vectors};
use crate::pools::vectors::{Arcs, Triomphes};
use crate::pools::{Autoreleased, BLOCKS, Created, GLOBAL, Pools};
use crate::scenario::{Scenario, contestants};
use crate::ui::Handed;
use arc_swap::ArcSwap;
use parking_lot::RwLock;
use releasepool::{AutoreleasePool, Ref, Slot};
use releasepool_benches::objects::Payload;
use releasepool_benches::workload::{Workload, timed_half};
use std::hint::black_box;
use std::ops::Deref;
use std::sync::Arc;

/// Operations of a frame.
const FRAME: u64 = 1_000;
/// Of ten operations, the number of temporaries, of uses of the shared object, and of objects that
/// are handed over.
const TEMPORARIES: u64 = 7;
const USES: u64 = 2;
const HANDED: u64 = 1;

/// A function that uses a shared object, for a moment or until the pool is drained.
trait Touch<S, I>: Fn(&S, &I) + Copy + Send + Sync + 'static {}
impl<S, I, F: Fn(&S, &I) + Copy + Send + Sync + 'static> Touch<S, I> for F {}

/// A slot, loaded by the pool that is open anyway.
fn in_slot<P: Payload, I: AsRef<AutoreleasePool>>() -> (Slot<P>, impl Touch<Slot<P>, I>) {
    let slot = Slot::new(Ref::new(P::new(1)));
    (slot, |slot: &Slot<P>, pools: &I| {
        black_box(slot).load(pools.as_ref()).touch();
    })
}

/// A pointer behind a lock, which is read and cloned.
fn in_lock<R, I>(pointer: R) -> (RwLock<R>, impl Touch<RwLock<R>, I>)
where
    R: Deref<Target: Payload + Sized> + Clone + Send + Sync + 'static,
{
    (RwLock::new(pointer), |lock: &RwLock<R>, _: &I| {
        let object = black_box(lock).read().clone();
        object.touch();
    })
}

/// An arc-swap, loaded by its guard.
fn in_swap<P: Payload, I>() -> (ArcSwap<P>, impl Touch<ArcSwap<P>, I>) {
    let swap = ArcSwap::from_pointee(P::new(1));
    (swap, |swap: &ArcSwap<P>, _: &I| {
        black_box(swap).load().touch()
    })
}

fn frames<P: Payload, I: Pools<P>, S: Send + Sync + 'static, H: Sender<Handed<P>>>(
    (object, touch): (S, impl Touch<S, I>),
    (ui, here): Handing<impl Here<H>>,
) -> Workload {
    let pools = Arc::<I::Shared>::default();
    let object = Arc::new(object);
    // `ui`, whose drop ends the UI thread, is dropped last: after the workers' ends in `here`.
    let all = Arc::new((here, ui));
    Workload::new("", FRAME, move || {
        let all = all.clone();
        let mut sender = (all.0)();
        let gauge = all.1.gauge();
        let mut pools = I::here(&pools);
        let object = object.clone();
        timed_half(
            move || all.1.admit(FRAME / 10 * HANDED),
            move |()| {
                for seed in 0..FRAME / 10 {
                    for _ in 0..TEMPORARIES {
                        pools.add(seed);
                    }
                    for _ in 0..USES {
                        touch(&object, &pools);
                    }
                    for _ in 0..HANDED {
                        sender.hand(Handed::new(seed, gauge));
                    }
                }
                sender.flush();
                pools.drain();
            },
        )
    })
}

const SLOT_AND_POOL: &str = "shared: slot.load(&pool); handed over: HandoffPool";
const LOCK_AND_CHANNEL: &str = "shared: RwLock of Arc; handed over: a channel of Vec";

pub fn scenario() -> Scenario {
    Scenario {
        id: "frame",
        title: "A mixed frame",
        what: "Each thread runs frames of 1,000 operations. Of ten operations, 7 create a temporary \
               object in a pool, 2 use an object that all threads share, and 1 creates an object \
               that the UI thread, an additional thread, destroys. At the end of a frame the thread \
               hands these over and drains the pool. Waiting for the UI thread is not timed.",
        helpers: 1,
        contestants: contestants! {
            Ours BLOCKS, SLOT_AND_POOL =>
                frames::<P, Created<P>, _, _>(in_slot::<P, _>(), pool::<true>());
            Ours GLOBAL, SLOT_AND_POOL =>
                frames::<P, Autoreleased<P>, _, _>(in_slot::<P, _>(), pool::<false>());
            Peer "Arc + Vec", LOCK_AND_CHANNEL =>
                frames::<P, Arcs<P>, _, _>(in_lock(Arc::new(P::new(1))), vectors::<Handed<P>>());
            Peer "triomphe + Vec", LOCK_AND_CHANNEL =>
                frames::<P, Triomphes<P>, _, _>(in_lock(triomphe::Arc::new(P::new(1))), vectors::<Handed<P>>());
            Peer "arc-swap", "temporaries: Arc + Vec; handed over: a channel of Vec" =>
                frames::<P, Arcs<P>, _, _>(in_swap::<P, _>(), vectors::<Handed<P>>());
        },
    }
}
