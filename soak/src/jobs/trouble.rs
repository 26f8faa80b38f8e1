//! Destructors that panic or use pools.

use crate::bomb;
use crate::ledger::same;
use crate::payload::{Bomb, Busy, Item};
use crate::worker::Worker;
use releasepool::{AutoreleasePool, PoolManager, Ref, autorelease};

/// Bombs among other entries: the panic of the newest one propagates, and all other entries are
/// released nevertheless.
pub fn bombs(worker: &mut Worker) {
    let count = worker.rng.u64(1..4);
    if !bomb::may(count as i64) {
        return;
    }
    let manager = PoolManager::global();
    let mut pool = AutoreleasePool::named("bombs");
    let token = (count == 3).then(|| manager.push());
    let mut newest = 0;
    for n in 0..count {
        autorelease(Ref::new(Item::new(n)));
        newest = worker.stage.number();
        autorelease(Ref::new(Bomb::new(newest)));
    }
    autorelease(Ref::new(Item::new(count)));
    let got_out = match token {
        Some(token) => bomb::defuse(|| _ = manager.pop(token)),
        None => bomb::defuse(|| _ = pool.drain()),
    };
    same("the panic that gets out", got_out, Err(Some(newest)));
    same("entries after a panic", pool.len(), 0);
    pool.create(Item::new(3)).number();
}

/// Objects whose destructors use pools.
pub fn busy(worker: &mut Worker) {
    let generations = worker.rng.u32(0..6);
    let pool = AutoreleasePool::new();
    let entry = pool.create(Busy::new(generations));
    std::hint::black_box(&*entry);
    match worker.rng.u64(0..3) {
        0 => drop(pool),
        1 => drop(Ref::new(Busy::new(generations))),
        _ => autorelease(Ref::new(Busy::new(generations))),
    }
}

/// Bombs for the end of the thread, where their panics cannot propagate.
pub fn left_to_the_threads_end(worker: &mut Worker) {
    if !bomb::may(2) {
        return;
    }
    // The bombs must not go to the current pool, which may be a guard in a thread-local: their
    // panics would then propagate from its destructor, and end the process. The library drains this
    // token pool and the other manager's root pool itself.
    let _ = PoolManager::global().push();
    autorelease(Ref::new(Bomb::new(worker.stage.number())));
    PoolManager::new().autorelease(Ref::new(Bomb::new(worker.stage.number())));
}

/// Ends the worker by a panic that unwinds through a pool with a bomb in it.
pub fn out_of_the_thread(worker: &mut Worker) {
    if !bomb::may(2) {
        return;
    }
    let _pool = AutoreleasePool::new();
    autorelease(Ref::new(Bomb::new(worker.stage.number())));
    bomb::explode(worker.stage.number());
}
