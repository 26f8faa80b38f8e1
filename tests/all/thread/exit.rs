//! The exit of a thread with pools.

use crate::frame::noting;
use crate::hot::handles::hot;
use crate::support::{
    Bomb, LONG, Log, Worker, alone, assert_died, assert_says, events_of, fresh, fresh_to_the_end,
    global, here, log_to_the_end, me, named_to_the_end, on_drop, only, react, send,
};
use releasepool::event::{Event, EventKind};
use releasepool::{
    AutoreleasePool, HandoffPool, HomeRef, PoolManager, Ref, autorelease, drop_later,
};
use std::cell::Cell;
use std::mem::forget;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `f` on a thread of this name until it has completely ended; returns the thread's events.
fn events_of_thread_named(name: &str, f: impl FnOnce() + Send + 'static) -> Vec<Event> {
    events_of(named_to_the_end(name, move || {
        f();
        here()
    }))
}

/// An object whose destructor autoreleases the next one, this many times.
struct Heir(u32, Log);

impl Drop for Heir {
    fn drop(&mut self) {
        self.1.note(self.0);
        if self.0 > 0 {
            autorelease(Ref::new(Heir(self.0 - 1, self.1)));
        }
    }
}

#[test]
fn thread_ends_and_pools_are_drained_to_a_fixpoint() {
    const GENERATIONS: u32 = if cfg!(miri) { 50 } else { 5_000 };
    let log = log_to_the_end(|log| {
        autorelease(Ref::new(Heir(GENERATIONS, log)));
        let _token = global().push();
        autorelease(Ref::new(on_drop(move || {
            let _left = global().push();
            autorelease(Ref::new(Heir(4, log)));
        })));
    });
    // The exit takes more than four rounds.
    assert_eq!(log.count() as u32, GENERATIONS + 1 + 5);
}

#[test]
fn thread_ends_and_managers_that_feed_each_other_are_drained_to_a_fixpoint() {
    struct PingPong(u32, [PoolManager; 2], Log);
    impl Drop for PingPong {
        fn drop(&mut self) {
            self.2.note(self.0);
            if self.0 > 0 {
                let [a, b] = self.1.clone();
                let next = PingPong(self.0 - 1, [b, a.clone()], self.2);
                a.autorelease(Ref::new(next));
            }
        }
    }
    let log = log_to_the_end(|log| {
        let managers = [PoolManager::new(), PoolManager::new()];
        let first = PingPong(99, managers.clone(), log);
        managers[1].autorelease(Ref::new(first));
    });
    assert!(log.ids().into_iter().eq((0..100).rev()));
}

#[test]
fn thread_ends_with_token_pools_that_feed_managers_whose_turn_is_over() {
    let log = log_to_the_end(|log| {
        // The thread opens them in this order.
        let managers = [(); 3].map(|()| PoolManager::new());
        for manager in &managers {
            drop(manager.pool());
        }
        let [first, second, third] = managers;
        let _never_popped = third.push();
        third.autorelease(Ref::new(on_drop(move || {
            log.note(3);
            let _never_popped = second.push();
            second.autorelease(Ref::new(on_drop(move || {
                log.note(2);
                first.autorelease(Ref::new(log.probe(1)));
            })));
        })));
    });
    assert_eq!(log.ids(), [3, 2, 1]);
}

#[test]
fn thread_ends_with_leaked_guard_pools_which_stay_leaked_and_those_around_them_are_released() {
    let log = Log::new();
    let events = events_of_thread_named("forgets two guards", move || {
        autorelease(Ref::new(log.probe(0)));
        let _token = global().push();
        autorelease(Ref::new(log.probe(1)));
        let pool = AutoreleasePool::new();
        pool.create(log.probe(10));
        std::mem::forget(pool);
        // Entries that are added while the forgotten pool is current are leaked, too.
        autorelease(Ref::new(log.probe(11)));
        std::mem::forget(PoolManager::new().pool());
        let _inner = global().push();
        autorelease(Ref::new(log.probe(2)));
    });
    assert_eq!(log.ids(), [2, 1, 0]);
    let mut open = events;
    open.retain(|event| event.kind == EventKind::OpenAtExit);
    assert_eq!(only(&open).count, 2);
    assert_says(&open[0], &["2 guard pools"]);
}

#[test]
fn thread_ends_and_what_was_sent_to_it_is_released_there() {
    let log = Log::new();
    let worker = Worker::new("worker");
    let thread = worker.id();
    worker.run(|| drop(AutoreleasePool::new()));
    send(&worker.run(me), &log, 0..3);
    assert_eq!(log.count(), 0);
    worker.join();
    assert_eq!(log.ids(), [0, 1, 2], "in the order in which they were sent");
    assert_eq!(log.threads(), [thread; 3]);
}

#[test]
fn a_thread_without_pools_ends_and_all_that_was_sent_to_it_becomes_orphans() {
    let log = alone!();
    let worker = Worker::new("has made an object");
    let _object = worker.run(|| Ref::new(0));
    let handle = global().thread_by_id(worker.id()).unwrap();
    send(&handle, &log, 0..2);
    (2..4).for_each(|id| handle.post(noting(&log, id)).unwrap());
    worker.join();
    assert_eq!((log.count(), global().snapshot().orphans), (0, 4));
    assert!(global().quiesce(LONG));
    assert_eq!(log.ids(), [0, 1, 2, 3]);
}

