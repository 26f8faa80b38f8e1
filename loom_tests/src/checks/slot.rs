//! Slots.

use super::steps::*;
use releasepool::model::parts::collect_without_fence;
use releasepool::model::quiesce as settle;
use releasepool::slot::{OptionSlot, SlotCache};
use releasepool::{AutoreleasePool, PoolRef, Ref, Slot};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

pub fn models() -> Vec<Model> {
    [
        Model::canary(
            "canary_no_pin",
            "a load without a pin is detected",
            "Causality violation",
            no_pin,
        ),
        Model::new(
            "slot_load_store",
            "a load with a pool, and a retain, during a store",
            &["old", "new"],
            load_store,
        )
        .plain(&["new"])
        .plain_bounded(0),
        Model::new(
            "slot_load_full",
            "load_full during a store",
            &["old", "new"],
            load_full,
        ),
        Model::new("slot_with", "with during a store", &["old", "new"], with),
        model!(
            slot_load_in_with,
            "a pool's first load, inside of with, during a store: the object is lent beyond the call",
            &["old", "new"],
        )
        .plain(&["new"])
        .plain_bounded(0),
        model!(
            slot_middle_pool,
            "the middle one of three pools that have loaded is drained during a store: the oldest still protects its object",
            OVERLAP,
        )
        .plain_bounded(1),
        Model::new(
            "slot_cache",
            "two loads of a cache during a store: each returns an object that is alive, and the second none that is older",
            &["old, new", "old, old", "new, new"],
            cache,
        ),
        Model::new(
            "slot_two_writers",
            "a swap during a store: each object is destroyed once",
            &["the first", "the other's"],
            two_writers,
        ),
        Model::new(
            "slot_compare_exchange",
            "compare_exchange during the store that puts the object in",
            &["empty, refused", "empty, exchanged", "full, exchanged"],
            compare_exchange,
        ),
        Model::new(
            "slot_rcu",
            "two threads update by rcu",
            &["0 before 1", "1 before 0"],
            rcu,
        ),
        Model::new(
            "slot_drop",
            "a slot is dropped while another thread has loaded from it",
            DIED,
            drop_slot,
        )
        .plain(&["died on 1"])
        .plain_bounded(0),
        Model::new(
            "slot_drained_empty",
            "a pool that has loaded and has no entries is drained during a store, and stays open: it holds nothing back",
            &["old", "new"],
            drained_empty,
        ),
        Model::new(
            "slot_with_panics",
            "after a panic in with, quiesce waits for another thread's pin, as for any other",
            &["old", "new"],
            with_panics,
        )
        .timed(),
    ]
    .map(|model| model.else_bounded(2))
    .into()
}

fn probe() -> Ref<Probe> {
    Ref::new(Probe::new())
}

fn address(probe: &Probe) -> usize {
    std::ptr::from_ref(probe).addr()
}

/// Makes a slot with an object, whose address is the second result.
fn slot() -> (Arc<Slot<Probe>>, usize) {
    let slot = Arc::new(Slot::new(probe()));
    let old = address(&slot.load_full());
    (slot, old)
}

/// Waits for the thread; drops the slot, and asserts that both objects that it had are destroyed.
fn ends<R>(slot: Arc<Slot<Probe>>, reader: Thread<R>) -> R {
    let result = reader.join();
    drop(slot);
    settle();
    assert_eq!(take_deaths().len(), 2);
    result
}

/// Stores, and tries to release the old object at once, while another thread calls `read`, with the
/// slot and the old object's address.
fn during_store<R: Send + 'static>(
    read: impl FnOnce(Arc<Slot<Probe>>, usize) -> R + Send + 'static,
) -> R {
    let (slot, old) = slot();
    let reader = spawn_with(&slot, move |slot| read(slot, old));
    slot.store(probe());
    collect_and_release();
    ends(slot, reader)
}

fn load_store() -> bool {
    during_store(|slot, old| {
        let pool = AutoreleasePool::new();
        let loaded = slot.load(&pool);
        loaded.look();
        let kept = PoolRef::retain(loaded);
        loaded.look();
        drop(pool);
        kept.look();
        address(&kept) == old
    })
}

fn slot_load_in_with() -> bool {
    during_store(|slot, old| {
        let pool = AutoreleasePool::new();
        let loaded = slot.with(|_| slot.load(&pool));
        loaded.look();
        address(&loaded) == old
    })
}

fn slot_middle_pool() -> bool {
    let (slot, old) = slot();
    let (loaded, stored, both) = (Door::new(), Door::new(), Overlap::shared());
    let doors = (loaded.clone(), stored.clone(), both.clone());
    let reader = spawn_with(&slot, move |slot| {
        let (loaded, stored, both) = doors;
        let oldest = AutoreleasePool::new();
        let object = slot.load(&oldest);
        loaded.open();
        stored.wait();
        let [mut middle, newest] = [(); 2].map(|()| AutoreleasePool::new());
        // These loads find another epoch.
        slot.load(&middle);
        slot.load(&newest);
        middle.drain();
        both.during(|| object.look());
        assert_eq!(address(&object), old);
    });
    loaded.wait();
    slot.store(probe());
    collect_and_release();
    stored.open();
    both.during(collect_and_release);
    ends(slot, reader);
    both.at_once()
}

