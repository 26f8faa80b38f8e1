//! Objects, and strong and weak references to them.

use crate::ledger::{LEDGER, fail, same};
use crate::payload::{Chain, Item, Thing, Tree};
use crate::worker::Worker;
use releasepool::{AutoreleasePool, Ref, unsize};

/// How many nodes a long chain has.
const LONG: u64 = 100_000;

fn some_thing(worker: &mut Worker) -> Ref<dyn Thing> {
    match worker.rng.u64(0..4) {
        0 => unsize!(Tree::new(3, 2) => dyn Thing),
        1 => unsize!(Chain::new(10) => dyn Thing),
        n => unsize!(Ref::new(Item::new(n)) => dyn Thing),
    }
}

/// Replaces objects that all workers share.
pub fn swap(worker: &mut Worker) {
    let pool = AutoreleasePool::new();
    for _ in 0..worker.rng.u64(1..50) {
        let thing = some_thing(worker);
        let weak = Ref::downgrade(&thing);
        worker.stage.put_weak(&mut worker.rng, weak);
        if let Some(old) = worker.stage.swap(&mut worker.rng, Some(thing)) {
            old.look();
            if worker.once_in(2) {
                pool.autorelease(old).look();
            }
        }
        if let Some(shared) = worker.stage.peek(&mut worker.rng) {
            pool.autorelease(shared).look();
        }
    }
}

/// Upgrades weak references that other workers have left.
pub fn upgrade(worker: &mut Worker) {
    for _ in 0..worker.rng.u64(1..100) {
        let Some(weak) = worker.stage.peek_weak(&mut worker.rng) else {
            continue;
        };
        if let Some(thing) = weak.upgrade() {
            thing.look();
            LEDGER.upgraded.add(1);
        } else {
            LEDGER.too_late.add(1);
        }
    }
}

/// Exclusive access to a value, and its loss by sharing.
pub fn exclusive(_: &mut Worker) {
    let mut item = Ref::new(Item::new(1));
    if Ref::get_mut(&mut item).is_none() {
        fail("a sole reference is not exclusive");
    }
    let shared = item.clone();
    if Ref::get_mut(&mut item).is_some() {
        fail("a shared reference is exclusive");
    }
    same("a copy's number", Ref::make_mut(&mut item).number(), 1);
    if Ref::ptr_eq(&item, &shared) {
        fail("make_mut gave out a shared value");
    }
    // The value is then no longer an object. The ledger counts its payload until it is dropped at
    // the end of this job.
    if Ref::try_unwrap(item).is_err() {
        fail("a sole reference cannot be unwrapped");
    }
    let again = shared.clone();
    match Ref::try_unwrap(shared) {
        Ok(_) => fail("a shared value was taken out"),
        Err(shared) => drop(shared),
    }
    same("the other's number", again.number(), 1);
}

/// An object that is a slice.
pub fn slices(_: &mut Worker) {
    let pool = AutoreleasePool::new();
    let slice = unsize!(Ref::new([Item::new(8)]) => [Item]);
    let lent = pool.autorelease(slice.clone());
    same("a slice's length", lent.len(), 1);
    drop(slice);
    lent[0].look();
}

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
