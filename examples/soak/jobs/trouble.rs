//! Destructors that panic or use pools.

use crate::bomb;
use crate::ledger::same;
use crate::payload::{Bomb, Busy, Item};
use crate::worker::Worker;
use releasepool::{AutoreleasePool, PoolManager, Ref, autorelease};

/// Bombs between other entries: the newest one's panic gets out, all the rest is
/// released all the same.
pub fn bombs(worker: &mut Worker) {
    let count = worker.dice.in_range(1..4);
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

pub fn busy(worker: &mut Worker) {
    let generations = worker.dice.in_range(0..6) as u32;
    let pool = AutoreleasePool::new();
    let entry = pool.create(Busy::new(generations));
    std::hint::black_box(&*entry);
    match worker.dice.in_range(0..3) {
        0 => drop(pool),
        1 => drop(Ref::new(Busy::new(generations))),
        _ => autorelease(Ref::new(Busy::new(generations))),
    }
}

/// Where no panic can get out.
pub fn left_to_the_threads_end(worker: &mut Worker) {
    if !bomb::may(2) {
        return;
    }
    // A pool in a thread-local may be the current one: a panic in that would get out
    // of the thread-local's destructor, which ends the process. This token pool is
    // drained by the library, as is the other manager's root pool.
    let _ = PoolManager::global().push();
    autorelease(Ref::new(Bomb::new(worker.stage.number())));
    PoolManager::new().autorelease(Ref::new(Bomb::new(worker.stage.number())));
}

/// The worker ends by a panic of its own, through pools with a bomb in them.
pub fn out_of_the_thread(worker: &mut Worker) {
    if !bomb::may(2) {
        return;
    }
    let _pool = AutoreleasePool::new();
    autorelease(Ref::new(Bomb::new(worker.stage.number())));
    bomb::explode(worker.stage.number());
}
