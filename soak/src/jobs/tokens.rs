//! Tokens and their misuse: every misuse must return the right error and have no effect.

use crate::ledger::{LEDGER, fail, same};
use crate::payload::{Item, OnDrop};
use crate::worker::Worker;
use releasepool::{AutoreleasePool, PoolManager, PoolToken, PopError, Ref, autorelease};
use std::cell::Cell;
use std::rc::Rc;
use std::thread;

fn misuse(manager: &PoolManager, token: PoolToken, wanted: PopError) {
    same("a misused token", manager.pop(token), Err(wanted));
    LEDGER.misuses.add(1);
}

/// Pops a token; its pool and the pools inside it must have at least this many entries.
fn pop(manager: &PoolManager, token: PoolToken, least: usize) {
    match manager.pop(token) {
        // It may be more: destructors of orphans may autorelease, too.
        Ok(released) if released >= least => {}
        other => fail(format!("a pop of {least} entries gave {other:?}")),
    }
}

pub fn nested(worker: &mut Worker) {
    let manager = PoolManager::global();
    let outer = manager.push();
    let depth = worker.rng.usize(1..6);
    for n in 0..depth {
        let _ = manager.push();
        autorelease(Ref::new(Item::new(n as u64)));
    }
    // Popping the token must not drain a guard inside its pool.
    let guard = AutoreleasePool::new();
    guard.create(Item::new(1)).number();
    pop(manager, outer, depth);
    same("a guard inside popped tokens", guard.len(), 1);
}

pub fn popped_twice(_: &mut Worker) {
    let manager = PoolManager::global();
    let outer = manager.push();
    let inner = manager.push();
    pop(manager, outer, 0);
    // Another pool may reuse the place of a popped one.
    let another = manager.push();
    autorelease(Ref::new(Item::new(1)));
    misuse(manager, outer, PopError::Stale);
    misuse(manager, inner, PopError::Stale);
    pop(manager, another, 1);
}

pub fn popped_elsewhere(worker: &mut Worker) {
    // Rare, because threads cost more than other jobs.
    if !worker.once_in(10) {
        return;
    }
    let manager = PoolManager::global();
    let token = manager.push();
    autorelease(Ref::new(Item::new(1)));
    let Some(me) = manager.current_thread() else {
        return fail("a worker has no key");
    };
    let owner = me.key();
    LEDGER.threads.add(1);
    let elsewhere = thread::spawn(move || {
        misuse(
            PoolManager::global(),
            token,
            PopError::WrongThread { owner },
        );
        let _pool = AutoreleasePool::new();
        misuse(
            PoolManager::global(),
            token,
            PopError::WrongThread { owner },
        );
    });
    if elsewhere.join().is_err() {
        fail("a helper panicked");
    }
    pop(manager, token, 1);
}

pub fn popped_by_another_manager(_: &mut Worker) {
    let (ours, other) = (PoolManager::new(), PoolManager::new());
    let token = ours.push();
    ours.autorelease(Ref::new(Item::new(1)));
    let _inside = other.push();
    misuse(&other, token, PopError::WrongManager);
    misuse(PoolManager::global(), token, PopError::WrongManager);
    pop(&ours, token, 1);
}

pub fn popped_by_its_own_drain(_: &mut Worker) {
    let manager = PoolManager::global();
    let outer = manager.push();
    let inner = manager.push();
    let asked = Rc::new(Cell::new(false));
    let in_destructor = asked.clone();
    autorelease(Ref::new(OnDrop::new(move || {
        for token in [inner, outer] {
            misuse(PoolManager::global(), token, PopError::Draining);
        }
        in_destructor.set(true);
    })));
    pop(manager, outer, 1);
    same("a destructor popped tokens", asked.get(), true);
}
