//! All kinds of pools.

use crate::ledger::{LEDGER, fail, same};
use crate::payload::{Item, Stay};
use crate::worker::Worker;
use releasepool::{
    AutoreleasePool, PoolManager, PoolRef, Ref, RootPolicy, autorelease, autoreleasepool,
};
use std::thread;

/// The largest number of entries: more than fit on one page.
const ENTRIES: u64 = 600;

/// Pools inside pools.
pub fn nested(worker: &mut Worker) {
    let depth = worker.rng.u64(1..5);
    nest(worker, depth);
}

fn nest(worker: &mut Worker, depth: u64) {
    let mut pool = if worker.once_in(3) {
        AutoreleasePool::named(format!("level {depth}"))
    } else {
        AutoreleasePool::new()
    };
    let entries = worker.rng.u64(0..ENTRIES);
    let lent: Vec<_> = (0..entries).map(|n| pool.create(Item::new(n))).collect();
    pool.create(Stay::new()).mark.look();
    if depth > 0 {
        nest(worker, depth - 1);
    }
    for (n, item) in (0..).zip(&lent) {
        same("an entry's number", item.number(), n);
    }
    let kept = lent.last().map(|item| PoolRef::retain(*item));
    same("a pool's length", pool.len() as u64, entries + 1);
    // It may be more: destructors of orphans may autorelease, too.
    if (pool.drain() as u64) < entries + 1 {
        fail("a drain released too little");
    }
    if let Some(kept) = kept {
        same("what is kept", kept.number(), entries - 1);
        same("references to what is kept", Ref::strong_count(&kept), 1);
    }
}

/// Pools that are closed in random order.
pub fn out_of_order(worker: &mut Worker) {
    let count = worker.rng.usize(2..6);
    let mut pools: Vec<_> = (0..count).map(|_| AutoreleasePool::new()).collect();
    let weak: Vec<_> = pools
        .iter()
        .map(|pool| PoolRef::downgrade(pool.create(Item::new(7))))
        .collect();
    let mut alive: Vec<usize> = (0..count).collect();
    while !pools.is_empty() {
        let victim = worker.rng.usize(..pools.len());
        drop(pools.remove(victim));
        let dead = alive.remove(victim);
        for (n, weak) in weak.iter().enumerate() {
            let lives = weak.strong_count() > 0;
            if lives != alive.contains(&n) {
                fail(format!(
                    "pool {dead} of {count} closed, entry {n} alive: {lives}"
                ));
            }
        }
    }
}

/// Autoreleasing to the current pool, and without any pool.
pub fn implicit(worker: &mut Worker) {
    let weak = autoreleasepool(|pool| {
        let item = pool.create(Item::new(1));
        autorelease(Ref::new(Stay::new()));
        Ref::autorelease(PoolRef::retain(item));
        PoolRef::downgrade(item)
    });
    if weak.upgrade().is_some() {
        fail("an object outlived its autoreleasepool");
    }
    // Without a pool: to the root pool.
    for n in 0..worker.rng.u64(0..50) {
        autorelease(Ref::new(Item::new(n)));
    }
    if worker.once_in(2) {
        PoolManager::global().drain_root();
    }
}

/// Pools of another manager, which may be dropped before they are.
pub fn own_manager(worker: &mut Worker) {
    let name = format!("manager {}", worker.stage.number());
    let manager = PoolManager::builder().name(name).build();
    let mut outer = manager.pool();
    let token = manager.push();
    manager.autorelease(Ref::new(Item::new(1)));
    let inner = manager.named_pool("inner");
    manager.autorelease(Ref::new(Stay::new()));
    inner.create(Item::new(2));
    same("entries of an own manager's pool", inner.len(), 2);
    // An autorelease to the global manager does not reach the pools of this one.
    autoreleasepool(|_| autorelease(Ref::new(Item::new(3))));
    match worker.rng.u64(0..3) {
        0 => {
            drop(inner);
            if !manager.pop(token).is_ok_and(|released| released >= 1) {
                fail("an own manager's token could not be popped");
            }
            outer.drain();
        }
        1 => {
            // The manager is dropped first; its pools stay valid.
            drop(manager);
            drop(outer);
            same("entries after the manager is gone", inner.len(), 2);
        }
        _ => {
            // An object waits in the root pool of a manager that is dropped.
            drop((inner, outer));
            let _ = manager.pop(token);
            manager.autorelease(Ref::new(Item::new(4)));
        }
    }
}

/// A root pool that is drained at boundaries, once it has enough entries.
pub fn boundary(worker: &mut Worker) {
    let manager = PoolManager::builder()
        .root_watermark(10)
        .root_policy(RootPolicy::DrainAtBoundary)
        .build();
    for n in 0..worker.rng.u64(5..15) {
        manager.autorelease(Ref::new(Item::new(n)));
        if n < 9 {
            same("a boundary below the watermark", manager.boundary(), 0);
        } else if n == 9 && manager.boundary() < 10 {
            fail("a boundary released too little");
        }
    }
}

/// Objects of a pool, lent to other threads without counting.
pub fn lent_to_threads(worker: &mut Worker) {
    // Rare, because threads cost more than other jobs.
    if !worker.once_in(20) {
        return;
    }
    let pool = AutoreleasePool::new();
    let item = pool.create(Item::new(5));
    thread::scope(|scope| {
        let helpers = [(); 2].map(|()| {
            LEDGER.threads.add(1);
            scope.spawn(move || {
                same("a lent number", item.number(), 5);
                drop(PoolRef::retain(item));
                // Waits in the helper's root pool until the helper ends.
                autorelease(PoolRef::retain(item));
            })
        });
        for helper in helpers {
            // The scope alone does not wait until thread-locals are destroyed.
            if helper.join().is_err() {
                fail("a helper panicked");
            }
        }
    });
    same("entries after lending", pool.len(), 1);
}
