//! Code that runs inside a destructor without knowing it: objects whose last references it drops
//! are destroyed at once.

use crate::support::{
    Log, deep_down, fresh, fresh_to_the_end, global, me, on_drop, panic_of, sized,
};
use releasepool::frame::FrameConfig;
use releasepool::object::{settle, settle_scope};
use releasepool::{
    AutoreleasePool, Budget, FrameLoop, HandoffPool, PoolManager, Ref, autorelease,
    autoreleasepool, callback_scope, pooled,
};
use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

/// Calls `f` with more than 32 KiB of stack in use since the caller.
fn deeper(f: impl FnOnce()) {
    // Miri takes all frames for small ones.
    deep_down(if cfg!(miri) { 400 } else { 40 }, f);
}

/// A place in which a last release queues.
#[derive(Clone, Copy, Debug)]
enum Place {
    DrainWithin,
    Backlog,
    Deep,
    DeepInADrain,
    Run,
}

impl Place {
    const ALL: &[Self] = &[
        Self::DrainWithin,
        Self::Backlog,
        Self::Deep,
        Self::DeepInADrain,
        Self::Run,
    ];

    /// Runs `f` in a destructor.
    fn inside(self, f: impl FnOnce() + 'static) {
        match self {
            Self::DrainWithin => {
                let mut pool = AutoreleasePool::new();
                pool.autorelease(Ref::new(on_drop(f)));
                pool.drain_within(Budget::All);
            }
            Self::Backlog => {
                let mut pool = AutoreleasePool::new();
                pool.autorelease(Ref::new(on_drop(f)));
                pool.drain_within(Budget::Count(0));
                global().drain_backlog(Budget::All);
            }
            Self::Deep => drop(Ref::new(on_drop(|| deeper(f)))),
            Self::DeepInADrain => {
                let pool = AutoreleasePool::new();
                pool.autorelease(Ref::new(on_drop(|| deeper(f))));
            }
            Self::Run => {
                let queued = Ref::new(on_drop(f));
                drop(Ref::new(on_drop(|| deeper(|| drop(queued)))));
            }
        }
    }

    /// Runs `f` in a destructor in this place; what is released during and after `f` queues.
    fn each(f: impl Fn(Self) + Clone + Send + Sync + 'static) {
        for &place in Self::ALL {
            let f = f.clone();
            fresh(move || {
                let done = std::rc::Rc::new(Cell::new(false));
                let inner = done.clone();
                place.inside(move || {
                    assert_queues(place);
                    f(place);
                    assert_queues(place);
                    if matches!(place, Self::Run) {
                        // Drains leave nothing to the run of the queue around them.
                        let mut pool = AutoreleasePool::new();
                        let (sender, receiver) = channel::<()>();
                        pool.create(sender);
                        pool.drain();
                        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
                    }
                    settle();
                    inner.set(true);
                });
                assert!(done.get(), "{place:?}");
                assert_settles();
                // The thread is not inside a destructor any more.
                me().post(|| ()).unwrap();
                assert_ne!(global().run_inbox(), 0, "{place:?}");
            });
        }
    }
}

/// Drops the last reference to a sender; returns the receiver.
fn disconnect() -> Receiver<()> {
    let (sender, receiver) = channel();
    drop(Ref::new(sender));
    receiver
}

fn assert_queues(place: Place) {
    let receiver = disconnect();
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty), "{place:?}");
}

