//! The index of the ledger: from the address of a payload to its record, and to the pools that hold
//! the object.

use super::object_record::{self, AddressMap, Hidden, Holder, ObjectRecord};
use super::threads::{Inside, own_number};
use super::told::PoolLabel;
use crate::sync::{Counter, Setting};
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use std::hash::BuildHasherDefault;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// A record, owned by its entry in the index.
struct Place(NonNull<ObjectRecord>);

// SAFETY: the record belongs to the entry, and is accessed under the entry's lock (invariant 1 of
// `ledger`). The record points to statics, and to frames, which are plain numbers.
unsafe impl Send for Place {}
// SAFETY: the record is accessed under the entry's lock (invariant 1 of `ledger`), and shared
// accesses only read it.
unsafe impl Sync for Place {}

// No `LazyLock`: an allocator that uses this crate must not wait until the index is initialized.
static INDEX: OnceLock<AddressMap<Place>> = OnceLock::new();

/// The number of shards of the index, each with a lock.
const SHARDS: usize = if cfg!(miri) { 4 } else { 64 };

/// The number of objects that could not be recorded.
static UNRECORDED: Counter = Counter::new();

/// True if a record could not be removed when its object died, so that another object, which could
/// not be recorded, may live at its address; or if a record has too many pool entries.
static STALE: Setting = Setting::new(0);

/// How often a thread that is inside the ledger tries to lock an address's shard, at most.
const PATIENCE: usize = 1_000;

/// Returns whether all objects, deaths and releases of pool entries have been recorded. Does not
/// tell whether a thread inside the ledger has added pool entries, which are not recorded either.
pub(super) fn is_complete() -> bool {
    UNRECORDED.get() == 0 && STALE.get() == 0
}

/// Returns the type info of the object, if the ledger certainly has the right record.
pub(crate) fn type_info_of(thin: NonNull<u8>) -> Option<*const ()> {
    if !is_complete() {
        return None;
    }
    with_record(thin.addr().get(), |record| record.type_info)
}

/// Returns how many objects could not be recorded, because their thread was inside the ledger.
pub(crate) fn unrecorded() -> u64 {
    UNRECORDED.get()
}

fn index() -> &'static AddressMap<Place> {
    INDEX.get_or_init(|| {
        DashMap::with_hasher_and_shard_amount(BuildHasherDefault::default(), SHARDS)
    })
}

#[cold]
pub(super) fn note_unrecorded() {
    UNRECORDED.add_shared(1);
}

/// Adds a record, which the caller gives up. The caller is inside the ledger.
pub(super) fn insert(address: usize, record: NonNull<ObjectRecord>) {
    if let Some(stale) = index().insert(Hidden::new(address), Place(record)) {
        // Frees the record of an object whose death could not be recorded.
        // SAFETY: its entry, which owned the record, has just been removed.
        unsafe { object_record::take_back(stale.0) };
    }
}

/// Takes a record out of the index; the caller then owns it. First calls `f` with the record, while
/// its entry is locked: a thread that no longer finds the record sees the effects of `f`.
pub(super) fn remove(
    address: usize,
    f: impl FnOnce(&ObjectRecord),
) -> Option<NonNull<ObjectRecord>> {
    let index = INDEX.get()?;
    let place = match Inside::enter() {
        Some(_inside) => {
            let noted = |_: &Hidden, place: &Place| {
                // SAFETY: the entry is locked for writing (invariant 1 of `ledger`).
                f(unsafe { place.0.as_ref() });
                true
            };
            index.remove_if(&Hidden::new(address), noted)?.1
        }
        None => remove_inside(index, address, f)?,
    };
    Some(place.0)
}

/// Removes an entry whose lock the calling thread may hold already; gives up if it stays locked.
#[cold]
fn remove_inside(
    index: &AddressMap<Place>,
    address: usize,
    f: impl FnOnce(&ObjectRecord),
) -> Option<Place> {
    match patiently(|| index.try_entry(Hidden::new(address))) {
        Some(Entry::Occupied(entry)) => {
            // SAFETY: the entry is locked for writing (invariant 1 of `ledger`).
            f(unsafe { entry.get().0.as_ref() });
            return Some(entry.remove());
        }
        Some(Entry::Vacant(_)) => {}
        None => STALE.set(1),
    }
    None
}

/// Repeats an attempt until it succeeds, at most [`PATIENCE`] times.
fn patiently<T>(mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    (0..PATIENCE).find_map(|_| attempt())
}

/// Calls `f` with the record of an object, if there is one. Does nothing inside the ledger.
///
/// `f` must not call foreign code, nor the ledger.
pub(crate) fn with_record<R>(address: usize, f: impl FnOnce(&mut ObjectRecord) -> R) -> Option<R> {
    let _inside = Inside::enter()?;
    let mut place = INDEX.get()?.get_mut(&Hidden::new(address))?;
    // SAFETY: the entry is locked for writing (invariant 1 of `ledger`).
    Some(f(unsafe { place.0.as_mut() }))
}

