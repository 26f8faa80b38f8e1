//! The epoch itself. A place holds an object until a collector removes and frees it; readers use the object
//! under a pin. The first models take the steps of `src/epoch.rs` one by one, and each rule has a canary that
//! breaks it; the others use slots.

use super::steps::*;
use releasepool::model::parts::{
    Atomic, Cell, epoch_collect, epoch_glance, epoch_held_by, epoch_now, epoch_oldest_pin,
    epoch_seal, is_deferred, outstanding, pin, pinned, retire_and_adopt,
};
use releasepool::model::quiesce as settle;
use releasepool::slot::OptionSlot;
use releasepool::{AutoreleasePool, Ref, Slot};

pub fn models() -> Vec<Model> {
    [
        Model::new(
            "epoch_pin",
            "a collector removes and frees while a thread enters the epoch, and pins and reads twice",
            ALL,
            || meet(|place| read(place) | read(place), collect),
        )
        .bounded(3),
        Model::new(
            "epoch_second_pool",
            "a thread's second pool reads without a fence, and outlasts the first one's pin",
            ALL,
            || meet(read_by_second_pool, collect),
        ),
        Model::new(
            "epoch_tag",
            "a collector's tag while another thread collects, too",
            ALL,
            || beside_another_collector(collect),
        )
        .bounded(3),
        Model::new(
            "epoch_quick",
            "a thread pins again without a fence, while a second one revokes that, and a third one removes and frees",
            ALL,
            quick,
        )
        .bounded(3),
        Model::new(
            "epoch_revoked",
            "a thread pins twice, without a fence the second time, while a collector that has just revoked that removes and frees",
            ALL,
            revoked,
        )
        .bounded(3),
        Model::canary(
            "canary_epoch_glance",
            "a look at the announcements without a heavy fence is detected",
            "Causality violation",
            || _ = meet(read_twice, collect_at_a_glance),
        ),
        Model::canary(
            "canary_epoch_unpinned",
            "a read before the pin is detected",
            "Causality violation",
            || _ = meet(read_before_pin, collect),
        ),
        Model::canary(
            "canary_epoch_tag_loaded",
            "a tag that is loaded, and not incremented, is detected",
            "Causality violation",
            || _ = beside_another_collector(collect_by_loaded_tag),
        )
        .bounded(3),
        Model::canary(
            "canary_epoch_late_removal",
            "a removal after the tag is detected",
            "Causality violation",
            || _ = meet(read, collect_and_remove),
        ),
        model!(
            epoch_collectors,
            "two threads collect what one of them has retired",
            &["0", "1"],
        )
        .bounded(3)
        .plain(&["1"])
        .plain_bounded(0),
        model!(
            epoch_filled,
            "a thread loads, stores and collects, while another one is collecting: what it has loaded lives on",
            &["0", "1"],
        )
        .bounded(2)
        .plain(&["1"])
        .plain_bounded(0),
        model!(
            epoch_bumps,
            "three collections, each of an object of its own, during one pin",
            ALL,
        )
        .bounded(3),
        model!(
            epoch_leave,
            "two threads enter the epoch after another one has left it, while a third one collects",
            ALL,
        )
        .bounded(2)
        .plain_bounded(1),
        model!(
            epoch_flag,
            "a thread stores and ends, while another one collects: whatever that one misses waits for the next",
            &["one", "both"],
        )
        .bounded(2)
        .plain_bounded(1),
        model!(
            epoch_queue,
            "a thread stores twice, while another one collects",
            &["0", "1", "2"],
        )
        .bounded(2)
        .plain_bounded(1),
        model!(
            epoch_passed_on,
            "a reference is counted throughout while a collection passes it on",
            &["false", "true"],
        )
        .bounded(2)
        .plain_bounded(1),
        model!(
            epoch_passed_on_another,
            "a reference is counted although another thread retires, passes on and releases one of its own",
            &["it waits", "released"],
        )
        // One preemption lets the other thread go first, or release both.
        .bounded(2)
        .plain_bounded(1),
        model!(
            epoch_taken,
            "a reference that is held is deferred throughout while a collection takes it",
            &["false", "true"],
        ),
        model!(
            epoch_holders,
            "a report names a pool that is pinned for the first time meanwhile",
            &["0", "1"],
        ),
        model!(
            epoch_detached,
            "a pool that outlasts its thread's exit keeps what it has loaded",
            &["old", "new"],
        )
        .bounded(2)
        .plain(&["new"])
        .plain_bounded(0),
    ]
    .into()
}

