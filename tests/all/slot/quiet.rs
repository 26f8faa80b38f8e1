//! A thread that has nothing to release, and only closes empty pools, still advances the epoch.

use crate::support::worker::Worker;
use crate::support::{Log, Probe, child};
use releasepool::{AutoreleasePool, Ref, Slot, autoreleasepool};
use std::sync::Arc;

/// Has the calling thread close empty pools, and asserts that the values die by that.
#[track_caller]
fn assert_that_closing_releases(log: &Log, values: usize) {
    let closed = (0..100).find(|_| {
        drop(AutoreleasePool::new());
        log.count() == values
    });
    assert!(closed.is_some(), "{} of {values} released", log.count());
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_thread_that_has_stored_once_releases_the_value_that_it_replaced() {
    child!(|| {
        let log = Log::new();
        let slot = Slot::new(Ref::new(log.probe(0)));
        slot.store(Ref::new(log.probe(1)));
        assert_eq!(log.count(), 0);
        assert_that_closing_releases(&log, 1);
    })
    .assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_thread_that_held_what_another_one_has_replaced_releases_it() {
    type Case = fn(&Slot<Probe>, &dyn Fn()) -> Option<AutoreleasePool>;
    let cases: [(&str, Case); 4] = [
        ("a pool that is drained", |slot, store| {
            let mut pool = AutoreleasePool::new();
            slot.load(&pool);
            store();
            pool.drain();
            Some(pool)
        }),
        ("a pool that is closed", |slot, store| {
            let pool = AutoreleasePool::new();
            slot.load(&pool);
            store();
            None
        }),
        ("a pool of a closure", |slot, store| {
            autoreleasepool(|pool| {
                slot.load(pool);
                store();
                None
            })
        }),
        ("the pin of `rcu`", |slot, store| {
            let value = slot.load_full();
            let mut first = true;
            slot.rcu(|_| {
                if std::mem::take(&mut first) {
                    store();
                }
                value.clone()
            });
            drop(value);
            None
        }),
    ];
    child!(|| {
        for (what, hold) in cases {
            eprintln!("{what}");
            let log = Log::new();
            let slot = Arc::new(Slot::new(Ref::new(log.probe(0))));
            let worker = Worker::new("stores");
            let (inner, shared) = (log.clone(), slot.clone());
            let _open = hold(&slot, &|| {
                let (log, slot) = (inner.clone(), shared.clone());
                worker.run(move || slot.store(Ref::new(log.probe(1))));
                assert_eq!(inner.count(), 0);
            });
            assert_that_closing_releases(&log, 1);
            worker.join();
        }
    })
    .assert_success();
}