#[test]
fn thread_ends_and_what_the_last_orphan_autoreleases_is_released() {
    // This runs in a process of its own, so that no other thread runs the orphan.
    let log = alone!();
    let gone = fresh_to_the_end(me);
    fresh_to_the_end(move || {
        let other = PoolManager::new();
        let this = me();
        drop(AutoreleasePool::new());
        this.release(Ref::new(on_drop(move || {
            let _left_empty = other.push();
            gone.release(Ref::new(on_drop(move || {
                autorelease(Ref::new(log.probe(0)));
            })));
        })));
    });
    assert_eq!(log.ids(), [0]);
}

#[test]
fn thread_ends_and_a_first_use_of_a_manager_clears_none_away_meanwhile() {
    let log = log_to_the_end(|log| {
        let abandoned = PoolManager::new();
        abandoned.autorelease(Ref::new(log.probe(1)));
        autorelease(Ref::new(on_drop(move || {
            PoolManager::new().autorelease(Ref::new(0));
            log.note(0);
        })));
    });
    assert_eq!(log.ids(), [0, 1], "one manager after the other");
}

#[test]
fn thread_ends_with_a_leaked_guard_pool_that_keeps_no_remote_release() {
    for forgets in [false, true] {
        let log = log_to_the_end(move |log| {
            let pool = AutoreleasePool::new();
            if forgets {
                std::mem::forget(pool);
            }
            me().release(Ref::new(Heir(3, log)));
        });
        assert_eq!(log.ids(), [3, 2, 1, 0], "it leaks its own entries only");
    }
}

#[test]
fn thread_ends_with_leaked_guard_pools_of_two_managers_that_keep_nothing_that_was_sent() {
    let log = log_to_the_end(|log| {
        let others = [(); 2].map(|()| PoolManager::new());
        others.iter().for_each(|other| forget(other.pool()));
        let fills = |first| {
            let others = others.clone();
            on_drop(move || {
                let ids = first..;
                (others.iter().zip(ids))
                    .for_each(|(other, id)| other.autorelease(Ref::new(log.probe(id))));
            })
        };
        me().release(Ref::new(fills(0)));
        let mut sent = HandoffPool::new();
        sent.create(fills(2));
        sent.drain_on(&me());
        let homely = HomeRef::new(fills(4));
        fresh(|| drop(homely));
    });
    assert_eq!(log.sorted(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn thread_ends_inside_a_destructor_that_runs_the_whole_crate() {
    let log = log_to_the_end(|log| {
        autorelease(Ref::new(on_drop(move || {
            let mut pool = AutoreleasePool::new();
            pool.create(log.probe(0));
            autorelease(Ref::new(log.probe(1)));
            pool.drain();
            let token = global().push();
            autorelease(Ref::new(log.probe(2)));
            assert_eq!(global().pop(token), Ok(1));
            let manager = PoolManager::new();
            manager.autorelease(Ref::new(log.probe(3)));
            assert!(me().is_alive());
            assert_eq!(global().drain_root(), 0);
            global().run_inbox();
        })));
    });
    assert_eq!(log.ids(), [1, 0, 2, 3]);
}

#[test]
fn a_thread_that_only_made_objects_ends_quietly() {
    let log = Log::new();
    let object = fresh(move || Ref::new(log.probe(0)));
    let events = events_of_thread_named("fresh", || drop(Ref::new(1)));
    assert!(events.is_empty(), "{events:?}");
    drop(object);
    assert_eq!(log.ids(), [0]);
}

#[test]
fn thread_ends_with_a_leaked_guard_pool_that_keeps_nothing_of_a_hot_object() {
    // This runs in a process of its own, so that no other thread releases the object.
    let log = alone!();
    let last = log.probe(0);
    let home = fresh_to_the_end(move || {
        Box::leak(Box::new(AutoreleasePool::new()));
        drop(hot(on_drop(|| autorelease(Ref::new(last)))));
        here()
    });
    assert_died(&log, &[0], home);
}

#[test]
fn a_thread_that_exits_destroys_itself_what_it_drops_later() {
    let log = alone!();
    drop_later(());
    let exit = fresh_to_the_end(move || {
        autorelease(Ref::new(on_drop(move || drop_later(log.probe(0)))));
        here()
    });
    assert_eq!(log.threads(), [exit]);
}

#[test]
fn thread_ends_and_what_the_hook_autoreleases_when_a_token_pool_is_closed_is_released() {
    static RELEASED: AtomicUsize = AtomicUsize::new(0);
    fresh_to_the_end(|| {
        react(|event| {
            if event.kind == EventKind::Panic {
                let count = || _ = RELEASED.fetch_add(1, Ordering::Relaxed);
                autorelease(Ref::new(on_drop(count)));
            }
        });
        let _left = global().push();
        autorelease(Ref::new(Bomb("in a token pool")));
    });
    assert_eq!(RELEASED.load(Ordering::Relaxed), 1);
}

/// Panics when it is dropped, unless its number is 0.
struct Loud(u32, Log);

impl Drop for Loud {
    fn drop(&mut self) {
        self.1.note(self.0);
        assert_eq!(self.0, 0, "on purpose");
    }
}

#[test]
fn thread_ends_and_hot_objects_that_die_while_it_reports_panics_are_released_there() {
    thread_local!(static NEXT: Cell<Option<(u32, Log)>> = const { Cell::new(None) });
    // This runs in a process of its own, so that no other thread releases the objects.
    let log = alone!();
    let home = fresh_to_the_end(move || {
        NEXT.set(Some((1, log)));
        react(|event| {
            if let (EventKind::Panic, Some((id, log))) = (event.kind, NEXT.get()) {
                NEXT.set(id.checked_sub(1).map(|id| (id, log)));
                drop(hot(Loud(id, log)));
            }
        });
        drop(hot(Loud(2, log)));
        here()
    });
    assert_died(&log, &[2, 1, 0], home);
}
