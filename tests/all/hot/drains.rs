//! Budgets, backlogs and loops.

use super::handles::hot;
use crate::support::{Log, child, global, me, on_drop, wait_until};
use releasepool::{AutoreleasePool, Budget, FrameConfig, FrameLoop, Looper, Ref, autorelease};
use std::time::Duration;

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_budget_limits_how_many_die_and_the_rest_waits() {
    child!(|| {
        let log = Log::new();
        (0..5).for_each(|id| drop(hot(log.probe(id))));
        let alive = hot(log.probe(9));
        drop(alive.get());
        let mut pool = AutoreleasePool::new();
        let none = pool.drain_within(Budget::Count(0));
        assert_eq!((none.released, none.remaining, log.count()), (0, 5, 0));
        let some = pool.drain_within(Budget::Count(3));
        assert_eq!((some.released, some.remaining, log.count()), (3, 2, 3));
        drop(pool);
        assert_eq!(log.count(), 3, "closing it releases only its own entries");
        let rest = global().drain_backlog(Budget::All);
        assert_eq!((rest.released, rest.remaining, log.count()), (2, 0, 5));
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn they_take_turns_with_entries() {
    child!(|| {
        let log = Log::new();
        (100..200).for_each(|id| drop(hot(log.probe(id))));
        let mut pool = AutoreleasePool::new();
        for id in 0..100 {
            pool.create(log.probe(id));
        }
        let drained = pool.drain_within(Budget::Count(100));
        assert_eq!((drained.released, drained.remaining), (100, 100));
        let died = log.ids().iter().filter(|id| **id >= 100).count();
        assert!((20..80).contains(&died), "{died}");
        drop(pool);
        drop(AutoreleasePool::new());
        global().drain_backlog(Budget::All);
        assert_eq!(log.count(), 200);
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn what_a_thread_leaves_in_its_budget_dies_in_its_exit() {
    child!(|| {
        let log = Log::new();
        let inner = log.clone();
        let thread = std::thread::spawn(move || {
            (0..5).for_each(|id| drop(hot(inner.probe(id))));
            AutoreleasePool::new().drain_within(Budget::Count(2));
            assert_eq!(inner.count(), 2);
        });
        let id = thread.thread().id();
        thread.join().unwrap();
        assert_eq!(log.threads(), [id; 5]);
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_drain_releases_what_dies_with_an_entry_that_a_message_has_added() {
    child!(|| {
        let log = Log::new();
        let last = hot(log.probe(0)).get();
        me().release(Ref::new(on_drop(|| autorelease(Ref::new(last)))));
        drop(AutoreleasePool::new());
        assert_eq!(log.count(), 1);
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_frame_releases_them_at_its_end() {
    child!(|| {
        let log = Log::new();
        let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
        let report = frames.tick(|_| {
            (0..100).for_each(|id| drop(hot(log.probe(id))));
            drop(AutoreleasePool::new());
            assert!(
                (1..=16).contains(&log.count()),
                "inside a frame, sixteen at a time"
            );
        });
        assert_eq!(log.count(), 100);
        assert!(
            (84..100).contains(&report.drained.released),
            "{}",
            report.drained
        );
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_looper_releases_them_before_it_sleeps() {
    child!(|| {
        let log = Log::new();
        let inner = log.clone();
        let looper = Looper::spawn("looper").unwrap();
        let proxy = looper.proxy();
        proxy.post(move || drop(hot(inner.probe(1)))).unwrap();
        wait_until(|| log.count() == 1);
        let id = proxy.call(|| std::thread::current().id()).unwrap();
        assert_eq!(log.threads(), [id]);
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_loop_does_not_sleep_before_it_has_released_what_a_budget_left() {
    child!(|| {
        let log = Log::new();
        let inner = log.clone();
        let looper = Looper::spawn("looper").unwrap();
        let slow = move || {
            for id in 0..50 {
                let probe = inner.probe(id);
                drop(hot(on_drop(move || {
                    std::thread::sleep(Duration::from_millis(1));
                    drop(probe);
                })));
            }
        };
        looper.post(slow).unwrap();
        wait_until(|| log.count() == 50);
    })
    .assert_success();
}
