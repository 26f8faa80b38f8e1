//! The index of the ledger: from the address of a payload to its record.

use super::ObjectDescription;
use super::guard::Inside;
use super::label::PoolLabel;
use super::record::{self, BALANCED, HOLDERS, Holder, NewRecord, Record};
use super::threads::own_number;
use super::{CHECKS, balance, dead, frames, misuse};
use crate::sync::cell::Cell;
use crate::sync::{CHECKED, Counter, Setting, local};
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// Hashes one address. Objects of one page of memory are neighbors in the index, too, so that
/// those which are created one after the other find it in the cache.
#[derive(Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(byte.into());
        }
    }

    fn write_usize(&mut self, address: usize) {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        let address = address as u64;
        let page = (address >> 12).wrapping_mul(ODD);
        let place = (address >> 4) & 0xFF;
        // The table takes the bucket from the low bits, the shard from high ones, and compares the
        // seven highest.
        let tag = (address.wrapping_mul(ODD) >> 57) << 57;
        let mixed = (page >> 32) ^ ((page << 32) >> 7);
        self.0 = (mixed.wrapping_add(place) & (!0 >> 7)) | tag;
    }
}

/// A map by addresses.
pub(crate) type AddressMap<V> = DashMap<usize, V, BuildHasherDefault<AddressHasher>>;

/// A record, owned by its entry in the index.
struct Place(NonNull<Record>);

// SAFETY: the record belongs to the entry, and is accessed under its lock (invariant 1 of
// `ledger`). What it points to are statics, and frames, which are plain numbers.
unsafe impl Send for Place {}
// SAFETY: for the reason given for `Send`; shared accesses only read.
unsafe impl Sync for Place {}

// Not a `LazyLock`: an allocator that uses this crate must not wait for its initialization.
static INDEX: OnceLock<AddressMap<Place>> = OnceLock::new();

/// Shards of the index, each with a lock.
const SHARDS: usize = if cfg!(miri) { 4 } else { 64 };

/// The number of objects that could not be recorded.
static UNRECORDED: Counter = Counter::new();

/// True if call frames are recorded.
pub(crate) static FRAMES: Setting = Setting::new(0);

/// How often an address is looked for that is locked, while the thread is inside the ledger.
const PATIENCE: usize = 1_000;

local! {
    /// How many objects this thread has created.
    static SERIAL: Cell<u64> = Cell::new(0);
}

/// Returns how many objects the calling thread has created.
pub(crate) fn own_serial() -> u64 {
    SERIAL.with(Cell::get)
}

/// Returns whether all objects and all pool entries have been recorded.
pub(super) fn is_complete() -> bool {
    UNRECORDED.get() == 0
}

/// Returns whether there is a record for this address.
pub(super) fn is_recorded(address: usize) -> bool {
    with_record(address, |_| ()).is_some()
}

/// Returns the type info that the object was created with.
pub(crate) fn type_info_of(thin: NonNull<u8>) -> Option<*const ()> {
    with_record(thin.addr().get(), |record| record.type_info)
}

/// Returns the hash of an address.
pub(super) fn hash(address: usize) -> u64 {
    let mut hasher = AddressHasher::default();
    hasher.write_usize(address);
    hasher.finish() >> 32
}

/// Returns how many objects could not be recorded, because the ledger was at work on their thread.
pub(crate) fn unrecorded() -> u64 {
    UNRECORDED.get()
}

fn index() -> &'static AddressMap<Place> {
    INDEX.get_or_init(|| {
        DashMap::with_hasher_and_shard_amount(BuildHasherDefault::default(), SHARDS)
    })
}

/// Records a new object at `thin`, created by the caller's caller.
#[track_caller]
pub(crate) fn created(thin: NonNull<u8>, object: ObjectDescription) {
    record_created(thin.addr().get(), object, Location::caller());
}

fn record_created(address: usize, object: ObjectDescription, site: &'static Location<'static>) {
    let Some(_inside) = Inside::enter() else {
        return UNRECORDED.add_shared(1);
    };
    let serial = SERIAL.with(|serial| serial.replace(serial.get() + 1));
    let frames = (FRAMES.get() != 0 || frames::is_std(site)).then(frames::capture);
    let flags = if balance::is_chosen(object.type_name) {
        balance::begin(address, site);
        BALANCED
    } else {
        0
    };
    let place = Place(record::write(NewRecord {
        address,
        object,
        site,
        flags,
        thread: own_number(),
        serial,
        frames,
    }));
    if let Some(stale) = index().insert(address, place) {
        // An object whose death could not be recorded.
        // SAFETY: its entry, which owned the record, has just been removed.
        unsafe { record::take_back(stale.0) };
    }
}