fn load_full() -> bool {
    during_store(|slot, old| {
        let r = slot.load_full();
        r.look();
        address(&r) == old
    })
}

fn with() -> bool {
    during_store(|slot, old| {
        slot.with(|probe| {
            probe.look();
            address(probe) == old
        })
    })
}

fn cache() -> String {
    during_store(|slot, old| {
        let mut cache = SlotCache::new(slot);
        let mut load = || {
            let r = cache.load();
            r.look();
            if address(r) == old { "old" } else { "new" }
        };
        format!("{}, {}", load(), load())
    })
}

fn no_pin() {
    let (slot, _) = slot();
    // Keeps the memory, so that the use after the destructor reads valid memory.
    let _memory = Ref::downgrade(&slot.load_full());
    let reader = spawn_with(&slot, |slot| {
        let pool = AutoreleasePool::new();
        let lent: *const Probe = &raw const *slot.load(&pool);
        // Ends the pin too early; then the writer goes on, without a preemption.
        drop(pool);
        loom::thread::yield_now();
        // SAFETY: unsound on purpose: this is the mistake that must be detected.
        unsafe { &*lent }.look();
    });
    loom::thread::yield_now();
    slot.store(probe());
    // Repeats as often as it takes to destroy the replaced object if nothing is pinned.
    for _ in 0..4 {
        quiesce();
    }
    reader.join();
    drop(slot);
    settle();
}

fn two_writers() -> bool {
    let (slot, first) = slot();
    let other = spawn_with(&slot, |slot| slot.store(probe()));
    let before = slot.swap(probe());
    before.look();
    let is_first = address(&before) == first;
    drop(before);
    other.join();
    drop(slot);
    settle();
    assert_eq!(take_deaths().len(), 3);
    is_first
}

fn compare_exchange() -> usize {
    let slot = Arc::new(OptionSlot::empty());
    let r = probe();
    let shared = (slot.clone(), r.clone());
    let storer = spawn(move || {
        let (slot, r) = shared;
        r.look();
        // The slot was empty, so this store retires nothing: a retired object would order the two
        // threads.
        slot.store(Some(r));
    });
    let empty = slot.is_empty();
    let exchanged = slot.compare_exchange(Some(&r), None).map(drop).is_ok();
    drop(r);
    if exchanged {
        // The exchange alone must order the other thread's use before the destructor: a fence of the
        // thread that collects need not.
        collect_without_fence();
        drain();
        assert_eq!(take_deaths(), [me()]);
    }
    storer.join();
    drop(slot);
    settle();
    assert_eq!(take_deaths().len(), usize::from(!exchanged));
    assert!(empty || exchanged, "full, refused");
    usize::from(exchanged) + usize::from(!empty)
}

fn rcu() -> usize {
    let slot = Arc::new(Slot::new(Ref::new((0, Probe::new()))));
    let update = |slot: &Slot<(usize, Probe)>| {
        let before = slot.rcu(|now| {
            now.1.look();
            Ref::new((now.0 + 1, Probe::new()))
        });
        before.0
    };
    let other = spawn_with(&slot, move |slot| update(&slot));
    let mine = update(&slot);
    assert_eq!(mine + other.join(), 1, "one update was lost");
    assert_eq!(slot.load_full().0, 2);
    drop(slot);
    settle();
    // There may be more than three: a copy that loses the exchange dies at once.
    assert!(take_deaths().len() >= 3);
    mine
}

fn drop_slot() -> usize {
    let (slot, _) = slot();
    let reader = spawn_with(&slot, |slot| {
        let pool = AutoreleasePool::new();
        let loaded = slot.load(&pool);
        drop(slot);
        loaded.look();
        // With an entry, the drain collects, and may release the slot's object.
        pool.create(());
    });
    drop(slot);
    collect_and_release();
    let reader = reader.ended();
    settle();
    died_on(&[me(), reader])
}

fn drained_empty() -> bool {
    let (slot, old) = slot();
    let writer = spawn_with(&slot, |slot| slot.store(probe()));
    let mut pool = AutoreleasePool::new();
    let loaded = slot.load(&pool);
    loaded.look();
    let is_old = address(&loaded) == old;
    pool.drain();
    writer.join();
    // Releases the old object although the pool is still open.
    settle();
    assert_eq!(take_deaths().len(), 1);
    drop((pool, slot));
    settle();
    assert_eq!(take_deaths().len(), 1);
    is_old
}

fn with_panics() -> bool {
    let (slot, old) = slot();
    // resume_unwind calls no panic hook, which would print a message in each execution.
    let panic = || slot.with(|_| resume_unwind(Box::new("expected")));
    assert!(catch_unwind(AssertUnwindSafe(panic)).is_err());
    let reader = spawn_with(&slot, move |slot| address(&slot.load_full()) == old);
    slot.store(probe());
    // `quiesce` waits for the reader's pin, as no pool of this thread is pinned.
    let hour = Duration::from_secs(3_600);
    assert!(manager().quiesce(hour), "it gave up");
    ends(slot, reader)
}
