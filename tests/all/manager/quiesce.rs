//! `quiesce`. The tests run in processes of their own, because orphans belong to the whole process.

use crate::hot::handles::hot;
use crate::manager::thread_that_runs_an_orphan;
use crate::support::worker::Worker;
use crate::support::{LONG, Log, child, fresh, fresh_to_the_end, panic_of, wait_until};
use releasepool::{AutoreleasePool, PoolManager, Ref, Slot};
use std::sync::mpsc::channel;
use std::thread::{self};
use std::time::Duration;

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn quiesce_waits_for_a_thread_that_is_running_an_orphan() {
    child!(|| {
        let (tell, told) = channel();
        let busy = thread_that_runs_an_orphan(told);
        let manager = PoolManager::global();
        let limit = Duration::from_millis(10);
        let start = std::time::Instant::now();
        assert!(!manager.quiesce(limit), "it is not done");
        assert!(start.elapsed() >= limit);
        let waiting = thread::spawn(|| PoolManager::global().quiesce(LONG));
        thread::sleep(limit);
        assert!(!waiting.is_finished(), "it waits");
        tell.send(()).unwrap();
        assert!(waiting.join().unwrap() && busy.join().unwrap());
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn quiesce_runs_everything_that_is_deferred() {
    child!(|| {
        let log = Log::new();
        let manager = PoolManager::global();
        assert!(manager.quiesce(Duration::ZERO));
        let me = manager.current_thread().unwrap();
        me.release(Ref::new(log.probe(0)));
        let closures = log.clone();
        me.post(move || closures.note(1)).unwrap();
        let gone = fresh(|| manager.current_thread().unwrap());
        wait_until(|| !gone.is_alive());
        gone.release(Ref::new(log.probe(2)));
        let pool = AutoreleasePool::new();
        pool.create(log.probe(3));
        assert!(manager.quiesce(LONG));
        let mut ids = log.ids();
        ids.sort_unstable();
        assert_eq!(
            ids,
            [0, 2],
            "without closures posted to live threads and entries of pools"
        );
        drop(pool);
        assert_eq!(manager.run_inbox(), 1);
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn quiesce_without_time_releases_what_is_retired_or_dead() {
    child!(|| {
        let log = Log::new();
        let slot = Slot::new(Ref::new(log.probe(0)));
        slot.store(Ref::new(log.probe(1)));
        assert!(PoolManager::global().quiesce(Duration::ZERO));
        assert_eq!(log.ids(), [0]);
        let (inner, worker) = (log.clone(), Worker::new("idle"));
        worker.run(move || drop(hot(inner.probe(2))));
        assert!(PoolManager::global().quiesce(Duration::ZERO));
        assert_eq!(log.ids(), [0, 2]);
        worker.join();
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn quiesce_without_time_releases_what_an_orphaned_closure_lets_die() {
    child!(|| {
        let log = Log::new();
        let manager = PoolManager::global();
        let _this_thread_has_a_slot = manager.current_thread();
        let last = hot(log.probe(0)).get();
        fresh_to_the_end(move || {
            let me = manager.current_thread().unwrap();
            me.post(move || drop(last)).unwrap();
        });
        assert_eq!(log.count(), 0);
        assert!(manager.quiesce(Duration::ZERO));
        assert_eq!(log.count(), 1);
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn quiesce_resumes_the_first_panic_after_everything_is_done() {
    child!(|| {
        let log = Log::new();
        let manager = PoolManager::global();
        let _this_thread_has_a_slot = manager.current_thread();
        let closures = log.clone();
        fresh_to_the_end(move || {
            let me = manager.current_thread().unwrap();
            for id in 0..3 {
                let log = closures.clone();
                me.post(move || {
                    log.note(id);
                    panic!("closure {id}");
                })
                .unwrap();
            }
        });
        assert_eq!(panic_of(|| manager.quiesce(LONG)), "closure 0");
        assert_eq!(log.ids(), [0, 1, 2]);
        assert!(manager.quiesce(Duration::ZERO));
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn quiesce_called_by_an_orphaned_closure_does_not_hang() {
    child!(|| {
        let log = Log::new();
        let manager = PoolManager::global();
        let _this_thread_has_a_slot = manager.current_thread();
        let closures = log.clone();
        fresh_to_the_end(move || {
            let me = manager.current_thread().unwrap();
            for id in 0..2 {
                let log = closures.clone();
                me.post(move || {
                    // It waits neither for the closure that calls it nor for the others, which it
                    // runs.
                    assert!(manager.quiesce(LONG));
                    log.note(id);
                })
                .unwrap();
            }
        });
        assert!(manager.quiesce(LONG));
        assert_eq!(log.ids(), [1, 0]);
    })
    .assert_success();
}
