//! Handoff pools, which another thread drains.

use crate::support::{Log, alone, fresh, global, here, me, on_drop, panic_of};
use releasepool::{AutoreleasePool, HandoffPool, PoolRef, Ref, autoreleasepool, unsize};
use std::fmt::Display;

#[test]
fn all_entries_are_released_by_the_other_thread_newest_first() {
    let log = Log::new();
    let home = me();
    let here = here();
    fresh(|| {
        let mut pool = HandoffPool::new();
        for id in 0..1_000 {
            assert_eq!(pool.create(log.probe(id)).id, id);
        }
        assert_eq!((pool.len(), pool.drain_on(&home)), (1_000, 1_000));
        assert!(pool.is_empty());
        // The pool can be used again.
        pool.create(log.probe(1_000));
        assert_eq!(pool.drain_on(&home), 1);
        assert_eq!(pool.drain_on(&home), 0, "an empty pool sends no message");
        autoreleasepool(|_| ());
    });
    assert_eq!(log.count(), 0);
    autoreleasepool(|_| ());
    let mut order: Vec<u32> = (0..1_000).rev().collect();
    order.push(1_000);
    assert_eq!(log.ids(), order);
    assert!(log.threads().iter().all(|&thread| thread == here));
}

#[test]
fn retained_objects_outlive_the_handoff() {
    let log = Log::new();
    let mut pool = HandoffPool::new();
    let kept = PoolRef::retain(pool.create(log.probe(1)));
    let twice = pool.autorelease(kept.clone());
    assert_eq!(twice.id, 1);
    assert_eq!(pool.drain_on(&me()), 2);
    assert_eq!(Ref::strong_count(&kept), 3);
    autoreleasepool(|_| ());
    assert_eq!((Ref::strong_count(&kept), log.count()), (1, 0));
}

#[test]
fn unsized_objects_can_be_handed_over() {
    let mut pool = HandoffPool::new();
    let shown = unsize!(Ref::new(7) => dyn Display + Send + Sync);
    assert_eq!(pool.autorelease(shown).to_string(), "7");
    assert_eq!(&*pool.autorelease(Ref::<str>::from("text")), "text");
    assert_eq!(pool.autorelease(Ref::<[u8]>::from(&b"bytes"[..])).len(), 5);
    pool.drain_on(&me());
    autoreleasepool(|_| ());
}

#[test]
fn pool_that_is_dropped_or_drained_releases_on_its_own_thread() {
    let log = Log::new();
    let mut pool = HandoffPool::new();
    pool.create(log.probe(1));
    pool.create(log.probe(2));
    assert!(!pool.is_empty() && format!("{pool:?}").contains("len: 2"));
    assert_eq!(pool.drain(), 2);
    pool.create(log.probe(3));
    drop(pool);
    assert_eq!(log.ids(), [2, 1, 3]);
    drop(HandoffPool::default());
}

#[test]
fn panic_in_a_drain_here_is_resumed_when_all_entries_are_released() {
    let log = Log::new();
    let mut pool = HandoffPool::new();
    pool.create(log.probe(0));
    pool.create(on_drop(|| panic!("loud")));
    pool.create(log.probe(1));
    assert_eq!(panic_of(|| pool.drain()), "loud");
    assert_eq!((log.ids(), pool.len()), (vec![1, 0], 0));
}

#[test]
fn a_handoff_pool_is_never_current() {
    let log = Log::new();
    autoreleasepool(|_| {
        let pool = HandoffPool::new();
        releasepool::autorelease(Ref::new(log.probe(1)));
        assert!(pool.is_empty());
        drop(pool);
        assert_eq!(log.count(), 0);
    });
    assert_eq!(log.count(), 1);
}

#[test]
fn destructors_that_panic_on_the_other_thread_lose_nothing() {
    let log = Log::new();
    let mut pool = HandoffPool::new();
    pool.create(log.probe(1));
    pool.create(on_drop(|| panic!("the second")));
    pool.create(log.probe(2));
    pool.create(on_drop(|| panic!("the first")));
    pool.create(log.probe(3));
    pool.drain_on(&me());
    let mut here = AutoreleasePool::new();
    assert_eq!(panic_of(|| here.drain()), "the first");
    assert_eq!(log.ids(), [3, 2, 1]);
    assert_eq!(here.drain(), 0);
}

#[test]
fn objects_autoreleased_by_destructors_are_released_in_the_same_drain() {
    let log = Log::new();
    let mut pool = HandoffPool::new();
    let inner = log.probe(2);
    pool.create(on_drop(move || releasepool::autorelease(Ref::new(inner))));
    pool.create(log.probe(1));
    pool.drain_on(&me());
    autoreleasepool(|_| ());
    assert_eq!(log.ids(), [1, 2]);
}

#[test]
fn snapshots_count_handed_over_entries() {
    alone!();
    let handle = me();
    let before = global().snapshot().thread(handle.key()).unwrap().totals;
    let mut pool = HandoffPool::new();
    (0..300).for_each(|n| _ = pool.create(n));
    pool.drain_on(&handle);
    assert_eq!(global().snapshot().live_objects(), 300);
    autoreleasepool(|_| ());
    let after = global().snapshot();
    assert_eq!(after.live_objects(), 0);
    let totals = after.thread(handle.key()).unwrap().totals;
    assert_eq!(totals.handed_over - before.handed_over, 300);
    assert_eq!(totals.destroyed - before.destroyed, 300);
}