/// A place that holds an object while `gone` is 0. The object is written when it is freed.
#[derive(Default)]
struct Place {
    gone: Atomic,
    object: Cell,
}

/// The outcomes: did the reader find the object, and did the collector free it?
const ALL: &[&str] = &["found, freed", "found, kept", "gone, freed", "gone, kept"];

fn meet(read: fn(&Place) -> bool, collect: fn(&Place) -> bool) -> String {
    let place = Arc::new(Place::default());
    let reader = spawn_with(&place, move |place| read(&place));
    let freed = collect(&place);
    describe(reader.join(), freed)
}

fn describe(found: bool, freed: bool) -> String {
    let found = if found { "found" } else { "gone" };
    let freed = if freed { "freed" } else { "kept" };
    format!("{found}, {freed}")
}

fn beside_another_collector(collect: fn(&Place) -> bool) -> String {
    let place = Arc::new(Place::default());
    let reader = spawn_with(&place, |place| read(&place));
    let other = spawn(|| _ = epoch_seal());
    let freed = collect(&place);
    other.join();
    describe(reader.join(), freed)
}

/// Uses the object if it is there; returns whether it is.
fn look(place: &Place) -> bool {
    let found = place.gone.load() == 0;
    if found {
        place.object.get();
    }
    found
}

fn read(place: &Place) -> bool {
    pinned(|| look(place))
}

fn read_before_pin(place: &Place) -> bool {
    let found = place.gone.load() == 0;
    pinned(|| {
        if found {
            place.object.get();
        }
    });
    found
}

fn read_by_second_pool(place: &Place) -> bool {
    let first = AutoreleasePool::new();
    pin(&first);
    let mut second = AutoreleasePool::new();
    pin(&second);
    let found = place.gone.load() == 0;
    // Closes the pools out of order: this raises the announcement to the epoch of `second`.
    drop(first);
    if found {
        place.object.get();
    }
    second.drain();
    found
}

/// Pins once, which makes a fence, and then reads under a second pin. The second pin makes a fence
/// only if a collector has asked for one since.
fn read_twice(place: &Place) -> bool {
    pinned(|| ());
    read(place)
}

fn quick() -> String {
    let place = Arc::new(Place::default());
    let reader = spawn_with(&place, |place| read_twice(&place));
    let other = spawn(|| _ = epoch_oldest_pin());
    let freed = collect(&place);
    other.join();
    describe(reader.join(), freed)
}

fn revoked() -> String {
    // The spawned thread ends. The reader takes over its participant, with the mark of a fence.
    spawn(|| pinned(|| ())).join();
    meet(read_twice, |place| {
        epoch_oldest_pin();
        collect(place)
    })
}

fn collect_at_a_glance(place: &Place) -> bool {
    place.gone.store(1);
    let tag = epoch_seal();
    free(place, tag < epoch_glance())
}

fn collect(place: &Place) -> bool {
    place.gone.store(1);
    free_if(place, epoch_seal())
}

fn collect_by_loaded_tag(place: &Place) -> bool {
    let tag = epoch_now();
    place.gone.store(1);
    free_if(place, tag)
}

fn collect_and_remove(place: &Place) -> bool {
    let tag = epoch_seal();
    let is_free = tag < epoch_oldest_pin();
    place.gone.store(1);
    free(place, is_free)
}

fn free_if(place: &Place, tag: u64) -> bool {
    free(place, tag < epoch_oldest_pin())
}

