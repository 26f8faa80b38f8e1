//! Slots on real threads, for the checkers. Two readers and a writer are more than loom can go
//! through, so this is sampling.

use super::objects::scenario::*;
use super::rounds;
use crate::support::wait_until;
use releasepool::slot::SlotCache;
use releasepool::{AutoreleasePool, PoolManager, PoolRef, Ref, Slot};
use std::time::Duration;

fn probe() -> Ref<Probe> {
    Ref::new(Probe::new())
}

/// Waits until as many have died at least, by whichever drain comes first.
fn died(least: usize) {
    wait_until(|| {
        PoolManager::global().quiesce(Duration::ZERO);
        deaths().len() >= least
    });
}

#[test]
fn two_readers_and_a_writer() {
    rounds(4, || {
        let slot = Arc::new(Slot::new(probe()));
        let readers = [(); 2].map(|()| {
            spawn_with(&slot, |slot| {
                let mut pool = AutoreleasePool::new();
                let first = slot.load(&pool);
                first.look();
                let second = slot.load(&pool);
                second.look();
                first.look();
                let kept = PoolRef::retain(first);
                pool.drain();
                kept.look();
                slot.load_full().look();
            })
        });
        let writer = spawn_with(&slot, |slot| {
            slot.store(probe());
            slot.swap(probe()).look();
            drop(AutoreleasePool::new());
        });
        go();
        join_all(readers);
        writer.join();
        drop(slot);
        died(3);
        assert_eq!(deaths().len(), 3);
    });
}

#[test]
fn two_writers_and_a_reader() {
    rounds(4, || {
        let slot = Arc::new(Slot::new(probe()));
        let writers = [(); 2].map(|()| {
            spawn_with(&slot, |slot| {
                let made = slot.rcu(|before| {
                    before.look();
                    probe()
                });
                made.look();
                let current = slot.load_full();
                match slot.compare_exchange(&current, probe()) {
                    Ok(before) | Err(before) => before.look(),
                }
            })
        });
        let reader = spawn_with(&slot, |slot| {
            let pool = AutoreleasePool::new();
            slot.load(&pool).look();
        });
        go();
        join_all(writers);
        reader.join();
        drop(slot);
        // `rcu` may have been called again, and made others.
        died(5);
    });
}

#[test]
fn two_caches_and_a_writer() {
    rounds(4, || {
        let version = |n: u32| Ref::new((n, Probe::new()));
        let slot = Arc::new(Slot::new(version(0)));
        let readers = [(); 2].map(|()| {
            let mut cache = SlotCache::new(slot.clone());
            spawn(move || {
                let first = cache.load().clone();
                let second = cache.load().clone();
                cache.clear();
                first.1.look();
                second.1.look();
                assert!(first.0 <= second.0 && second.0 <= cache.load().0);
                cache
            })
        });
        let writer = spawn_with(&slot, move |slot| {
            slot.store(version(1));
            slot.store(version(2));
        });
        go();
        writer.join();
        for mut cache in join_all(readers) {
            assert_eq!(cache.load().0, 2, "after all stores");
        }
        drop(slot);
        died(3);
        assert_eq!(deaths().len(), 3);
    });
}
