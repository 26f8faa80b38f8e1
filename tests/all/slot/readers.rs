//! Readers of slots that need no pool: `with`, and caches.

use super::slots::settle_until;
use crate::support::teardown::{ALWAYS, at_teardown};
use crate::support::{Log, Probe, on_drop, panic_of};
use releasepool::slot::{OptionSlot, SlotCache};
use releasepool::{AutoreleasePool, PoolManager, Ref, Slot};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn with_keeps_the_object_alive_while_it_runs_and_no_longer() {
    let log = Log::new();
    let slot = Slot::new(Ref::new(log.probe(1)));
    let seen = slot.with(|probe| {
        // Stores and reads of every kind inside.
        slot.store(Ref::new(log.probe(2)));
        drop(AutoreleasePool::new());
        let inner = slot.with(|probe| probe.id);
        let pool = AutoreleasePool::new();
        assert_eq!(slot.load(&pool).id, 2);
        (probe.id, inner)
    });
    assert_eq!((seen, log.count()), ((1, 2), 0));
    settle_until(|| log.ids() == [1]);
    assert_eq!(panic_of(|| slot.with(|_| panic!("bomb"))), "bomb");
    slot.store(Ref::new(log.probe(3)));
    // A panic has ended the pin, too.
    settle_until(|| log.ids() == [1, 2]);
    let option = OptionSlot::<str>::empty();
    assert!(option.with(|text| text.is_none()));
    option.store(Some("text".into()));
    assert_eq!(option.with(|text| text.map(str::len)), Some(4));
}

#[test]
fn slots_and_caches_work_while_thread_locals_are_destroyed() {
    for when in ALWAYS {
        let log = Log::new();
        let slot = Arc::new(Slot::new(Ref::new(log.probe(1))));
        let (there, next) = (slot.clone(), log.probe(2));
        at_teardown(when, move || {
            let pool = AutoreleasePool::new();
            assert_eq!((there.load(&pool).id, there.load_full().id), (1, 1));
            there.store(Ref::new(next));
            assert_eq!((there.load(&pool).id, there.with(|probe| probe.id)), (2, 2));
            let mut cache = SlotCache::new(there);
            assert_eq!(cache.load().id, 2);
        });
        assert_eq!(Arc::strong_count(&slot), 1);
        drop(slot);
        settle_until(|| log.count() == 2);
    }
}

#[test]
fn a_cache_sees_every_change_and_keeps_one_object() {
    let log = Log::new();
    let slot = Ref::new(Slot::new(Ref::new(log.probe(0))));
    let mut cache = SlotCache::new(slot.clone());
    for id in 1..5 {
        let first = Ref::as_ptr(cache.load());
        let before = Ref::strong_count(cache.load());
        assert_eq!(Ref::as_ptr(cache.load()), first);
        assert_eq!((Ref::strong_count(cache.load()), before), (2, 2));
        slot.store(Ref::new(log.probe(id)));
        settle_until(|| Ref::strong_count(&slot.load_full()) == 2);
        assert_eq!(log.count() as u32, id - 1, "the cache keeps the last one");
        assert_eq!(cache.load().id, id);
        // The cache drops it when it sees a change.
        assert_eq!(log.ids().last(), Some(&(id - 1)));
    }
    cache.clear();
    assert_eq!(Ref::strong_count(&slot.load_full()), 2);
    let mut other = cache.clone();
    assert_eq!((other.load().id, Ref::strong_count(&slot)), (4, 3));
    drop((cache, other, slot));
    settle_until(|| log.count() == 5);
}

#[test]
fn a_cache_has_the_next_object_when_it_drops_the_one_before() {
    let last = |f: fn()| Ref::new(on_drop(f));
    let slot = Slot::new(last(|| panic!("bomb")));
    let mut cache = SlotCache::new(&slot);
    cache.load();
    slot.store(last(|| ()));
    // The cache's is the last reference.
    settle_until(|| PoolManager::global().snapshot().orphans == 0);
    assert_eq!(panic_of(|| _ = cache.load()), "bomb");
    assert_eq!(Ref::as_ptr(cache.load()), Ref::as_ptr(&slot.load_full()));
}

/// arc-swap#210: small objects, one writer, versions only grow, addresses are reused at a high rate. A
/// reader that took an old object for a new one at its address would see versions that go back, or a
/// torn one. Each dies once.
#[test]
fn versions_only_grow_while_addresses_are_reused() {
    const STORES: u64 = if cfg!(miri) { 60 } else { 100_000 };
    // `ci/long.sh slots` sets a time, which goes on after these stores.
    let seconds = std::env::var("RELEASEPOOL_SECONDS").ok();
    let seconds = seconds.map_or(0, |n| n.parse().expect("a number of seconds"));
    let (start, time) = (Instant::now(), Duration::from_secs(seconds));
    static LIVE: AtomicUsize = AtomicUsize::new(0);
    struct Version(u64, u64);
    impl Version {
        fn new(n: u64) -> Ref<Self> {
            LIVE.fetch_add(1, Ordering::Relaxed);
            Ref::new(Self(n, !n))
        }
    }
    impl Drop for Version {
        fn drop(&mut self) {
            assert_eq!(self.0, !self.1, "died twice");
            self.1 = self.0;
            LIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let slot = Slot::new(Version::new(0));
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let read = |version: &Version, last: &mut u64| {
            assert_eq!(version.0, !version.1);
            assert!(version.0 >= *last, "{} after {last}", version.0);
            *last = version.0;
        };
        let (slot, is_done) = (&slot, &is_done);
        let done = || is_done.load(Ordering::Relaxed);
        scope.spawn(move || {
            let mut last = 0;
            while !done() {
                let pool = AutoreleasePool::new();
                (0..10).for_each(|_| read(&slot.load(&pool), &mut last));
            }
        });
        scope.spawn(move || {
            let (mut cache, mut last) = (SlotCache::new(slot), 0);
            while !done() {
                read(cache.load(), &mut last);
                slot.with(|version| read(version, &mut last));
                read(&slot.load_full(), &mut last);
            }
        });
        let mut version = 0;
        while version < STORES || start.elapsed() < time {
            // The clock is read after so many.
            for _ in 0..STORES {
                version += 1;
                let pool = AutoreleasePool::new();
                slot.store(Version::new(version));
                drop(pool);
            }
        }
        is_done.store(true, Ordering::Relaxed);
        assert_eq!(slot.load_full().0, version);
    });
    drop(slot);
    settle_until(|| LIVE.load(Ordering::Relaxed) == 0);
}

#[test]
fn caches_are_send_and_sync_if_the_slot_is_reached_from_everywhere() {
    fn check<T: Send + Sync>() {}
    check::<SlotCache<Arc<Slot<u8>>, u8>>();
    check::<SlotCache<&'static Slot<str>, str>>();
    let _: fn(&'static Slot<Probe>) -> SlotCache<&'static Slot<Probe>, Probe> = SlotCache::new;
}