/// Calls `f` with the records of all live objects, shard by shard.
///
/// `f` must not call the ledger, and no foreign code but the global allocator.
pub(crate) fn for_each(mut f: impl FnMut(&ObjectRecord)) {
    let Some(_inside) = Inside::enter() else {
        return;
    };
    let Some(index) = INDEX.get() else {
        return;
    };
    for place in index {
        // SAFETY: the entry is locked for reading (invariant 1 of `ledger`).
        f(unsafe { place.0.as_ref() });
    }
}

// Records which pools have entries for an object.

/// Records that a pool of this name has got an entry for the object. Runs no foreign code.
pub(crate) fn entered_pool(thin: NonNull<u8>, label: PoolLabel) {
    // What slots have retired is in no pool.
    if label == PoolLabel::SLOTS {
        return;
    }
    let thread = own_number();
    with_record(thin.addr().get(), |record| {
        let is_same = |holder: &Holder| {
            holder.entries == 0 || holder.label == Some(label) && holder.thread == thread
        };
        // Free places come after those in use, so a place for the same pool is found first.
        match record.holders.iter_mut().find(|holder| is_same(holder)) {
            Some(holder) => {
                holder.label = Some(label);
                holder.thread = thread;
                holder.entries += 1;
            }
            None => record.more += 1,
        }
    });
}

/// Records that a pool of this name has released `n` entries for the object. Runs no foreign code.
pub(crate) fn left_pool(thin: NonNull<u8>, n: u32, label: PoolLabel) {
    if label == PoolLabel::SLOTS {
        return;
    }
    let thread = own_number();
    if Inside::enter().is_none() {
        // The record keeps these entries.
        return STALE.set(1);
    }
    with_record(thin.addr().get(), |record| {
        let mut left = n;
        // Searches for a holder of this thread first, then for any: a thread may release entries that
        // another thread has added to a handoff pool.
        for own in [true, false] {
            for holder in &mut record.holders {
                if holder.label == Some(label) && (holder.thread == thread) == own {
                    left -= holder.take(left);
                }
            }
        }
        let more = left.min(record.more);
        record.more -= more;
        left -= more;
        // Keeps the sum right even if the entry came from another pool.
        for holder in &mut record.holders {
            left -= holder.take(left);
        }
        // Moves free places behind those in use, as `entered_pool` requires.
        record.holders.sort_by_key(|holder| holder.entries == 0);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AutoreleasePool, Ref};

    #[test]
    fn the_index_is_complete_unless_something_was_not_recorded() {
        let object = Ref::new(1);
        let (weak, address) = (Ref::downgrade(&object), Ref::as_ptr(&object).addr());
        let inside = Inside::enter();
        // The death of an object whose record is locked.
        let locked = index().get(&Hidden::new(address));
        drop(object);
        assert!(!is_complete());
        drop(locked);
        // The record is still there.
        let record = remove(address, |_| ()).unwrap();
        // SAFETY: `remove` has passed us the record (invariant 1 of `ledger`).
        unsafe { object_record::take_back(record) };
        STALE.set(0);
        // What a pool releases inside the ledger: were its entry taken for one of an open pool, this would abort.
        drop(inside);
        let pool = AutoreleasePool::new();
        pool.create(0);
        let inside = Inside::enter();
        drop(pool);
        assert!(!is_complete());
        STALE.set(0);
        // An object that is made inside the ledger counts once.
        let before = unrecorded();
        let pool = AutoreleasePool::new();
        let r = Ref::new(1);
        pool.autorelease(r.clone());
        assert_eq!(unrecorded() - before, 1);
        assert!(!is_complete());
        drop((inside, weak, pool));
        // A raw call with such an object is no misuse.
        // SAFETY: of `into_raw`.
        drop(unsafe { Ref::from_raw(Ref::into_raw(r)) });
    }

    #[test]
    fn an_attempt_is_repeated_until_it_succeeds_at_most_a_thousand_times() {
        let mut attempts = 0;
        let mut succeeds_in = |nth| {
            attempts = 0;
            let done = patiently(|| {
                attempts += 1;
                (attempts == nth).then_some(())
            });
            (done.is_some(), attempts)
        };
        assert_eq!(succeeds_in(2), (true, 2));
        assert_eq!(succeeds_in(1_001), (false, 1_000));
    }

    #[test]
    fn entries_leave_their_pool_then_further_pools_then_any() {
        let object = Ref::new(1);
        let thin = NonNull::from(&*object).cast::<u8>();
        let entered = |labels: &[PoolLabel]| labels.iter().for_each(|of| entered_pool(thin, *of));
        let left = |n, label| {
            left_pool(thin, n, label);
            let held =
                |record: &mut ObjectRecord| (record.holders.map(|of| of.entries), record.more);
            with_record(thin.addr().get(), held).unwrap()
        };
        let (root, token) = (PoolLabel::ROOT, PoolLabel::TOKEN);
        let (unnamed, handoff) = (PoolLabel::UNNAMED, PoolLabel::HANDOFF);
        entered(&[root, token, token, unnamed, handoff]);
        assert_eq!(left(1, handoff), ([1, 2], 1));
        assert_eq!(left(1, PoolLabel::SLOTS), ([1, 2], 1));
        assert_eq!(left(3, unnamed), ([1, 0], 0));
        entered(&[root, unnamed]);
        assert_eq!(left(2, token), ([1, 0], 0));
        assert_eq!(left(1, root), ([0, 0], 0));
    }
}
