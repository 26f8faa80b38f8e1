//! Finds objects whose counts change on several threads by turns: each change then fetches the cache
//! line of the count from another processor.
//!
//! Only retains are sampled, one in [`SAMPLE`] on each thread, as a sample locks the object's record.

use super::index::with_record;
use super::object_record::Record;
use super::thread_names::own_number;
use crate::event::{Event, EventKind};
use crate::sync::cell::Cell;
use crate::sync::{elapsed, local};
use crate::thread::current::current_label;
use std::panic::Location;
use std::ptr::NonNull;

/// The number of a thread's retains of which one is sampled.
const SAMPLE: u32 = 32;

local! {
    static RETAINS: Cell<u32> = Cell::new(0);
}

/// Notes a retain that the caller's caller makes.
#[inline]
#[track_caller]
pub(super) fn retained(thin: NonNull<u8>) {
    let n = RETAINS.with(|retains| retains.replace(retains.get().wrapping_add(1)));
    if n % SAMPLE == SAMPLE - 1 {
        sample(thin, Location::caller());
    }
}

#[cold]
fn sample(thin: NonNull<u8>, site: &'static Location<'static>) {
    let (thread, now) = (own_number(), elapsed());
    let note = |record: &mut Record| {
        let is_contended = record.moves.retained(thread, now);
        is_contended.then_some((record.type_name, record.site))
    };
    // Outside of the ledger, as the event's hook is foreign code.
    if let Some(Some((type_name, created_at))) = with_record(thin.addr().get(), note) {
        Event::new(EventKind::ContendedCount, current_label())
            .of_type(type_name())
            .at(site)
            .created_at(Some(created_at))
            .emit();
    }
}
