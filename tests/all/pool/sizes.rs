//! Pools with one, a few and many entries, which are drained in different ways: destructors cannot
//! tell these apart.

use crate::support::{Chain, Log, fresh, me, on_drop, panic_of, totals, with_log};
use releasepool::{AutoreleasePool, PoolRef, Ref, autorelease};

/// Numbers of entries. Up to sixteen are few.
const SIZES: [u32; 3] = [1, 3, 40];

/// Calls `f` with a log, a number of entries, and whether an object has a weak reference, for all of these.
fn each(f: impl Fn(Log, u32, bool) + Sync) {
    for size in SIZES {
        for has_weak in [false, true] {
            with_log(|log| f(log, size, has_weak));
        }
    }
}

/// Returns a pool that holds the probes from 1 on, one entry less than `size`.
fn almost_filled(log: Log, size: u32) -> AutoreleasePool {
    let pool = AutoreleasePool::new();
    (1..size).for_each(|id| _ = pool.create(log.probe(id)));
    pool
}

#[test]
fn the_pool_that_is_drained_is_current_below_an_open_one() {
    each(|log, size, _| {
        let mut outer = almost_filled(log, size);
        let inner = AutoreleasePool::new();
        let last = log.probe(0);
        outer.create(on_drop(|| autorelease(Ref::new(last))));
        assert_eq!(outer.drain(), size as usize + 1);
        assert!(inner.is_empty());
        assert_eq!(
            log.ids(),
            [0].into_iter().chain((1..size).rev()).collect::<Vec<_>>()
        );
    });
}

#[test]
fn the_pool_is_current_while_what_was_queued_is_destroyed() {
    each(|log, size, has_weak| {
        let mut outer = almost_filled(log, size);
        let inner = AutoreleasePool::new();
        let last = log.probe(0);
        let chain = Chain::ending_in(|| autorelease(Ref::new(last)));
        let _weak = has_weak.then(|| Ref::downgrade(&chain));
        outer.autorelease(chain);
        assert_eq!(outer.drain(), size as usize + 1);
        assert!(inner.is_empty());
        assert_eq!((log.count(), log.ids()[0]), (size as usize, 0));
    });
}

#[test]
fn what_a_destructor_sends_to_its_own_thread_the_same_drain_releases() {
    each(|log, size, _| {
        let mut pool = almost_filled(log, size);
        let (here, sent) = (me(), log.probe(0));
        pool.create(on_drop(move || here.release(Ref::new(sent))));
        assert_eq!(pool.drain(), size as usize);
        assert_eq!(log.ids().last(), Some(&0));
    });
}

#[test]
fn what_a_delivered_object_autoreleases_counts_as_released() {
    each(|log, size, _| {
        let mut pool = almost_filled(log, size);
        let last = log.probe(0);
        me().release(Ref::new(on_drop(|| autorelease(Ref::new(last)))));
        assert_eq!(pool.drain(), size as usize);
        assert_eq!(log.ids().last(), Some(&0));
    });
}

#[test]
fn the_panic_of_a_destructor_comes_before_those_of_what_it_has_queued() {
    each(|log, size, _| {
        let mut pool = almost_filled(log, size);
        let chain = Chain::ending_in(|| panic!("second"));
        pool.create(on_drop(|| {
            drop(chain);
            panic!("first");
        }));
        assert_eq!(panic_of(|| pool.drain()), "first");
        assert_eq!(log.count(), size as usize - 1);
    });
}

#[test]
fn an_entry_whose_destructor_panics_counts_as_released_and_its_object_as_destroyed() {
    each(|log, size, has_weak| {
        let figures = || [totals().released, totals().destroyed];
        let mut pool = almost_filled(log, size);
        let loud = Ref::new(on_drop(|| panic!("loud")));
        let _weak = has_weak.then(|| Ref::downgrade(&loud));
        pool.autorelease(loud);
        let before = figures();
        assert_eq!(panic_of(|| pool.drain()), "loud");
        assert_eq!(figures(), before.map(|n| n + u64::from(size)));
    });
}

#[test]
fn objects_of_several_types_in_any_order() {
    struct Small(u32);
    struct AsSmall(u32);
    struct Large(u32, [u32; 40]);
    // Each number is a pattern of kinds, the newest last: runs of each length, and changes between
    // all kinds.
    let patterns = if cfg!(miri) { 0..40 } else { 0..4_u32.pow(6) };
    fresh(|| {
        let mut pool = AutoreleasePool::new();
        for pattern in patterns {
            let log = Log::new();
            let kinds = (0..6).map(|at| (at, pattern / 4_u32.pow(at) % 4));
            let (mut small, mut large, mut probes) = (Vec::new(), Vec::new(), Vec::new());
            for (id, kind) in kinds {
                match kind {
                    0 => {
                        let made = pool.create(Small(id));
                        small.extend((id % 2 == 0).then(|| PoolRef::downgrade(made)));
                        assert_eq!(made.0, id);
                    }
                    1 => assert_eq!(pool.create(AsSmall(id)).0, id),
                    // Outlives the pool.
                    2 => large.push(PoolRef::retain(pool.create(Large(id, [id; 40])))),
                    _ => {
                        pool.create(log.probe(id));
                        probes.push(id);
                    }
                }
            }
            assert_eq!(pool.drain(), 6, "pattern {pattern}");
            assert!(pool.is_empty());
            probes.reverse();
            assert_eq!(log.ids(), probes, "pattern {pattern}");
            assert!(small.iter().all(|weak| weak.upgrade().is_none()));
            assert!(
                large
                    .iter()
                    .all(|r| Ref::strong_count(r) == 1 && r.0 == r.1[7])
            );
        }
    });
}
