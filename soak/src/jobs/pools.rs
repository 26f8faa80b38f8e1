//! All kinds of pools.

use crate::ledger::{LEDGER, fail, same};
use crate::payload::{Item, Stay};
use crate::worker::Worker;
use releasepool::{AutoreleasePool, PoolManager, PoolRef, Ref, autorelease, autoreleasepool};
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