fn free(place: &Place, is_free: bool) -> bool {
    if is_free {
        place.object.set(1);
    }
    is_free
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

/// Drops the slot, and asserts that `deaths` objects have died since the last [`take_deaths`].
fn ends(slot: Arc<Slot<Probe>>, deaths: usize) {
    drop(slot);
    settle();
    assert_eq!(take_deaths().len(), deaths);
}

/// Returns how many objects this thread has released while the other one collects.
fn epoch_collectors() -> usize {
    let (slot, _) = slot();
    let other = spawn(|| _ = epoch_collect());
    slot.store(probe());
    collect_and_release();
    let released = take_deaths().len();
    other.join();
    ends(slot, 2 - released);
    released
}

/// Returns how many objects this thread's collection has released.
fn epoch_filled() -> usize {
    let (slot, _) = slot();
    slot.store(probe());
    let door = Door::new();
    let there = door.clone();
    let other = spawn_with(&slot, move |slot| {
        let pool = AutoreleasePool::new();
        let loaded = slot.load(&pool);
        slot.store(probe());
        epoch_collect();
        there.wait();
        loaded.look();
    });
    collect_and_release();
    let released = take_deaths().len();
    door.open();
    other.join();
    ends(slot, 3 - released);
    released
}

fn epoch_bumps() -> String {
    let places: Arc<[Place; 3]> = Arc::default();
    let reader = spawn_with(&places, |places| {
        pinned(|| places.each_ref().map(look).contains(&true))
    });
    let freed = places.each_ref().map(collect).contains(&true);
    describe(reader.join(), freed)
}

fn epoch_leave() -> String {
    let place = Arc::default();
    let reader = || spawn_with(&place, |place| read(&place));
    // One of the next readers takes over the participant of this reader.
    reader().join();
    let others = [(); 2].map(|()| reader());
    let freed = collect(&place);
    let found = others.map(Thread::join).contains(&true);
    describe(found, freed)
}

/// Returns how many objects this thread has released besides the one that it has replaced.
fn epoch_flag() -> usize {
    let (slot, _) = slot();
    let other = spawn_with(&slot, |slot| slot.store(probe()));
    slot.store(probe());
    collect_and_release();
    let released = take_deaths().len();
    other.join();
    rest_ends(slot, released);
    released - 1
}

/// Releases the other `2 - released` objects that stores have replaced, and drops the slot.
fn rest_ends(slot: Arc<Slot<Probe>>, released: usize) {
    collect_and_release();
    let all = released + take_deaths().len();
    assert_eq!(all, 2, "a drain after both stores releases both");
    ends(slot, 1);
}

/// Returns how many objects this thread has released during the other thread's stores.
fn epoch_queue() -> usize {
    let (slot, _) = slot();
    let other = spawn_with(&slot, |slot| [(); 2].map(|()| slot.store(probe())));
    let_others_go_first();
    collect_and_release();
    let released = take_deaths().len();
    other.join();
    rest_ends(slot, released);
    released
}

fn epoch_passed_on() -> bool {
    let (slot, _) = slot();
    let other = spawn(epoch_collect);
    slot.store(probe());
    assert_ne!(outstanding(), 0, "nobody has released it");
    let is_ready = other.join();
    ends(slot, 2);
    is_ready
}

fn epoch_passed_on_another() -> bool {
    let (seen, object) = watched();
    let slot = OptionSlot::new(Some(object));
    let other = spawn(|| {
        retire_and_adopt(probe());
        drain();
    });
    slot.store(None);
    let waits = outstanding() != 0;
    assert!(waits || seen.get(), "nobody has released it");
    other.join();
    settle();
    assert_eq!(take_deaths().len(), 2);
    waits
}

fn epoch_taken() -> bool {
    let (slot, _) = slot();
    let other = spawn(epoch_collect);
    pinned(|| {
        slot.store(probe());
        assert!(is_deferred(), "the pin holds it");
    });
    let is_ready = other.join();
    ends(slot, 2);
    is_ready
}

fn epoch_holders() -> usize {
    let (slot, _) = slot();
    let step = Arc::new(Atomic::default());
    let reader = spawn_with(&(slot.clone(), step.clone()), |(slot, step)| {
        let pool = AutoreleasePool::named("reading");
        let loaded = slot.load(&pool);
        step.store(1);
        loaded.look();
        step.store(2);
    });
    step.load();
    let holders = epoch_held_by();
    assert!(holders.iter().all(|(_, name)| name == "reading"));
    reader.join();
    ends(slot, 1);
    holders.len()
}

fn epoch_detached() -> bool {
    let (slot, old) = slot();
    let reader = spawn_without_exit({
        let slot = slot.clone();
        move || {
            let pool = AutoreleasePool::new();
            let loaded = slot.load(&pool);
            releasepool::model::thread_exit();
            loaded.look();
            address(&loaded) == old
        }
    });
    slot.store(probe());
    collect_and_release();
    let is_old = reader.join();
    ends(slot, 2);
    is_old
}
