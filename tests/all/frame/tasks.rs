//! Pools for tasks and callbacks.

use crate::frame::{noting, panics};
use crate::support::{Log, events, fresh, listen, me, on_drop, panic_of};
use releasepool::event::EventKind;
use releasepool::task::Pooled;
use releasepool::{
    AutoreleasePool, Budget, PoolManager, Ref, autorelease, autoreleasepool, callback_scope, pool,
    pooled,
};
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::marker::PhantomPinned;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Returns a future that is pending once.
fn pause() -> impl Future<Output = ()> {
    let mut first = true;
    poll_fn(move |_| {
        if std::mem::take(&mut first) {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
}

#[test]
fn each_poll_has_a_pool_of_its_own() {
    struct Stray(#[expect(dead_code)] crate::support::Probe);
    listen();
    let log = Log::new();
    let mut task = pin!(pooled(async {
        autorelease(Ref::new(Stray(log.probe(0))));
        assert_eq!(log.count(), 0);
        pause().await;
        assert_eq!(log.ids(), [0], "released at the await");
        autorelease(Ref::new(Stray(log.probe(1))));
        7
    }));
    assert_eq!(poll(task.as_mut()), Poll::Pending);
    assert_eq!(log.ids(), [0]);
    assert_eq!(poll(task.as_mut()), Poll::Ready(7));
    assert_eq!(log.ids(), [0, 1]);
    assert!(events(EventKind::NoPool).is_empty());
}

#[test]
fn pool_of_a_poll_is_named_and_closed_at_its_end() {
    let log = Log::new();
    let outer = AutoreleasePool::new();
    let held = Cell::new(None);
    let task = pooled(async {
        autorelease(Ref::new(log.probe(0)));
        // A forgotten pool does not stay the current one.
        std::mem::forget(AutoreleasePool::new());
        held.set(Some(()));
    });
    assert!(poll(pin!(task)).is_ready());
    autorelease(Ref::new(log.probe(1)));
    assert_eq!((outer.len(), log.ids()), (1, vec![0]));
    assert!(held.take().is_some());
}

#[test]
fn what_is_created_without_a_pool_value_lives_until_the_current_pool_is_drained() {
    let log = Log::new();
    let task = pooled(async {
        assert_eq!((pool::create(log.probe(0)).id, log.count()), (0, 0));
    });
    assert!(poll(pin!(task)).is_ready());
    assert_eq!(log.count(), 1);
    callback_scope(|_| assert_eq!((pool::create(log.probe(1)).id, log.count()), (1, 1)));
    let kept = pool::create(log.probe(2));
    assert_eq!((PoolManager::global().drain_root(), log.count()), (1, 2));
    assert_eq!(Ref::strong_count(&kept), 1);
}

#[test]
fn panicking_poll_drains_its_pool() {
    let log = Log::new();
    let task = pooled(async {
        autorelease(Ref::new(log.probe(0)));
        panic!("poll");
    });
    let mut task = pin!(task);
    assert_eq!(panic_of(|| poll::<Pooled<_>>(task.as_mut())), "poll");
    assert_eq!(log.ids(), [0]);
    let task = pooled(async {
        autorelease(Ref::new(on_drop(|| panic!("destructor"))));
    });
    assert_eq!(panic_of(|| poll(pin!(task))), "destructor");
    assert_eq!(PoolManager::global().drain_root(), 0);
}

#[test]
fn task_goes_from_thread_to_thread() {
    let log = Log::new();
    let mut task = Box::pin(pooled(async move {
        for id in 0..4 {
            autorelease(Ref::new(log.probe(id)));
            pause().await;
        }
    }));
    for n in 1..=4 {
        assert_eq!(fresh(|| poll(task.as_mut())), Poll::Pending);
        assert_eq!(log.count(), n);
    }
    assert_eq!(fresh(|| poll(task.as_mut())), Poll::Ready(()));
    let threads = log.threads();
    assert!((1..4).all(|n| threads[n] != threads[n - 1]));
}

#[test]
fn pooled_is_send_if_the_future_is_and_pins_it() {
    fn send<T: Send>(_: &T) {}
    send(&pooled(async {}));
    let local = pooled(async { drop(Rc::new(())) });
    assert!(format!("{:?}", pooled(std::future::ready(1))).starts_with("Pooled("));
    drop(local);
    // It is not Unpin, as the future is not.
    struct Pinned(PhantomPinned, Cell<Option<*const Self>>);
    impl Future for Pinned {
        type Output = bool;
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<bool> {
            let here: *const Self = &*self;
            let before = self.1.replace(Some(here));
            before.map_or(Poll::Pending, |before| Poll::Ready(before == here))
        }
    }
    let mut task = Box::pin(pooled(Pinned(PhantomPinned, Cell::new(None))));
    assert!(poll(task.as_mut()).is_pending());
    assert_eq!(poll(task.as_mut()), Poll::Ready(true));
}

#[test]
fn callback_scope_drains_the_root_when_it_is_outermost() {
    let log = Log::new();
    // Is open no more once the scope has ended.
    autoreleasepool(|_| std::mem::forget(AutoreleasePool::new()));
    autorelease(Ref::new(log.probe(0)));
    let manager = PoolManager::global();
    let this = manager.current_thread().unwrap();
    let sum = callback_scope(|pool| {
        assert_eq!(pool.name(), "callback");
        pool.create(log.probe(1));
        autorelease(Ref::new(log.probe(2)));
        this.release(Ref::new(log.probe(3)));
        1 + 1
    });
    assert_eq!(sum, 2);
    assert_eq!(log.ids(), [2, 1, 3, 0]);
    assert_eq!(manager.drain_root(), 0);
}

#[test]
fn callback_scope_inside_a_pool_or_destructor_only_opens_a_pool() {
    let log = Log::new();
    autorelease(Ref::new(log.probe(0)));
    autoreleasepool(|_| {
        callback_scope(|_| autorelease(Ref::new(log.probe(1))));
        assert_eq!(log.ids(), [1]);
        callback_scope(|_| callback_scope(|pool| _ = pool.create(log.probe(2))));
        assert_eq!(log.ids(), [1, 2]);
    });
    drop(Ref::new(on_drop(move || {
        callback_scope(|_| autorelease(Ref::new(log.probe(3))));
    })));
    assert_eq!(log.ids(), [1, 2, 3]);
    callback_scope(|_| ());
    assert_eq!(log.ids(), [1, 2, 3, 0]);
}

#[test]
fn panicking_callback_leaves_everything_drained() {
    listen();
    let log = Log::new();
    autorelease(Ref::new(log.probe(0)));
    autorelease(Ref::new(on_drop(|| panic!("of the root's"))));
    let message = panic_of(|| {
        callback_scope(|pool| {
            pool.create(log.probe(1));
            panic!("callback");
        })
    });
    assert_eq!(message, "callback");
    assert_eq!(log.ids(), [1, 0]);
    assert_eq!(panics(), ["of the root's"]);
    autorelease(Ref::new(on_drop(|| panic!("root"))));
    assert_eq!(panic_of(|| callback_scope(|_| ())), "root");
    let mut pool = AutoreleasePool::new();
    pool.create(on_drop(|| panic!("backlog")));
    pool.drain_within(Budget::Count(0));
    drop(pool);
    autorelease(Ref::new(log.probe(2)));
    assert_eq!(panic_of(|| callback_scope(|_| ())), "backlog");
    assert_eq!(log.ids(), [1, 0, 2]);
}

#[test]
fn posted_closures_do_not_run_in_callbacks() {
    let log = Log::new();
    me().post(noting(&log, 0)).unwrap();
    callback_scope(|_| ());
    assert_eq!(log.count(), 0);
    assert_eq!(PoolManager::global().run_inbox(), 1);
}
