//! Slots on real threads, for the checkers: see `races`. Two readers and a writer are
//! more than loom can go through, so this is sampling.

use crate::races::{Line, ROUNDS, Watched};
use crate::support::{Log, wait_until};
use releasepool::{AutoreleasePool, PoolManager, PoolRef, Ref, Slot, SlotCache};
use std::sync::Arc;
use std::time::Duration;

/// Waits until all have died, by whichever drain comes first.
fn all_died(log: &Log, n: usize) {
    wait_until(|| {
        PoolManager::global().quiesce(Duration::ZERO);
        log.count() == n
    });
    let mut ids = log.ids();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), n, "each once");
}

#[test]
fn two_readers_and_a_writer() {
    for _ in 0..ROUNDS / 4 + 1 {
        let log = Log::new();
        let slot = Arc::new(Slot::new(Ref::new(Watched::new(0, &log))));
        let line = Line::of(3);
        let readers = [(); 2].map(|()| {
            let slot = slot.clone();
            line.start(move || {
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
        let writer = {
            let (slot, log) = (slot.clone(), log.clone());
            line.start(move || {
                slot.store(Ref::new(Watched::new(1, &log)));
                slot.swap(Ref::new(Watched::new(2, &log))).look();
                drop(AutoreleasePool::new());
            })
        };
        for reader in readers {
            reader.join().unwrap();
        }
        writer.join().unwrap();
        drop(slot);
        all_died(&log, 3);
    }
}

#[test]
fn two_writers_and_a_reader() {
    for _ in 0..ROUNDS / 4 + 1 {
        let log = Log::new();
        let slot = Arc::new(Slot::new(Ref::new(Watched::new(0, &log))));
        let line = Line::of(3);
        let writers = [1, 2].map(|id| {
            let (slot, log) = (slot.clone(), log.clone());
            line.start(move || {
                let made = slot.rcu(|before| {
                    before.look();
                    Ref::new(Watched::new(id, &log))
                });
                made.look();
                let current = slot.load_full();
                let new = Ref::new(Watched::new(id + 2, &log));
                match slot.compare_exchange(&current, new) {
                    Ok(before) | Err(before) => before.look(),
                }
            })
        });
        let reader = slot.clone();
        let reader = line.start(move || {
            let pool = AutoreleasePool::new();
            reader.load(&pool).look();
        });
        for writer in writers {
            writer.join().unwrap();
        }
        reader.join().unwrap();
        drop(slot);
        // `rcu` may have been called again, and made others.
        wait_until(|| {
            PoolManager::global().quiesce(Duration::ZERO);
            log.count() >= 5
        });
    }
}

#[test]
fn two_caches_and_a_writer() {
    for _ in 0..ROUNDS / 4 + 1 {
        let log = Log::new();
        let slot = Arc::new(Slot::new(Ref::new(Watched::new(0, &log))));
        let line = Line::of(3);
        let readers = [(); 2].map(|()| {
            let mut cache = SlotCache::new(slot.clone());
            line.start(move || {
                let first = cache.load().clone();
                let second = cache.load().clone();
                cache.clear();
                first.look();
                second.look();
                assert!(first.id <= second.id && second.id <= cache.load().id);
                cache
            })
        });
        let writer = {
            let log = log.clone();
            line.start(move || {
                slot.store(Ref::new(Watched::new(1, &log)));
                slot.store(Ref::new(Watched::new(2, &log)));
            })
        };
        writer.join().unwrap();
        for reader in readers {
            let (mut cache, _) = reader.join().unwrap();
            assert_eq!(cache.load().id, 2, "after all stores");
        }
        all_died(&log, 3);
    }
}
