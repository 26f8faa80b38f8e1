//! Cells whose every access loom checks.
//!
//! loom switches threads only at its own operations. So if a plain write comes, by mistake, after
//! the exchange that should publish it, no other thread ever runs between the two. But such a write
//! is a data race, and loom reports the race if the write and the other thread's read are accesses
//! to one of loom's cells. So the crate uses only loom's cells: loom checks that accesses by
//! several threads are ordered, and that no other thread accesses data that one thread owns.
//!
//! Threads do not switch at accesses to cells, so these add no executions. Dropping a cell counts
//! as a write, as its memory is about to be freed.

use super::Witness;
use super::atomic::Ordering;
use super::explore::Halt;
use super::settings::ordering;
use std::mem::ManuallyDrop;
use std::panic::Location;

/// std's `Cell`; `get` is a checked read, all other operations are checked writes.
#[derive(Debug)]
pub(crate) struct Cell<T>(UnsafeCell<T>);

impl<T> Cell<T> {
    #[track_caller]
    pub(crate) fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    #[track_caller]
    pub(crate) fn get(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: as in std, no reference to the value is ever given out, so nothing aliases it.
        self.0.with(|value| unsafe { *value })
    }

    #[track_caller]
    pub(crate) fn set(&self, value: T) {
        // Drops the old value after the access has ended.
        drop(self.replace(value));
    }

    #[track_caller]
    pub(crate) fn replace(&self, value: T) -> T {
        // SAFETY: no reference to the value is ever given out, so nothing aliases it.
        self.0.with_mut(|place| unsafe { place.replace(value) })
    }

    #[track_caller]
    pub(crate) fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }
}

impl<T: Default> Default for Cell<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// loom's `UnsafeCell`; its drop is a checked write.
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(loom::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    #[track_caller]
    pub(crate) fn new(value: T) -> Self {
        Self(loom::cell::UnsafeCell::new(value))
    }

    #[track_caller]
    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        self.0.with(f)
    }

    #[track_caller]
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        self.0.with_mut(f)
    }

    #[track_caller]
    pub(crate) fn get_mut(&mut self) -> &mut T {
        // SAFETY: the result borrows `self` mutably, so it is exclusive.
        self.0.with_mut(|value| unsafe { &mut *value })
    }

    #[track_caller]
    pub(crate) fn into_inner(self) -> T {
        self.0.with_mut(|_| ());
        let this = ManuallyDrop::new(self);
        // SAFETY: the field is read once, as `this` is never dropped.
        unsafe { std::ptr::read(&raw const this.0) }.into_inner()
    }
}

impl<T> Drop for UnsafeCell<T> {
    fn drop(&mut self) {
        // Makes no check if the model has panicked: then it has failed already, and its threads may
        // stop inside an access.
        if !std::thread::panicking() {
            self.0.with_mut(|_| ());
        }
    }
}

/// std's `RefCell`. Each borrow is a checked access.
#[derive(Debug)]
pub(crate) struct RefCell<T> {
    cell: std::cell::RefCell<T>,
    witness: Witness,
}

impl<T> RefCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            cell: std::cell::RefCell::new(value),
            witness: Witness::new(),
        }
    }

    #[track_caller]
    pub(crate) fn borrow_mut(&self) -> std::cell::RefMut<'_, T> {
        self.witness.write();
        self.cell.borrow_mut()
    }

    #[track_caller]
    pub(crate) fn replace(&self, value: T) -> T {
        self.witness.write();
        self.cell.replace(value)
    }
}

impl<T: Default> Default for RefCell<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// std's `OnceCell`; `get` is a checked read, and an operation that may initialize it is a checked
/// write.
#[derive(Debug)]
pub(crate) struct OnceCell<T> {
    cell: std::cell::OnceCell<T>,
    witness: Witness,
}

impl<T> OnceCell<T> {
    pub(crate) fn new() -> Self {
        Self {
            cell: std::cell::OnceCell::new(),
            witness: Witness::new(),
        }
    }

    #[track_caller]
    pub(crate) fn get(&self) -> Option<&T> {
        self.witness.read();
        self.cell.get()
    }

    #[track_caller]
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.witness.write();
        self.cell.get_mut()
    }

    #[track_caller]
    pub(crate) fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        self.witness.write();
        self.cell.get_or_init(f)
    }
}

/// A number that one thread at a time, its owner, writes, and that any thread reads.
///
/// The owner's value is in a checked cell, so a thread that writes without being the owner, or
/// before the previous owner's writes are ordered before its own, fails the model. Loads stay plain
/// loads in both modes: the owner never loads, so no load of the owner hides another thread's; and
/// loom would not order the owner's plain stores with read-modify-writes in place of loads.
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
