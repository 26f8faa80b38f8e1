//! Pools of every kind.

use crate::ledger::{LEDGER, fail, same};
use crate::payload::{Item, Stay};
use crate::worker::Worker;
use releasepool::{
    AutoreleasePool, PoolManager, PoolRef, Ref, RootPolicy, autorelease, autoreleasepool,
};
use std::thread;

/// More than fit on one page, sometimes.
const ENTRIES: u64 = 600;

pub fn nested(worker: &mut Worker) {
    let depth = worker.dice.in_range(1..5);
    nest(worker, depth);
}

fn nest(worker: &mut Worker, depth: u64) {
    let mut pool = if worker.dice.once_in(3) {
        AutoreleasePool::named(format!("level {depth}"))
    } else {
        AutoreleasePool::new()
    };
    let entries = worker.dice.in_range(0..ENTRIES);
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
    // It may also release what orphans autorelease.
    if (pool.drain() as u64) < entries + 1 {
        fail("a drain released too little");
    }
    if let Some(kept) = kept {
        same("what is kept", kept.number(), entries - 1);
        same("references to what is kept", Ref::strong_count(&kept), 1);
    }
}

pub fn out_of_order(worker: &mut Worker) {
    let count = worker.dice.in_range(2..6) as usize;
    let mut pools: Vec<_> = (0..count).map(|_| AutoreleasePool::new()).collect();
    let weak: Vec<_> = pools
        .iter()
        .map(|pool| PoolRef::downgrade(pool.create(Item::new(7))))
        .collect();
    let mut alive: Vec<usize> = (0..count).collect();
    while !pools.is_empty() {
        let victim = worker.dice.index(pools.len());
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
    // Without a pool.
    for n in 0..worker.dice.in_range(0..50) {
        autorelease(Ref::new(Item::new(n)));
    }
    if worker.dice.once_in(2) {
        PoolManager::global().drain_root();
    }
}

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
    // What is autoreleased to another manager is none of ours.
    autoreleasepool(|_| autorelease(Ref::new(Item::new(3))));
    match worker.dice.in_range(0..3) {
        0 => {
            drop(inner);
            if !manager.pop(token).is_ok_and(|released| released >= 1) {
                fail("an own manager's token could not be popped");
            }
            outer.drain();
        }
        1 => {
            // The manager goes first; its pools stay valid.
            drop(manager);
            drop(outer);
            same("entries after the manager is gone", inner.len(), 2);
        }
        _ => {
            // Something waits in the root pool of a manager that is gone.
            drop((inner, outer));
            let _ = manager.pop(token);
            manager.autorelease(Ref::new(Item::new(4)));
        }
    }
}

pub fn boundary(worker: &mut Worker) {
    let manager = PoolManager::builder()
        .root_watermark(10)
        .root_policy(RootPolicy::DrainAtBoundary)
        .build();
    for n in 0..worker.dice.in_range(5..15) {
        manager.autorelease(Ref::new(Item::new(n)));
        if n < 9 {
            same("a boundary below the watermark", manager.boundary(), 0);
        } else if n == 9 && manager.boundary() < 10 {
            fail("a boundary released too little");
        }
    }
}

/// A pool's objects, used by other threads without counting.
pub fn lent_to_threads(worker: &mut Worker) {
    // Threads cost more than other jobs.
    if !worker.dice.once_in(20) {
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
                // Kept in a pool of the other thread until its end.
                autorelease(PoolRef::retain(item));
            })
        });
        for helper in helpers {
            // The scope alone does not wait for the end of thread-locals.
            if helper.join().is_err() {
                fail("a helper panicked");
            }
        }
    });
    same("entries after lending", pool.len(), 1);
}
