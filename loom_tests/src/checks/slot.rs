//! Slots, on crossbeam-epoch's own loom build.
//!
//! Neither the mode of loads nor weakening reaches the collector's own atomics: of it we
//! check that the way we use it is right.

use super::model::Model;
use super::probe::{Probe, died_on, me, spawn, take_deaths};
use loom::sync::Arc;
use releasepool::{AutoreleasePool, OptionSlot, PoolManager, PoolRef, Ref, Slot, autoreleasepool};
use std::time::Duration;

// One preemption more, and they run for many minutes: the collector's atomics count, too.
const BOUND: usize = 2;

pub const MODELS: &[Model] = &[
    Model {
        must_fail: Some("Causality violation"),
        ..Model::new(
            "canary_no_pin",
            "a load that does not pin is found out",
            &[],
            no_pin,
        )
        .bounded(BOUND)
    },
    Model::new(
        "slot_load_store",
        "a load with a pool, and a retain, against a store",
        &["old", "new"],
        load_store,
    )
    .bounded(BOUND),
    Model::new(
        "slot_load_full",
        "load_full against a store",
        &["old", "new"],
        load_full,
    )
    .bounded(BOUND),
    Model::new(
        "slot_two_writers",
        "a swap against a store: each object dies once",
        &["the first", "the other's"],
        two_writers,
    )
    .bounded(BOUND),
    Model::new(
        "slot_compare_exchange",
        "compare_exchange against the store that puts the object in",
        &["empty, refused", "empty, exchanged", "full, exchanged"],
        compare_exchange,
    )
    .bounded(BOUND),
    Model::new(
        "slot_rcu",
        "two threads read, copy and update",
        &["0 before 1", "1 before 0"],
        rcu,
    )
    .bounded(BOUND),
    Model::new(
        "slot_drop",
        "a slot that goes while another thread has loaded from it",
        &["died on 0", "died on 1"],
        drop_slot,
    )
    .bounded(BOUND),
];

/// Gets what slots gave up released; all other threads have ended.
fn settle() {
    let quiet = (0..10).any(|_| PoolManager::global().quiesce(Duration::ZERO));
    assert!(quiet, "something holds the epoch");
}

/// The main thread stores, and tries to get the old one released at once; another reads.
fn against_store(read: impl FnOnce(&Slot<Probe>) -> Ref<Probe> + 'static) -> String {
    let slot = Arc::new(Slot::new(Ref::new(Probe::new())));
    let old = slot.load_full();
    let address = Ref::as_ptr(&old).addr();
    drop(old);
    let shared = slot.clone();
    let reader = spawn(move || {
        let r = read(&shared);
        Ref::as_ptr(&r).addr() == address
    });
    slot.store(Ref::new(Probe::new()));
    PoolManager::global().quiesce(Duration::ZERO);
    let old = reader.join().unwrap();
    drop(slot);
    settle();
    assert_eq!(take_deaths().len(), 2);
    if old { "old" } else { "new" }.to_owned()
}

fn load_store() -> String {
    against_store(|slot| {
        let pool = AutoreleasePool::new();
        let loaded = slot.load(&pool);
        loaded.look();
        let kept = PoolRef::retain(loaded);
        loaded.look();
        drop(pool);
        kept.look();
        kept
    })
}

fn load_full() -> String {
    against_store(|slot| {
        let r = slot.load_full();
        r.look();
        r
    })
}

fn no_pin() -> String {
    let slot = Arc::new(Slot::new(Ref::new(Probe::new())));
    // So that the memory, at least, is still there when it is looked at too late.
    let _memory = Ref::downgrade(&slot.load_full());
    let shared = slot.clone();
    let reader = spawn(move || {
        let pool = AutoreleasePool::new();
        let lent: *const Probe = &raw const *shared.load(&pool);
        // Ends the pin; the writer's turn, without a preemption.
        drop(pool);
        loom::thread::yield_now();
        // SAFETY: there is none; this is the mistake that is to be found out.
        unsafe { &*lent }.look();
    });
    loom::thread::yield_now();
    slot.store(Ref::new(Probe::new()));
    // To the end of what was stored over, if nothing is pinned.
    for _ in 0..4 {
        PoolManager::global().quiesce(Duration::ZERO);
    }
    reader.join().unwrap();
    drop(slot);
    settle();
    String::new()
}

fn two_writers() -> String {
    let slot = Arc::new(Slot::new(Ref::new(Probe::new())));
    let first = Ref::as_ptr(&slot.load_full()).addr();
    let shared = slot.clone();
    let other = spawn(move || shared.store(Ref::new(Probe::new())));
    let before = slot.swap(Ref::new(Probe::new()));
    before.look();
    let outcome = match Ref::as_ptr(&before).addr() == first {
        true => "the first",
        false => "the other's",
    };
    drop(before);
    other.join().unwrap();
    drop(slot);
    settle();
    assert_eq!(take_deaths().len(), 3);
    outcome.to_owned()
}

fn compare_exchange() -> String {
    let slot = Arc::new(OptionSlot::empty());
    let r = Ref::new(Probe::new());
    let (shared, other) = (slot.clone(), r.clone());
    let storer = spawn(move || {
        other.look();
        // There was nothing: so it has nothing to do with the collector, which would
        // set things in order.
        shared.store(Some(other));
    });
    let empty = slot.is_empty();
    let exchanged = slot.compare_exchange(Some(&r), None).map(drop).is_ok();
    drop(r);
    if exchanged {
        settle();
        assert_eq!(take_deaths(), [me()]);
    }
    storer.join().unwrap();
    drop(slot);
    settle();
    assert_eq!(take_deaths().len(), usize::from(!exchanged));
    let empty = if empty { "empty" } else { "full" };
    format!(
        "{empty}, {}",
        if exchanged { "exchanged" } else { "refused" }
    )
}

fn rcu() -> String {
    let slot = Arc::new(Slot::new(Ref::new((0, Probe::new()))));
    let update = |slot: &Slot<(u32, Probe)>| {
        let before = slot.rcu(|now| {
            now.1.look();
            Ref::new((now.0 + 1, Probe::new()))
        });
        before.0
    };
    let shared = slot.clone();
    let other = spawn(move || update(&shared));
    let mine = update(&slot);
    let theirs = other.join().unwrap();
    assert_eq!(mine + theirs, 1, "one update was lost");
    assert_eq!(slot.load_full().0, 2);
    drop(slot);
    settle();
    // A copy that came too late died at once.
    assert!(take_deaths().len() >= 3);
    if mine == 0 {
        "0 before 1"
    } else {
        "1 before 0"
    }
    .to_owned()
}

fn drop_slot() -> String {
    let slot = Arc::new(Slot::new(Ref::new(Probe::new())));
    drop(slot.load_full());
    let shared = slot.clone();
    let reader = spawn(move || {
        let pool = AutoreleasePool::new();
        let loaded = shared.load(&pool);
        drop(shared);
        loaded.look();
        drop(pool);
        // Not empty: what this drain releases may be the slot's.
        autoreleasepool(|pool| _ = pool.create(()));
        me()
    });
    drop(slot);
    PoolManager::global().quiesce(Duration::ZERO);
    let reader = reader.join().unwrap();
    settle();
    died_on(&[me(), reader])
}
