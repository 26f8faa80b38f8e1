//! Chains, slot caches, and values that are destroyed later.

use crate::ledger::fail;
use crate::payload::{Chain, Item, Thing, Tree};
use crate::worker::Worker;
use releasepool::{AutoreleasePool, Later, Ref, SlotCache, drop_later};

/// How many nodes a long chain has.
const LONG: u64 = 100_000;

/// A chain, which must be destroyed without recursion.
pub fn chain(worker: &mut Worker) {
    // Long ones are rare, because they take as long as many other jobs.
    let length = match worker.rng.u64(0..500) {
        0 => LONG,
        _ => worker.rng.u64(1..500),
    };
    let chain = Chain::new(length);
    match worker.rng.u64(0..4) {
        0 => drop(chain),
        1 => drop(AutoreleasePool::new().autorelease(chain).objects()),
        // Only short ones, so that the UI thread keeps up.
        2 if length < LONG => worker.stage.ui.release(chain),
        _ => Ref::autorelease(chain),
    }
}

/// Loads from a slot that all workers use, through a cache, and replaces its object.
pub fn cached(worker: &mut Worker) {
    let mut cache = SlotCache::new(worker.stage.cached());
    let mut newest = 0;
    for _ in 0..worker.rng.u64(1..50) {
        let number = cache.load().number();
        if number < newest {
            fail(format!("item {number} is loaded after {newest}"));
        }
        newest = number;
        match worker.rng.u64(0..10) {
            0 => {
                let new = cache
                    .slot()
                    .rcu(|item| Ref::new(Item::new(item.number() + 1)));
                newest = new.number();
            }
            1 => cache.clear(),
            _ => {}
        }
    }
}

/// Leaves values to the reclaimer of the process.
pub fn later(worker: &mut Worker) {
    let items = (0..worker.rng.u64(1..20)).map(Item::new);
    drop_later(items.collect::<Vec<_>>());
    drop_later(Chain::new(worker.rng.u64(1..500)));
    let tree = Later::new(Tree::new(3, 2));
    tree.look();
}
