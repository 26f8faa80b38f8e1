//! The totals of a snapshot: everything that a thread has done counts once, also while threads
//! exit, and on a thread whose exit is over.

use crate::support::teardown::{ALWAYS, When, at_teardown};
use crate::support::{alone, global, listen, me};
use releasepool::report::Totals;
use releasepool::{AutoreleasePool, Ref, autoreleasepool};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Returns the totals of all threads, those that have exited included.
fn totals() -> Totals {
    let snapshot = global().snapshot();
    let threads = snapshot.threads.iter().map(|thread| thread.totals);
    threads.fold(snapshot.departed, |mut sum, thread| {
        sum.pools_pushed += thread.pools_pushed;
        sum.autoreleased += thread.autoreleased;
        sum.released += thread.released;
        sum.created += thread.created;
        sum.destroyed += thread.destroyed;
        sum.handed_over += thread.handed_over;
        sum
    })
}

#[test]
fn all_counts_once_while_threads_exit() {
    // This runs in a process of its own, as other tests make objects, too.
    alone!();
    const THREADS: u64 = 40;
    const EACH: u64 = 3;
    let here = me();
    for _ in 0..40 {
        let before = totals();
        let [ready, go] = [(); 2].map(|()| Barrier::new(THREADS as usize + 1));
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let work = || {
                autoreleasepool(|pool| {
                    (0..EACH).for_each(|_| _ = pool.create(0));
                });
                here.release(Ref::new(1));
                ready.wait();
                go.wait();
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
            ready.wait();
            // This makes the releases that were sent here: no figure changes from here on.
            drop(AutoreleasePool::new());
            let settled = totals();
            let made = THREADS * (EACH + 1);
            assert_eq!(settled.created, before.created + made);
            assert_eq!(settled.destroyed, before.destroyed + made);
            assert_eq!(settled.handed_over, before.handed_over + THREADS);
            assert_eq!(settled.pools_pushed, before.pools_pushed + THREADS + 1);
            assert_eq!(settled.released, before.released + THREADS * EACH);
            scope.spawn(|| {
                for thread in threads {
                    thread.join().unwrap();
                }
                over.store(true, Ordering::Release);
            });
            go.wait();
            while !over.load(Ordering::Acquire) {
                assert_eq!(totals().to_string(), settled.to_string());
            }
            assert_eq!(totals().to_string(), settled.to_string());
        });
    }
}

#[test]
fn objects_count_before_and_after_the_exit_of_their_thread() {
    alone!();
    listen();
    for when in ALWAYS {
        let before = totals();
        at_teardown(when, || {
            let objects = [(); 5].map(|()| Ref::new(0));
            drop(objects);
        });
        let after = totals();
        let made = [
            after.created - before.created,
            after.destroyed - before.destroyed,
        ];
        // `at_teardown` also makes objects when it uses the crate.
        let used = if when == When::FirstUse { 5 } else { 6 };
        assert_eq!(made, [used; 2], "{when:?}");
    }
}

#[test]
fn an_object_that_lives_all_the_time_is_in_every_snapshot() {
    alone!();
    let lives = Ref::new(0);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                drop(Ref::new(1));
            }
        });
        let alive = || global().snapshot().live_objects();
        let always = (0..10_000).all(|_| alive() >= 1);
        over.store(true, Ordering::Relaxed);
        assert!(always);
    });
    drop(lives);
}
