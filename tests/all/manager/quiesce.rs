//! `quiesce`. The tests run in processes of their own, because orphans belong to the whole process.

use crate::hot::handles::hot;
use crate::manager::thread_that_runs_an_orphan;
use crate::support::worker::Worker;
use crate::support::{
    LONG, Log, alone, fresh, fresh_to_the_end, global, me, on_drop, panic_of, wait_until,
};
use releasepool::{AutoreleasePool, Ref, Slot};
use std::sync::mpsc::channel;
use std::thread::{self};
use std::time::Duration;

#[test]
fn quiesce_waits_for_a_thread_that_is_running_an_orphan() {
    alone!();
    let (tell, told) = channel();
    let busy = thread_that_runs_an_orphan(told);
    // This thread's pool delays nothing, as nothing is retired.
    let (slot, pool) = (Slot::new(Ref::new(0)), AutoreleasePool::new());
    slot.load(&pool);
    let limit = Duration::from_millis(10);
    for _ in 0..2 {
        let start = std::time::Instant::now();
        assert!(!global().quiesce(limit), "it is not done");
        assert!(start.elapsed() >= limit);
    }
    let waiting = thread::spawn(|| global().quiesce(LONG));
    thread::sleep(limit);
    assert!(!waiting.is_finished(), "it waits");
    tell.send(()).unwrap();
    assert!(waiting.join().unwrap() && busy.join().unwrap());
}

#[test]
fn quiesce_runs_everything_that_is_deferred() {
    alone!();
    let log = Log::new();
    assert!(global().quiesce(Duration::ZERO));
    me().release(Ref::new(log.probe(0)));
    me().post(move || log.note(1)).unwrap();
    let gone = fresh(me);
    wait_until(|| !gone.is_alive());
    gone.release(Ref::new(log.probe(2)));
    let pool = AutoreleasePool::new();
    pool.create(log.probe(3));
    assert!(global().quiesce(LONG));
    // Without closures posted to live threads and entries of pools.
    assert_eq!(log.sorted(), [0, 2]);
    drop(pool);
    assert_eq!(global().run_inbox(), 1);
}

#[test]
fn quiesce_without_time_releases_what_is_retired_or_dead() {
    alone!();
    let log = Log::new();
    let slot = Slot::new(Ref::new(log.probe(0)));
    slot.store(Ref::new(log.probe(1)));
    assert!(global().quiesce(Duration::ZERO));
    assert_eq!(log.ids(), [0]);
    let worker = Worker::new("idle");
    worker.run(move || drop(hot(log.probe(2))));
    assert!(global().quiesce(Duration::ZERO));
    assert_eq!(log.ids(), [0, 2]);
    worker.join();
}

#[test]
fn quiesce_without_time_releases_what_an_orphaned_closure_lets_die() {
    alone!();
    let log = Log::new();
    let _this_thread_has_a_slot = global().current_thread();
    let last = hot(log.probe(0)).get();
    fresh_to_the_end(move || {
        me().post(move || drop(last)).unwrap();
    });
    assert_eq!(log.count(), 0);
    assert!(global().quiesce(Duration::ZERO));
    assert_eq!(log.count(), 1);
}

#[test]
fn quiesce_under_a_pool_that_holds_the_epoch_goes_on_while_anything_runs() {
    let log = alone!();
    let (slot, pool) = (Slot::new(Ref::new(0)), AutoreleasePool::new());
    slot.load(&pool);
    slot.store(Ref::new(1));
    let gone = fresh_to_the_end(me);
    let there = gone.clone();
    let closure = move || there.release(Ref::new(log.probe(0)));
    fresh_to_the_end(move || me().post(closure).unwrap());
    assert!(!global().quiesce(Duration::MAX));
    assert_eq!(log.ids(), [0], "the closure has sent it meanwhile");
    let worker = Worker::new("idle");
    let dies = on_drop(move || gone.release(Ref::new(log.probe(1))));
    worker.run(move || drop(hot(dies)));
    assert!(!global().quiesce(Duration::MAX));
    assert_eq!(log.ids(), [0, 1], "the destructor has sent it meanwhile");
    worker.join();
}

#[test]
fn quiesce_resumes_the_first_panic_after_everything_is_done() {
    alone!();
    let log = Log::new();
    let _this_thread_has_a_slot = global().current_thread();
    fresh_to_the_end(move || {
        for id in 0..3 {
            me().post(move || {
                log.note(id);
                panic!("closure {id}");
            })
            .unwrap();
        }
    });
    assert_eq!(panic_of(|| global().quiesce(LONG)), "closure 0");
    assert_eq!(log.ids(), [0, 1, 2]);
    assert!(global().quiesce(Duration::ZERO));
}

#[test]
fn quiesce_called_by_an_orphaned_closure_does_not_hang() {
    alone!();
    let log = Log::new();
    let _this_thread_has_a_slot = global().current_thread();
    fresh_to_the_end(move || {
        for id in 0..2 {
            me().post(move || {
                // It waits neither for the closure that calls it nor for the others, which it
                // runs.
                assert!(global().quiesce(LONG));
                log.note(id);
            })
            .unwrap();
        }
    });
    assert!(global().quiesce(LONG));
    assert_eq!(log.ids(), [1, 0]);
}
