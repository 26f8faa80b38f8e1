//! Slots: old objects are destroyed, and their addresses are reused.

use super::model::Model;
use super::probe::{Probe, spawn, take_deaths};
use loom::sync::Arc;
use releasepool::{AutoreleasePool, BlockAllocator, OptionSlot, PoolManager, Ref, Slot};
use std::time::Duration;

// With 2 each takes minutes, as the collector's atomics are explored, too. One is enough to stop
// either thread anywhere while the other one does all its steps.
const BOUND: usize = 1;

pub const MODELS: &[Model] = &[
    Model::new(
        "slot_swap_drain",
        "a reader's pool is drained while a writer swaps and releases the old object",
        &["old", "new"],
        swap_drain,
    )
    .bounded(BOUND),
    Model::new(
        "slot_take_drain",
        "a reader's pool is drained while a writer empties an optional slot",
        &["full", "empty"],
        take_drain,
    )
    .bounded(BOUND),
    Model::new(
        "slot_rcu_reuse",
        "the slot's object is destroyed and its address reused, while another thread updates by rcu",
        &["1", "11"],
        rcu_reuse,
    )
    .bounded(BOUND),
];

/// Releases what slots have retired; call it when all other threads have ended.
fn settle() {
    let quiet = (0..10).any(|_| PoolManager::global().quiesce(Duration::ZERO));
    assert!(quiet, "something holds the epoch");
}

/// Loads twice from one pool, which is drained in between; returns `load`'s first result.
fn read_and_drain(load: impl Fn(&AutoreleasePool) -> bool) -> bool {
    let mut pool = AutoreleasePool::new();
    let first = load(&pool);
    pool.drain();
    load(&pool);
    first
}

fn swap_drain() -> String {
    let slot = Arc::new(Slot::new(Ref::new((0, Probe::new()))));
    let shared = slot.clone();
    let reader = spawn(move || {
        read_and_drain(|pool| {
            let loaded = shared.load(pool);
            loaded.1.look();
            loaded.0 == 0
        })
    });
    // So that loom explores the executions in which the reader goes first, without a preemption.
    loom::thread::yield_now();
    let before = slot.swap(Ref::new((1, Probe::new())));
    before.1.look();
    assert_eq!(before.0, 0);
    drop(before);
    PoolManager::global().quiesce(Duration::ZERO);
    let old = reader.join().unwrap();
    drop(slot);
    settle();
    assert_eq!(take_deaths().len(), 2);
    if old { "old" } else { "new" }.to_owned()
}

fn take_drain() -> String {
    let slot = Arc::new(OptionSlot::new(Some(Ref::new(Probe::new()))));
    let shared = slot.clone();
    let reader = spawn(move || {
        read_and_drain(|pool| {
            let loaded = shared.load(pool);
            loaded.inspect(|loaded| loaded.look()).is_some()
        })
    });
    // So that loom explores the executions in which the reader goes first, without a preemption.
    loom::thread::yield_now();
    let before = slot.take();
    before.unwrap().look();
    PoolManager::global().quiesce(Duration::ZERO);
    let full = reader.join().unwrap();
    assert!(slot.is_empty());
    drop(slot);
    settle();
    assert_eq!(take_deaths().len(), 1);
    if full { "full" } else { "empty" }.to_owned()
}

/// The updater adds 1 to what it finds; the main thread destroys 0, and puts 10 in its block.
fn rcu_reuse() -> String {
    let blocks = BlockAllocator::new();
    let make = |n: u32| Ref::new_in((n, Probe::new()), &blocks);
    let slot = Arc::new(Slot::new(make(0)));
    let address = Ref::as_ptr(&slot.load_full()).addr();
    let updater = {
        let shared = slot.clone();
        spawn(move || {
            let mut made = 0;
            let before = shared.rcu(|now| {
                now.1.look();
                made = now.0 + 1;
                Ref::new((made, Probe::new()))
            });
            assert_eq!(
                before.0 + 1,
                made,
                "the update was computed from another object"
            );
            made
        })
    };
    // This may also replace an object of the updater.
    slot.store(Ref::new((10, Probe::new())));
    settle_if_possible();
    // The block of the first object, if that was destroyed.
    let again = make(10);
    let reused = Ref::as_ptr(&again).addr() == address;
    slot.store(again);
    let made = updater.join().unwrap();
    assert!(made == 1 || made == 11);
    let died = take_deaths().len();
    assert!(
        !reused || died > 0,
        "its block was reused while it was alive"
    );
    drop(slot);
    settle();
    let died = died + take_deaths().len();
    assert!(died >= 4, "{died}");
    made.to_string()
}

fn settle_if_possible() {
    for _ in 0..3 {
        PoolManager::global().quiesce(Duration::ZERO);
    }
}
