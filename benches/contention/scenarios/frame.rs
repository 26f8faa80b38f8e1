//! A bit of everything, as a frame of a game has it.

use crate::handing::{Collected, Handing, Kept, Pages, PagesOfBlocks, Sender, Vectors};
use crate::pools::Pools;
use crate::pools::alone::{Arcs, Cocos, Triomphes};
use crate::pools::deferred::{Basedrop, Garbage};
use crate::pools::locked::{ByDashMap, ByMutex, Global};
use crate::pools::ours::{Autoreleased, Created};
use crate::scenario::{Checked, Contestant, Measured, Scenario};
use arc_swap::ArcSwap;
use basedrop::{Shared, SharedCell};
use parking_lot::RwLock;
use releasepool::{Ref, Slot};
use releasepool_benches::objects::Payload;
use releasepool_benches::workload::{Workload, timed_half};
use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;

/// Objects and uses of a frame.
const FRAME: u64 = 1_000;
/// Of ten, so many are temporaries, so many are uses of what all share, and the rest is
/// handed over.
const TEMPORARIES: u64 = 7;
const USES: u64 = 2;
const HANDED: u64 = 1;

/// An object that all threads use.
trait Source<P: Payload, I: Pools<P>>: Sized + 'static {
    type Shared: Send + Sync + 'static;
    fn share() -> Self::Shared;
    fn here(shared: &Arc<Self::Shared>) -> Self;
    /// Uses it for a moment, or until the pool is drained.
    fn touch(&mut self, pools: &I);
}

/// A slot, by the pool that is there anyway.
struct InSlot<P: Payload>(Arc<Slot<P>>);

macro_rules! in_slot {
    ($pools:ident) => {
        impl<P: Payload> Source<P, $pools<P>> for InSlot<P> {
            type Shared = Slot<P>;

            fn share() -> Slot<P> {
                Slot::new(Ref::new(P::new(1)))
            }

            fn here(shared: &Arc<Slot<P>>) -> Self {
                Self(shared.clone())
            }

            #[inline(always)]
            fn touch(&mut self, pools: &$pools<P>) {
                black_box(&*self.0).load(&pools.pool).touch();
            }
        }
    };
}

in_slot!(Created);
in_slot!(Autoreleased);

/// Behind a lock, read and cloned.
struct InLock<R>(Arc<RwLock<R>>);

macro_rules! in_lock {
    ($pointer:ty) => {
        impl<P: Payload, I: Pools<P>> Source<P, I> for InLock<$pointer> {
            type Shared = RwLock<$pointer>;

            fn share() -> Self::Shared {
                RwLock::new(<$pointer>::new(P::new(1)))
            }

            fn here(shared: &Arc<Self::Shared>) -> Self {
                Self(shared.clone())
            }

            #[inline(always)]
            fn touch(&mut self, _: &I) {
                let object = black_box(&*self.0).read().clone();
                object.touch();
            }
        }
    };
}

in_lock!(Arc<P>);
in_lock!(triomphe::Arc<P>);

/// arc-swap's guard.
struct InSwap<P>(Arc<ArcSwap<P>>);

impl<P: Payload, I: Pools<P>> Source<P, I> for InSwap<P> {
    type Shared = ArcSwap<P>;

    fn share() -> Self::Shared {
        ArcSwap::from_pointee(P::new(1))
    }

    fn here(shared: &Arc<Self::Shared>) -> Self {
        Self(shared.clone())
    }

    #[inline(always)]
    fn touch(&mut self, _: &I) {
        black_box(&*self.0).load().touch();
    }
}

/// Dropped before the collector, which destroys what is in it.
struct Cell<P: Payload> {
    cell: SharedCell<P>,
    _garbage: Garbage,
}

/// basedrop's.
struct InCell<P: Payload>(Arc<Cell<P>>);

impl<P: Payload> Source<P, Basedrop<P>> for InCell<P> {
    type Shared = Cell<P>;

    fn share() -> Self::Shared {
        let garbage = Garbage::default();
        let object = Shared::new(&garbage.handle(), P::new(1));
        Cell {
            cell: SharedCell::new(object),
            _garbage: garbage,
        }
    }

    fn here(shared: &Arc<Self::Shared>) -> Self {
        Self(shared.clone())
    }

    #[inline(always)]
    fn touch(&mut self, _: &Basedrop<P>) {
        black_box(&self.0.cell).get().touch();
    }
}

/// A plain count, one thread.
struct Own<P>(RefCell<Rc<P>>);

impl<P: Payload> Source<P, Cocos<P>> for Own<P> {
    type Shared = ();

    fn share() {}

