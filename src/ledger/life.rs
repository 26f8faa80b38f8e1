//! The life of a record: from an object's creation to its end.

use super::inside::Inside;
use super::object_record::{self, BALANCED, NewRecord, Record};
use super::thread_names::{named_own_number, note_keyless_thread};
use super::told::{CHECKS, ObjectDescription};
use super::{balance, dead, frames, index, misuse};
use crate::sync::cell::Cell;
use crate::sync::{CHECKED, Setting, local};
use std::panic::Location;
use std::ptr::NonNull;

/// True if call frames are recorded.
pub(crate) static FRAMES: Setting = Setting::new(0);

local! {
    /// How many objects this thread has created.
    static SERIAL: Cell<u64> = Cell::new(0);
}

/// Returns how many objects the calling thread has created.
pub(crate) fn own_serial() -> u64 {
    SERIAL.with(Cell::get)
}

/// Records a new object at `thin`, created by the caller's caller.
#[track_caller]
pub(crate) fn created(thin: NonNull<u8>, object: ObjectDescription) {
    record_created(thin.addr().get(), object, Location::caller());
}

fn record_created(address: usize, object: ObjectDescription, site: &'static Location<'static>) {
    let Some(_inside) = Inside::enter() else {
        return index::note_unrecorded();
    };
    let serial = SERIAL.with(|serial| serial.replace(serial.get() + 1));
    let frames = (FRAMES.get() != 0 || frames::is_std(site)).then(frames::capture);
    let flags = if balance::is_chosen(object.type_name) {
        balance::begin(address, site);
        BALANCED
    } else {
        0
    };
    let record = object_record::write(NewRecord {
        address,
        object,
        site,
        flags,
        thread: named_own_number(),
        serial,
        frames,
    });
    index::insert(address, record);
}

/// Records that an object now has another type. The caller has the only reference of any kind.
pub(crate) fn retyped(thin: NonNull<u8>, type_info: *const (), type_name: fn() -> &'static str) {
    let address = thin.addr().get();
    let chosen = balance::is_chosen(type_name);
    let begins = index::with_record(address, |record| {
        record.type_info = type_info;
        record.type_name = type_name;
        let begins = chosen && record.flags & BALANCED == 0;
        if begins {
            record.flags |= BALANCED;
        }
        begins.then_some(record.site)
    });
    // Records the object as if it was created now, because only one reference is left.
    if let (Some(Some(site)), Some(_inside)) = (begins, Inside::enter()) {
        balance::begin(address, site);
    }
}

/// Removes the record of an object whose value is gone. Without effect if there is no record.
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
    if CHECKS && !CHECKED {
        note_keyless_thread();
    }
    // Notes the death before the record is removed: another thread may check a weak reference at
    // any time.
    let note = |record: &Record| {
        if CHECKS && !CHECKED {
            dead::note(record, freed);
        }
    };
    let Some(record) = index::take(address, note) else {
        return false;
    };
    if CHECKS && !CHECKED {
        // SAFETY: `take` has passed us the record (invariant 1 of `ledger`).
        let record = unsafe { record.as_ref() };
        if record.is_held() && index::is_complete() {
            // SAFETY: the destructor runs later, or the memory is freed later.
            unsafe { misuse::destroyed_while_held(record) };
        }
    }
    // SAFETY: as above.
    let flags = unsafe { object_record::take_back(record) };
    if flags & BALANCED != 0 {
        balance::end(address);
    }
    true
}
