//! Hand-over pools, thread-bound values, slots, hot objects, and drains within a budget.

use crate::ledger::{fail, same};
use crate::payload::{Item, Stay, Thing};
use crate::stage::post;
use crate::worker::Worker;
use releasepool::{
    AutoreleasePool, Budget, HandoffPool, HomeRef, Hot, PoolManager, Ref, SlotCache,
    autoreleasepool,
};
use std::time::Duration;

/// Hands a pool over to the UI thread or to a worker, which may be about to end.
pub fn handoff(worker: &mut Worker) {
    let mut pool = HandoffPool::new();
    let n = worker.rng.u64(1..600);
    for number in 0..n {
        pool.create(Item::new(number)).look();
    }
    let to = match worker.rng.u64(0..3) {
        0 => None,
        1 => Some(worker.stage.ui.clone()),
        _ => worker.stage.some_handle(&mut worker.rng),
    };
    if let Some(to) = to {
        same("entries handed over", pool.drain_on(&to) as u64, n);
    }
    // Otherwise its entries are released here.
}

/// Drains a pool within a budget. The rest waits for a later drain or the thread's end.
pub fn budget(worker: &mut Worker) {
    let mut pool = AutoreleasePool::new();
    for number in 0..worker.rng.u64(1..50) {
        pool.create((Item::new(number), Ref::new(Item::new(number))));
    }
    let most = worker.rng.usize(..40);
    let drained = pool.drain_within(Budget::Count(most));
    if drained.released > most {
        fail("a drain within a budget did more than that");
    }
    if worker.once_in(3) {
        PoolManager::global().drain_backlog(Budget::All);
    }
}

/// A value that is destroyed on this thread even if another thread drops the last reference to it,
/// unless this thread has ended by then.
pub fn home(worker: &mut Worker) {
    let value = HomeRef::new_or_anywhere(Item::new(5));
    match value.get() {
        Some(item) => item.look(),
        None => fail("a value is not at home where it was made"),
    }
    let (there, key) = (value.clone(), value.home());
    let look = move || {
        let here = PoolManager::global().current_thread().map(|t| t.key());
        if there.get().is_some() != (here == Some(key)) {
            fail("a value is reachable elsewhere than at home");
        }
    };
    post(&worker.stage.ui, look);
    if worker.once_in(2) {
        drop(value);
    } else if let Some(to) = worker.stage.some_handle(&mut worker.rng) {
        post(&to, move || drop(value));
    }
}

/// Has the UI thread make a value that stays there, and perhaps waits for it.
pub fn made_at_home(worker: &mut Worker) {
    let value = HomeRef::new_on(&worker.stage.ui, Stay::new);
    if worker.once_in(2) {
        match value.wait_within(Duration::from_millis(1)) {
            Some(Ok(value)) if value.get().is_some() => fail("a value is reachable elsewhere"),
            Some(Err(error)) => fail(error.to_string()),
            _ => {}
        }
    }
    // Otherwise the value may be made after this.
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

/// Loads from a slot that all workers use, and replaces its object.
pub fn slot(worker: &mut Worker) {
    let stage = worker.stage.clone();
    let latest = &stage.latest;
    autoreleasepool(|pool| {
        for _ in 0..worker.rng.u64(1..20) {
            if let Some(item) = latest.load(pool) {
                item.look();
            }
        }
        if worker.once_in(3) {
            latest.store(Some(Ref::new(Item::new(3))));
        } else if worker.once_in(5) {
            if let Some(before) = latest.swap(Some(Ref::new(Item::new(4)))) {
                before.look();
            }
        }
    });
}

/// A hot object, whose references are dropped on several threads, some of which are about to end.
pub fn hot(worker: &mut Worker) {
    let Ok(owner) = Hot::try_new(Ref::new(Item::new(6))) else {
        return;
    };
    let mut references = vec![owner.get()];
    for _ in 0..worker.rng.u64(1..20) {
        let clone = references[worker.rng.usize(..references.len())].clone();
        clone.look();
        if worker.once_in(2) {
            references.push(clone);
        }
    }
    let owner = worker.once_in(2).then_some(owner);
    while let Some(reference) = references.pop() {
        match worker.rng.u64(0..4) {
            0 => post(&worker.stage.ui, move || reference.look()),
            1 => match worker.stage.some_handle(&mut worker.rng) {
                Some(to) => post(&to, move || reference.look()),
                None => reference.look(),
            },
            2 => autoreleasepool(|_| drop(reference)),
            _ => reference.look(),
        }
    }
    drop(owner);
}
