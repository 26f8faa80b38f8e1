//! Slots, while another thread *reclaims*: it collects and makes the releases, so that objects are
//! destroyed and their addresses are reused.

use super::steps::*;
use releasepool::memory::BlockAllocator;
use releasepool::model::quiesce as settle;
use releasepool::slot::OptionSlot;
use releasepool::{AutoreleasePool, Ref, Slot};
use std::sync::atomic::{AtomicU32, Ordering};

pub fn models() -> Vec<Model> {
    [
        Model::new(
            "slot_swap_drain",
            "a reader's pool is drained while a writer swaps and releases the old object",
            &["old", "new"],
            swap_drain,
        )
        .plain(&["new"])
        .plain_bounded(0),
        Model::new(
            "slot_take_drain",
            "a reader's pool is drained while a writer empties an optional slot",
            &["full", "empty"],
            take_drain,
        )
        .plain(&["empty"])
        .plain_bounded(0),
        Model::new(
            "slot_swap_reclaim",
            "another thread reclaims during a swap",
            RECLAIMED,
            || against_reclaimer(Slot::new, |slot, _| slot.swap(Ref::new(Probe::new()))),
        )
        .plain(LATER),
        Model::new(
            "slot_take_reclaim",
            "another thread reclaims while an optional slot is emptied",
            RECLAIMED,
            || {
                let full = |r| OptionSlot::new(Some(r));
                against_reclaimer(full, |slot, _| slot.take().unwrap())
            },
        )
        .plain(LATER),
        Model::new(
            "slot_exchange_reclaim",
            "another thread reclaims during a compare_exchange",
            RECLAIMED,
            || {
                against_reclaimer(Slot::new, |slot, first| {
                    // SAFETY: the slot holds the object, and no other thread replaces it.
                    let first = unsafe { &*first };
                    slot.compare_exchange(first, Ref::new(Probe::new()))
                        .ok()
                        .unwrap()
                })
            },
        )
        .plain(LATER),
        Model::new(
            "slot_rcu_reuse",
            "another thread replaces the object, reclaims, and allocates, while one updates by rcu",
            &["kept while pinned", "reused before or after", "kept"],
            || rcu_reuse(|slot, f| slot.rcu(f)),
        )
        .plain_bounded(1),
        Model::canary(
            "canary_rcu_unpinned",
            "an rcu with its exchange after the pin is detected, as the address is reused before it",
            "the update was computed from another object",
            || _ = rcu_reuse(unpinned_rcu),
        )
        .plain_bounded(1),
    ]
    .map(|model| model.else_bounded(2))
    .into()
}

/// Loads twice with one pool, which is drained in between; returns the first load's result.
fn read_and_drain(load: impl Fn(&AutoreleasePool) -> bool) -> bool {
    let mut pool = AutoreleasePool::new();
    let first = load(&pool);
    pool.drain();
    load(&pool);
    first
}

/// Waits for the reader, drops the slot, and asserts that `deaths` objects are destroyed.
fn ends<S>(slot: Arc<S>, reader: Thread<bool>, deaths: usize) -> bool {
    collect_and_release();
    let first = reader.join();
    drop(slot);
    settle();
    assert_eq!(take_deaths().len(), deaths);
    first
}

fn swap_drain() -> bool {
    let slot = Arc::new(Slot::new(Ref::new((0, Probe::new()))));
    let reader = spawn_with(&slot, |slot| {
        read_and_drain(|pool| {
            let loaded = slot.load(pool);
            loaded.1.look();
            loaded.0 == 0
        })
    });
    let before = slot.swap(Ref::new((1, Probe::new())));
    before.1.look();
    assert_eq!(before.0, 0);
    drop(before);
    ends(slot, reader, 2)
}

fn take_drain() -> bool {
    let slot = Arc::new(OptionSlot::new(Some(Ref::new(Probe::new()))));
    let reader = spawn_with(&slot, |slot| {
        read_and_drain(|pool| {
            let loaded = slot.load(pool);
            loaded.inspect(|loaded| loaded.look()).is_some()
        })
    });
    slot.take().unwrap().look();
    assert!(slot.is_empty());
    ends(slot, reader, 1)
}

/// Tells a thread whether its steps fell into this span of another's. loom does not see the marks.
#[derive(Clone, Default)]
struct Window(std::sync::Arc<AtomicU32>);