    fn here(_: &Arc<()>) -> Self {
        Self(RefCell::new(Rc::new(P::new(1))))
    }

    #[inline(always)]
    fn touch(&mut self, _: &Cocos<P>) {
        let object = black_box(&self.0).borrow().clone();
        object.touch();
    }
}

fn frames<P: Payload, I: Pools<P>, S: Source<P, I>, H: Handing<P>>() -> Workload {
    let (ui, handing) = H::open();
    let pools = Arc::<I::Shared>::default();
    let all = Arc::new((handing, ui));
    let source = Arc::new(S::share());
    Workload::new("", FRAME, move || {
        let ui = all.clone();
        let mut sender = all.0.here(&all.1);
        let mut pools = I::here(&pools);
        let mut source = S::here(&source);
        timed_half(
            move || ui.1.admit(FRAME / 10 * HANDED),
            move |()| {
                for seed in 0..FRAME / 10 {
                    for _ in 0..TEMPORARIES {
                        pools.add(seed);
                    }
                    for _ in 0..USES {
                        source.touch(&pools);
                    }
                    for _ in 0..HANDED {
                        sender.hand(seed);
                    }
                }
                sender.flush();
                pools.drain();
            },
        )
    })
}

/// Measured and counted, by pools, by what shares, and by what hands over.
macro_rules! frames {
    ($name:expr, $note:expr, $pools:ident, $source:ident $(of $pointer:ident)?, $handing:ident) => {{
        type Counted = frames!(@source Checked, $source $(of $pointer)?);
        type Timed = frames!(@source Measured, $source $(of $pointer)?);
        Contestant::new(
            $name,
            <$pools<Measured> as Pools<Measured>>::ROLE,
            frames::<Measured, $pools<Measured>, Timed, $handing<Measured>>,
            frames::<Checked, $pools<Checked>, Counted, $handing<Checked>>,
        )
        .note($note)
    }};
    (@source $object:ident, $source:ident of $pointer:ident) => { $source<$pointer<$object>> };
    (@source $object:ident, $source:ident) => { $source<$object> };
}

const LOCK_AND_CHANNEL: &str = "shared: RwLock of Arc; handed over: a channel of Vec";

fn name<I: Pools<Measured>>() -> &'static str {
    I::NAME
}

pub fn scenario() -> Scenario {
    use triomphe::Arc as Triomphe;
    const SLOT_AND_PAGES: &str = "shared: slot.load(&pool); handed over: HandoffPool";
    Scenario {
        id: "frame",
        title: "A mixed frame",
        what: "Each thread runs frames of 1,000 operations: of ten, 7 make a temporary object and leave it \
               to a pool, 2 use an object that all threads share, 1 makes an object that the UI thread \
               destroys, which is one more than the threads that are named. The frame ends by handing \
               over and draining. Waiting for room at the UI thread is not timed.",
        lesson: "Together it is as in its parts: blocks, a slot and a HandoffPool are ahead of \
                 everything, for the most part by the temporaries. With the global allocator \
                 releasepool is about where a vector of Arcs with a lock and a channel is, so \
                 the allocator is the first thing to choose. Pools behind locks fall further \
                 behind with every thread.",
        helpers: 1,
        countable: false,
        peak: false,
        contestants: vec![
            frames!(
                name::<Created<_>>(),
                SLOT_AND_PAGES,
                Created,
                InSlot,
                PagesOfBlocks
            ),
            frames!(
                name::<Autoreleased<_>>(),
                SLOT_AND_PAGES,
                Autoreleased,
                InSlot,
                Pages
            ),
            frames!(
                name::<Cocos<_>>(),
                "one thread does everything, no UI thread",
                Cocos,
                Own,
                Kept
            ),
            frames!(name::<Arcs<_>>(), LOCK_AND_CHANNEL, Arcs, InLock of Arc, Vectors),
            frames!(name::<Triomphes<_>>(), LOCK_AND_CHANNEL, Triomphes, InLock of Triomphe, Vectors),
            frames!(
                "arc-swap",
                "temporaries: Arc + Vec; handed over: a channel of Vec",
                Arcs,
                InSwap,
                Vectors
            ),
            frames!(name::<Global<_>>(), LOCK_AND_CHANNEL, Global, InLock of Arc, Vectors),
            frames!(name::<ByMutex<_>>(), LOCK_AND_CHANNEL, ByMutex, InLock of Arc, Vectors),
            frames!(name::<ByDashMap<_>>(), LOCK_AND_CHANNEL, ByDashMap, InLock of Arc, Vectors),
            frames!(
                name::<Basedrop<_>>(),
                "shared: SharedCell; handed over: to the collector",
                Basedrop,
                InCell,
                Collected
            ),
        ],
    }
}