/// Removes the record of an object whose value is gone. Without effect if there is none.
pub(crate) fn died(thin: NonNull<u8>) {
    remove(thin.addr().get(), false);
}

/// Removes the record of an object whose memory is about to be freed, unless it has been removed
/// when its value died.
pub(crate) fn freed(thin: NonNull<u8>) {
    let address = thin.addr().get();
    if !remove(address, true) && CHECKS && !CHECKED {
        dead::note_freed(address);
    }
}

/// Removes a record; returns whether there was one.
fn remove(address: usize, freed: bool) -> bool {
    let Some(index) = INDEX.get() else {
        return false;
    };
    let place = match Inside::enter() {
        Some(_inside) => index.remove(&address).map(|(_, place)| place),
        None => remove_inside(index, address),
    };
    let Some(place) = place else {
        return false;
    };
    if CHECKS && !CHECKED {
        // SAFETY: its entry, which owned the record, has just been removed.
        let record = unsafe { place.0.as_ref() };
        if record.is_held() && is_complete() {
            misuse::destroyed_while_held(record);
        }
        dead::note(record, freed);
    }
    // SAFETY: as above.
    let flags = unsafe { record::take_back(place.0) };
    if flags & BALANCED != 0 {
        balance::end(address);
    }
    true
}

/// Removes an entry while this thread may hold its lock; gives up if it is locked.
#[cold]
fn remove_inside(index: &AddressMap<Place>, address: usize) -> Option<Place> {
    for _ in 0..PATIENCE {
        match index.try_entry(address) {
            Some(Entry::Occupied(entry)) => return Some(entry.remove()),
            Some(Entry::Vacant(_)) => return None,
            None => {}
        }
    }
    None
}

/// Calls `f` with the record of an object, if there is one.
///
/// `f` must not call foreign code, nor the ledger.
pub(crate) fn with_record<R>(address: usize, f: impl FnOnce(&mut Record) -> R) -> Option<R> {
    let Some(_inside) = Inside::enter() else {
        UNRECORDED.add_shared(1);
        return None;
    };
    let mut place = INDEX.get()?.get_mut(&address)?;
    // SAFETY: the entry is locked for writing (invariant 1 of `ledger`).
    Some(f(unsafe { place.0.as_mut() }))
}

/// Calls `f` with the records of all live objects, shard by shard.
///
/// `f` must not call the ledger, and no foreign code but the global allocator.
pub(crate) fn for_each(mut f: impl FnMut(&Record)) {
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

/// Records that a pool of this name has got an entry for the object.
pub(crate) fn entered_pool(thin: NonNull<u8>, label: PoolLabel) {
    let thread = own_number();
    with_record(thin.addr().get(), |record| {
        let is_same = |holder: &Holder| {
            holder.entries == 0 || holder.label == Some(label) && holder.thread == thread
        };
        // One for the same pool, if there is one, is before the free ones.
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

/// Records that a pool of this name has released `n` entries for the object.
pub(crate) fn left_pool(thin: NonNull<u8>, n: u32, label: PoolLabel) {
    let thread = own_number();
    with_record(thin.addr().get(), |record| {
        let mut left = n;
        // Entries of handoff pools are released by another thread than the one that added them.
        for own in [true, false] {
            for holder in &mut record.holders {
                if holder.label == Some(label) && (holder.thread == thread) == own {
                    let taken = left.min(holder.entries);
                    holder.entries -= taken;
                    left -= taken;
                    if holder.entries == 0 {
                        *holder = Holder::NONE;
                    }
                }
            }
        }
        let more = left.min(record.more);
        record.more -= more;
        left -= more;
        // The sum stays right, even if the entry has come from elsewhere.
        for holder in &mut record.holders {
            let taken = left.min(holder.entries);
            holder.entries -= taken;
            left -= taken;
        }
        // The free places are last.
        if record.holders[0].entries == 0 {
            record.holders.swap(0, HOLDERS - 1);
        }
    });
}