/// Waits for the sender to be dropped, which would hang if its destructor were queued.
fn assert_settles() {
    assert_eq!(disconnect().try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(settle(), 0);
}

/// Waits like [`assert_settles`], with references that pools hold; for code that has a pool.
fn assert_settles_with(pool: &AutoreleasePool) -> [Receiver<()>; 2] {
    assert_settles();
    let mut own = AutoreleasePool::new();
    let (sender, receiver) = channel::<()>();
    own.create(sender);
    own.drain();
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
    let (owned, implicit) = (channel(), channel());
    pool.create(owned.0);
    autorelease(Ref::new(implicit.0));
    [owned.1, implicit.1]
}

fn assert_all_disconnected(receivers: [Receiver<()>; 2]) {
    for receiver in receivers {
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
    }
}

#[test]
fn a_stolen_job_inside_a_destructor_drops_its_own_last_reference() {
    Place::each(|_| settle_scope(assert_settles));
    Place::each(|_| {
        assert_all_disconnected(settle_scope(|| autoreleasepool(|p| assert_settles_with(p))));
    });
}

#[test]
fn a_callback_inside_a_destructor_drops_its_own_last_reference() {
    Place::each(|_| assert_all_disconnected(callback_scope(|pool| assert_settles_with(pool))));
}

#[test]
fn a_poll_inside_a_destructor_drops_its_own_last_reference() {
    Place::each(|_| {
        let task = pin!(pooled(async {
            let pool = AutoreleasePool::new();
            assert_settles_with(&pool)
        }));
        let Poll::Ready(receivers) = task.poll(&mut Context::from_waker(Waker::noop())) else {
            unreachable!("it waits for nothing");
        };
        assert_all_disconnected(receivers);
    });
}

#[test]
fn a_frame_inside_a_destructor_drops_its_own_last_reference() {
    Place::each(|_| {
        let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
        let mut receivers = None;
        frames.tick(|frame| receivers = Some(assert_settles_with(frame.pool())));
        assert_all_disconnected(receivers.unwrap());
    });
}

#[test]
fn settle_scope_outside_destructors_changes_nothing() {
    assert_eq!(settle_scope(|| 7), 7);
    settle_scope(assert_settles);
    let message = panic_of(|| settle_scope(|| panic!("of the scope")));
    assert_eq!(message, "of the scope");
    // Outside destructors, closures run.
    me().post(|| ()).unwrap();
    assert_eq!(settle_scope(|| global().run_inbox()), 1);
}

#[test]
fn what_is_queued_beneath_a_scope_waits_for_its_owner() {
    let log = Log::new();
    Place::each(move |_| {
        let before = log.count();
        let probe = |id| drop(Ref::new(log.probe(id)));
        probe(1);
        probe(2);
        settle_scope(|| {
            assert_eq!((settle(), log.count() - before), (0, 0));
            probe(3);
            assert_eq!(log.ids()[before..], [3]);
        });
        probe(4);
        assert_eq!(log.count() - before, 1);
        assert!(settle() >= 3);
        assert_eq!(log.ids()[before..], [3, 4, 2, 1]);
    });
    assert_eq!(log.count(), 4 * Place::ALL.len());
}

#[test]
fn settle_scopes_nest() {
    fn nest(levels: &'static [Place]) {
        let Some((&place, inner)) = levels.split_first() else {
            return;
        };
        place.inside(move || {
            assert_queues(place);
            settle_scope(|| {
                assert_settles();
                nest(inner);
                assert_settles();
                settle_scope(assert_settles);
                assert_settles();
            });
            assert_queues(place);
        });
    }
    for rotation in 0..Place::ALL.len() {
        let mut levels = Place::ALL.to_vec();
        levels.rotate_left(rotation);
        fresh(|| {
            nest(levels.leak());
            assert_settles();
        });
    }
}

#[test]
fn panics_leave_settle_scopes_in_order() {
    let log = Log::new();
    Place::each(move |place| {
        // A panic of the code itself, out of two scopes with a destructor in between.
        let probe = log.probe(0);
        let message = panic_of(|| {
            settle_scope(|| {
                let _dropped_by_the_panic = Ref::new(probe);
                place.inside(|| settle_scope(|| panic!("inner")));
            });
        });
        assert_eq!(message, "inner");
        assert_queues(place);
        // A panic of a destructor, out of the drop in the scope, not out of the drain around it.
        settle_scope(|| {
            let loud = Ref::new(on_drop(|| panic!("of a destructor")));
            assert_eq!(panic_of(|| drop(loud)), "of a destructor");
            assert_settles();
        });
        let message = panic_of(|| {
            callback_scope(|pool| {
                pool.create(on_drop(|| panic!("of the pool")));
            });
        });
        assert_eq!(message, "of the pool");
    });
    assert_eq!(log.count(), Place::ALL.len());
}

#[test]
fn what_concerns_the_thread_waits_for_the_destructor_around_a_settle_scope() {
    let log = Log::new();
    Place::each(move |place| {
        let before = log.count();
        let this = me();
        let (posted, to) = (log, this.clone());
        this.post(move || posted.note(1)).unwrap();
        let object = Ref::new(log.probe(2));
        thread::spawn(move || to.release(object)).join().unwrap();
        settle_scope(|| {
            drop(Ref::new(on_drop(|| settle_scope(|| ()))));
            assert_eq!(global().run_inbox(), 0);
            global().quiesce(Duration::ZERO);
            let mut pool = AutoreleasePool::new();
            pool.create(log.probe(3));
            pool.drain();
            pool.create(log.probe(3));
            pool.drain_within(Budget::All);
            pool.create(log.probe(3));
            let handoff = HandoffPool::new();
            handoff.autorelease(Ref::new(log.probe(3)));
        });
        assert_eq!(log.ids()[before..], [3; 4], "{place:?}");
        settle();
        assert_eq!(log.ids()[before..], [3; 4], "{place:?}");
    });
    let count = |id| log.ids().into_iter().filter(|&i| i == id).count();
    let places = Place::ALL.len();
    assert_eq!((count(1), count(2), count(3)), (places, places, 4 * places));
}

#[test]
fn shutdown_is_not_answered_in_a_settle_scope() {
    let log = Log::new();
    Place::each(move |place| {
        let before = log.count();
        let manager = PoolManager::new();
        let asking = manager.clone();
        manager.autorelease(Ref::new(log.probe(1)));
        let asked = thread::spawn(move || asking.shutdown(Duration::ZERO).is_err());
        assert!(asked.join().unwrap(), "this thread holds something");
        settle_scope(|| {
            let mut pool = manager.pool();
            pool.create(log.probe(2));
            pool.drain();
            pool.create(log.probe(2));
            pool.drain_within(Budget::All);
        });
        assert_eq!(log.ids()[before..], [2, 2], "{place:?}");
        assert_eq!(manager.drain_root(), 1);
    });
}

#[test]
fn settle_scopes_work_while_the_thread_is_torn_down() {
    thread_local! {
        static LATE: RefCell<Option<Box<dyn std::any::Any>>> = const { RefCell::new(None) };
    }
    let log = Log::new();
    fresh_to_the_end(move || {
        // Its destructor is registered before that of the crate, so it runs after it.
        LATE.set(Some(Box::new(on_drop(move || {
            let deep = Ref::new(on_drop(move || {
                deeper(|| {
                    assert_queues(Place::Deep);
                    settle_scope(assert_settles);
                    callback_scope(|pool| assert_settles_with(pool));
                    assert_queues(Place::Deep);
                    log.note(0);
                });
            }));
            drop(deep);
        }))));
        drop(AutoreleasePool::new());
    });
    assert_eq!(log.ids(), [0]);
}

#[test]
fn a_deep_structure_dies_in_constant_stack_within_a_settle_scope() {
    struct Node {
        _next: Option<Ref<Node>>,
    }
    const LONG: usize = sized(200, 40_000, 200_000);
    Place::each(|_| {
        let chain = (0..LONG).fold(None, |_next, _| Some(Ref::new(Node { _next })));
        let last = chain.as_ref().map(Ref::downgrade).unwrap();
        settle_scope(|| drop(chain));
        assert!(last.upgrade().is_none());
        settle_scope(assert_settles);
    });
}