impl Window {
    fn open(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn close(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Runs `f`; returns its result, and whether the window was open all the time.
    fn open_during<R>(&self, f: impl FnOnce() -> R) -> (R, bool) {
        let opened = self.0.load(Ordering::Relaxed);
        let result = f();
        let open = opened != 0 && opened == self.0.load(Ordering::Relaxed);
        (result, open)
    }
}

/// The outcomes of [`against_reclaimer`].
const RECLAIMED: &[&str] = &["released meanwhile", "released later"];

/// The outcomes of [`against_reclaimer`] in the plain mode within two preemptions.
const LATER: &[&str] = &["released later"];

/// Reclaims while another thread takes the only object out of a slot by `write`. Returns whether
/// the slot's reference was released before the writer's call had returned.
fn against_reclaimer<S: Send + Sync + 'static>(
    make: fn(Ref<Probe>) -> S,
    write: fn(&S, *const Probe) -> Ref<Probe>,
) -> bool {
    let object = Ref::new(Probe::new());
    let address = Ref::as_ptr(&object).expose_provenance();
    // Keeps the memory, so that a use after the destructor reads valid memory.
    let _memory = Ref::downgrade(&object);
    let slot = Arc::new(make(object));
    let writing = Window::default();
    let writer = spawn_with(&(slot.clone(), writing.clone()), move |(slot, window)| {
        window.open();
        let before = write(&slot, std::ptr::with_exposed_provenance(address));
        // loom switches threads only before a step: without this one, it could not switch after the
        // call's last step.
        Ref::strong_count(&before);
        window.close();
        before.look();
    });
    let orphans = || manager().snapshot().orphans;
    let retired = orphans() > 0;
    let ((), meanwhile) = writing.open_during(collect_and_release);
    let released = retired && orphans() == 0;
    writer.join();
    drop(slot);
    settle();
    take_deaths();
    released && meanwhile
}

type Numbered = (u32, Probe);
/// The function that `rcu` calls.
type Update<'f> = dyn FnMut(&Numbered) -> Ref<Numbered> + 'f;

/// Updates a slot by `rcu`, while the main thread destroys the first object and puts another one in
/// its block.
fn rcu_reuse(rcu: fn(&Slot<Numbered>, &mut Update<'_>) -> Ref<Numbered>) -> &'static str {
    let blocks = BlockAllocator::new();
    let make = |n| Ref::new_in((n, Probe::new()), &blocks);
    // These take all blocks of a chunk in model builds, so the first block to be freed is the next
    // to be used.
    let [first, _second, _third] = [0; 3].map(make);
    let address = Ref::as_ptr(&first).addr();
    let slot = Arc::new(Slot::new(first));
    let (shared, reading) = (slot.clone(), Window::default());
    let window = reading.clone();
    let mut updates: Vec<_> = [1, 2, 3].map(|n| Ref::new((n, Probe::new()))).into();
    let between = Ref::new((10, Probe::new()));
    let updater = spawn(move || {
        let mut read = None;
        let before = rcu(&shared, &mut |now| {
            window.open();
            now.1.look();
            read = Some(now.0);
            updates.pop().unwrap()
        });
        window.close();
        assert_eq!(
            Some(before.0),
            read,
            "the update was computed from another object"
        );
    });
    let_others_go_first();
    let (reused, meanwhile) = reading.open_during(|| {
        slot.store(between);
        collect_and_release();
        // Takes the block of the first object, if that was destroyed.
        let again = make(20);
        let reused = Ref::as_ptr(&again).addr() == address;
        slot.store(again);
        reused
    });
    updater.join();
    drop(slot);
    settle();
    take_deaths();
    match (reused, meanwhile) {
        (true, true) => "reused while pinned",
        (false, true) => "kept while pinned",
        (true, false) => "reused before or after",
        (false, false) => "kept",
    }
}

/// Updates a slot like [`Slot::rcu`], but exchanges the object when the pin has ended.
fn unpinned_rcu(slot: &Slot<Numbered>, f: &mut Update<'_>) -> Ref<Numbered> {
    loop {
        let pool = AutoreleasePool::new();
        let now = slot.load(&pool);
        let (at, new) = (&raw const *now, f(&now));
        drop(pool);
        // SAFETY: unsound on purpose: this is the mistake that must be detected. Only the address
        // is used.
        if let Ok(before) = slot.compare_exchange(unsafe { &*at }, new) {
            return before;
        }
    }
}
