//! Slots, on crossbeam-epoch's own loom build.
//!
//! Neither the mode nor weakening affects the collector's own atomics: these models check that this
//! crate uses the collector correctly.

use super::model::Model;
use super::probe::{Probe, died_on, me, spawn, take_deaths};
use loom::sync::Arc;
use releasepool::{
    AutoreleasePool, OptionSlot, PoolManager, PoolRef, Ref, Slot, SlotCache, autoreleasepool,
};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

// With one preemption more they run for many minutes, as the collector's atomics are explored, too.
const BOUND: usize = 2;

pub const MODELS: &[Model] = &[
    Model {
        must_fail: Some("Causality violation"),
        ..Model::new(
            "canary_no_pin",
            "a load without a pin is detected",
            &[],
            no_pin,
        )
        .bounded(BOUND)
    },
    Model::new(
        "slot_load_store",
        "a load with a pool, and a retain, during a store",
        &["old", "new"],
        load_store,
    )
    .bounded(BOUND)
    // With 2: 304,000 executions.
    .plain_bounded(1),
    Model::new(
        "slot_load_full",
        "load_full during a store",
        &["old", "new"],
        load_full,
    )
    .bounded(BOUND),
    Model::new("slot_with", "with during a store", &["old", "new"], with).bounded(BOUND),
    Model::new(
        "slot_cache",
        "two loads of a cache during a store: each returns an object that is alive, and the second none that is older",
        &["old, new", "old, old", "new, new"],
        cache,
    )
    .bounded(BOUND),
    Model::new(
        "slot_two_writers",
        "a swap during a store: each object is destroyed once",
        &["the first", "the other's"],
        two_writers,
    )
    .bounded(BOUND),
    Model::new(
        "slot_compare_exchange",
        "compare_exchange during the store that puts the object in",
        &["empty, refused", "empty, exchanged", "full, exchanged"],
        compare_exchange,
    )
    .bounded(BOUND),
    Model::new(
        "slot_rcu",
        "two threads update by rcu",
        &["0 before 1", "1 before 0"],
        rcu,
    )
    .bounded(BOUND),
    Model::new(
        "slot_drop",
        "a slot is dropped while another thread has loaded from it",
        &["died on 0", "died on 1"],
        drop_slot,
    )
    .bounded(BOUND),
    Model::new(
        "slot_drained_empty",
        "a pool that has loaded and has no entries is drained during a store, and stays open: it holds nothing back",
        &["old", "new"],
        drained_empty,
    )
    .bounded(BOUND),
    Model::new(
        "slot_with_panics",
        "after a panic in with, quiesce waits for another thread's pin, as for any other",
        &["old", "new"],
        with_panics,
    )
    .bounded(BOUND)
    .timed(),
];

/// Releases what slots have retired; call it when all other threads have ended.
fn settle() {
    let quiet = (0..10).any(|_| PoolManager::global().quiesce(Duration::ZERO));
    assert!(quiet, "something holds the epoch");
}

/// The main thread stores, and tries to release the old object at once; another thread reads.
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
    stored(slot, reader)
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

fn with() -> String {
    let slot = Arc::new(Slot::new(Ref::new(Probe::new())));
    let old = Ref::as_ptr(&slot.load_full()).addr();
    let shared = slot.clone();
    let reader = spawn(move || {
        shared.with(|probe| {
            probe.look();
            std::ptr::from_ref(probe).addr() == old
        })
    });
    stored(slot, reader)
}

/// Stores into the slot, tries to release the old object at once, and returns what the reader has read.
fn stored(slot: Arc<Slot<Probe>>, reader: loom::thread::JoinHandle<bool>) -> String {
    slot.store(Ref::new(Probe::new()));
    PoolManager::global().quiesce(Duration::ZERO);
    let old = reader.join().unwrap();
    drop(slot);
    settle();
    assert_eq!(take_deaths().len(), 2);
    if old { "old" } else { "new" }.to_owned()
}

fn cache() -> String {
    let slot = Arc::new(Slot::new(Ref::new(Probe::new())));
    let old = Ref::as_ptr(&slot.load_full()).addr();
    let shared = slot.clone();
    let reader = spawn(move || {
        let mut cache = SlotCache::new(shared);
        let mut load = || {
            let r = cache.load();
            r.look();
            if Ref::as_ptr(r).addr() == old {
                "old"
            } else {
                "new"
            }
        };
        format!("{}, {}", load(), load())
    });
    slot.store(Ref::new(Probe::new()));
    PoolManager::global().quiesce(Duration::ZERO);
    let outcome = reader.join().unwrap();
    drop(slot);
    settle();
    assert_eq!(take_deaths().len(), 2);
    outcome
}

fn no_pin() -> String {
    let slot = Arc::new(Slot::new(Ref::new(Probe::new())));
    // So that at least the memory is still valid when it is read too late.
    let _memory = Ref::downgrade(&slot.load_full());
    let shared = slot.clone();
    let reader = spawn(move || {
        let pool = AutoreleasePool::new();
        let lent: *const Probe = &raw const *shared.load(&pool);
        // Ends the pin; the writer goes on, without a preemption.
        drop(pool);
        loom::thread::yield_now();
        // SAFETY: unsound on purpose: this is the mistake that must be detected.
        unsafe { &*lent }.look();
    });
    loom::thread::yield_now();
    slot.store(Ref::new(Probe::new()));
    // Until the replaced object is destroyed, if nothing is pinned.
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
        // The slot was empty, so this does not use the collector, which would order the two.
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
    // A copy that came too late was destroyed at once.
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
        // This drain may release the slot's object.
        autoreleasepool(|pool| _ = pool.create(()));
        me()
    });
    drop(slot);
    PoolManager::global().quiesce(Duration::ZERO);
    let reader = reader.join().unwrap();
    settle();
    died_on(&[me(), reader])
}

fn drained_empty() -> String {
    let slot = Arc::new(Slot::new(Ref::new(Probe::new())));
    let old = Ref::as_ptr(&slot.load_full()).addr();
    let shared = slot.clone();
    let writer = spawn(move || shared.store(Ref::new(Probe::new())));
    let mut pool = AutoreleasePool::new();
    let loaded = slot.load(&pool);
    loaded.look();
    let is_old = std::ptr::from_ref(&*loaded).addr() == old;
    pool.drain();
    writer.join().unwrap();
    // The pool is still open.
    settle();
    assert_eq!(take_deaths().len(), 1);
    drop((pool, slot));
    settle();
    assert_eq!(take_deaths().len(), 1);
    if is_old { "old" } else { "new" }.to_owned()
}

fn with_panics() -> String {
    let slot = Arc::new(Slot::new(Ref::new(Probe::new())));
    let old = Ref::as_ptr(&slot.load_full()).addr();
    // resume_unwind calls no panic hook, which would print a message in each execution.
    let panic = || slot.with(|_| resume_unwind(Box::new("expected")));
    assert!(catch_unwind(AssertUnwindSafe(panic)).is_err());
    let shared = slot.clone();
    let reader = spawn(move || Ref::as_ptr(&shared.load_full()).addr() == old);
    slot.store(Ref::new(Probe::new()));
    // No pool of this thread has loaded: the rest depends on the reader.
    let hour = Duration::from_secs(3_600);
    assert!(PoolManager::global().quiesce(hour), "it gave up");
    let is_old = reader.join().unwrap();
    drop(slot);
    settle();
    assert_eq!(take_deaths().len(), 2);
    if is_old { "old" } else { "new" }.to_owned()
}
