//! Budgets, backlogs and loops. `shutdown` and `quiesce` succeed only if no hot object is dead and
//! not released.

#![cfg(not(miri))] // Miri starts no processes.

use super::handles::hot;
use crate::frame::{id_of, looper, quick};
use crate::support::{
    LONG, Log, Probe, Worker, alone, counts, fresh_to_the_end, global, me, on_drop, wait_until,
    with_log,
};
use releasepool::{AutoreleasePool, Budget, HotRef, Ref, autorelease};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

#[test]
fn a_budget_limits_how_many_die_and_the_rest_waits() {
    alone!(with_log(|log| {
        (0..5).for_each(|id| drop(hot(log.probe(id))));
        let alive = hot(log.probe(9));
        drop(alive.get());
        let mut pool = AutoreleasePool::new();
        assert_eq!(counts(pool.drain_within(Budget::Count(0))), (0, 5));
        assert_eq!(log.count(), 0);
        assert_eq!(counts(pool.drain_within(Budget::Count(3))), (3, 2));
        drop(pool);
        assert_eq!(log.count(), 3, "closing it releases only its own entries");
        assert_eq!(counts(global().drain_backlog(Budget::All)), (2, 0));
        assert_eq!(log.count(), 5);
    }));
}

#[test]
fn they_take_turns_with_entries() {
    alone!(with_log(|log| {
        (100..200).for_each(|id| drop(hot(log.probe(id))));
        let mut pool = AutoreleasePool::new();
        for id in 0..100 {
            pool.create(log.probe(id));
        }
        assert_eq!(counts(pool.drain_within(Budget::Count(100))), (100, 100));
        let died = log.ids().iter().filter(|id| **id >= 100).count();
        assert!((20..80).contains(&died), "{died}");
        drop(pool);
        drop(AutoreleasePool::new());
        global().drain_backlog(Budget::All);
        assert_eq!(log.count(), 200);
    }));
}

#[test]
fn what_a_thread_leaves_in_its_budget_dies_in_its_exit() {
    alone!(with_log(|log| {
        let inner = log.clone();
        let exit = fresh_to_the_end(move || {
            (0..5).for_each(|id| drop(hot(inner.probe(id))));
            AutoreleasePool::new().drain_within(Budget::Count(2));
            assert_eq!(inner.count(), 2);
            thread::current().id()
        });
        assert_eq!(log.threads(), [exit; 5]);
    }));
}

#[test]
fn a_drain_releases_what_dies_with_an_entry_that_a_message_has_added() {
    alone!(with_log(|log| {
        let last = hot(log.probe(0)).get();
        me().release(Ref::new(on_drop(|| autorelease(Ref::new(last)))));
        drop(AutoreleasePool::new());
        assert_eq!(log.count(), 1);
    }));
}

#[test]
fn a_frame_releases_them_at_its_end() {
    alone!(with_log(|log| {
        let drained = quick().tick(|_| {
            (0..100).for_each(|id| drop(hot(log.probe(id))));
            drop(AutoreleasePool::new());
            // Inside a frame, sixteen at a time.
            assert!((1..=16).contains(&log.count()), "{}", log.count());
        });
        let drained = drained.drained;
        assert_eq!(log.count(), 100);
        assert!((84..100).contains(&drained.released), "{drained}");
    }));
}

#[test]
fn a_looper_releases_them_before_it_sleeps() {
    alone!(with_log(|log| {
        let inner = log.clone();
        let looper = looper();
        looper.post(move || drop(hot(inner.probe(1)))).unwrap();
        wait_until(|| log.count() == 1);
        assert_eq!(log.threads(), [id_of(&looper)]);
    }));
}

#[test]
fn a_loop_does_not_sleep_before_it_has_released_what_a_budget_left() {
    alone!(with_log(|log| {
        let inner = log.clone();
        let looper = looper();
        let slow = move || {
            for id in 0..50 {
                let probe = inner.probe(id);
                drop(hot(on_drop(move || {
                    thread::sleep(Duration::from_millis(1));
                    drop(probe);
                })));
            }
        };
        looper.post(slow).unwrap();
        wait_until(|| log.count() == 50);
    }));
}

/// Returns the last handle to a hot object.
fn last_handle(log: &Log) -> HotRef<Probe> {
    hot(log.probe(0)).get()
}

/// Runs `f` in the destructor of an object.
fn in_a_destructor<R: 'static>(f: impl FnOnce() -> R + 'static) -> R {
    let (tell, told) = channel();
    drop(Ref::new(on_drop(move || tell.send(f()).unwrap())));
    told.recv().unwrap()
}

#[test]
fn shutdown_releases_what_dies_as_it_empties_the_backlog_or_the_root_pool() {
    let holders: [fn(HotRef<Probe>); 3] = [
        |last| {
            let mut pool = AutoreleasePool::new();
            pool.create(last);
            pool.drain_within(Budget::Count(0));
        },
        |last| autorelease(Ref::new(last)),
        // It dies with another one.
        |last| autorelease(Ref::new(hot(last).get())),
    ];
    alone!(|| {
        for (case, hold) in holders.into_iter().enumerate() {
            let log = Log::new();
            hold(last_handle(&log));
            assert_eq!(log.count(), 0);
            global().shutdown(LONG).unwrap();
            let snapshot = global().snapshot();
            assert_eq!((log.count(), snapshot.live_objects()), (1, 0), "{case}");
        }
    });
}

#[test]
fn inside_a_destructor_neither_succeeds_while_a_dead_object_waits() {
    const SHORT: Duration = Duration::from_millis(1);
    alone!(with_log(|log| {
        let last = last_handle(&log);
        let inner = log.clone();
        let (quiet, left) = in_a_destructor(move || {
            drop(last);
            let left = global().shutdown(SHORT).unwrap_err().hot;
            assert_eq!(inner.count(), 0);
            (global().quiesce(SHORT), left)
        });
        assert_eq!((quiet, left), (false, 1));
        global().shutdown(LONG).unwrap();
        assert_eq!(log.count(), 1);
    }));
}

#[test]
fn shutdown_releases_what_died_on_a_thread_that_is_idle() {
    alone!(with_log(|log| {
        let worker = Worker::new("idle");
        let last = last_handle(&log);
        worker.run(move || drop(last));
        assert_eq!(log.count(), 0);
        global().shutdown(LONG).unwrap();
        assert_eq!(log.threads(), [thread::current().id()]);
    }));
}
