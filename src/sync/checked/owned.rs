//! A number that only its owner writes.

use super::atomic::Ordering;
use super::cell::Cell;
use super::explore::Halt;
use super::settings::ordering;
use std::panic::Location;

/// A number that one thread at a time, its owner, writes, and that any thread reads.
///
/// The owner's value is in a checked cell, so a thread that writes without being the owner, or
/// before the previous owner's writes are ordered before its own, fails the model. Loads stay plain
/// loads in both modes: the owner never loads, so it hides no other thread's load; and loom would
/// not order the owner's plain stores with read-modify-writes in their place.
#[derive(Debug)]
pub(crate) struct OwnedU64 {
    own: Cell<u64>,
    shared: loom::sync::atomic::AtomicU64,
}

impl OwnedU64 {
    #[track_caller]
    pub(crate) fn new(value: u64) -> Self {
        Self {
            own: Cell::new(value),
            shared: loom::sync::atomic::AtomicU64::new(value),
        }
    }

    /// Owner only: returns the number.
    #[track_caller]
    pub(crate) fn own(&self) -> u64 {
        self.own.get()
    }

    /// Returns the number, or an earlier value of it.
    #[track_caller]
    pub(crate) fn load(&self, order: Ordering) -> u64 {
        let _halt = Halt;
        self.shared
            .load(ordering(Location::caller(), "load", order))
    }

    /// Owner only: sets the number.
    #[track_caller]
    pub(crate) fn store(&self, value: u64, order: Ordering) {
        let _halt = Halt;
        self.own.set(value);
        self.shared
            .store(value, ordering(Location::caller(), "store", order));
    }
}
