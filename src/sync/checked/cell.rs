//! Cells whose every access loom checks.
//!
//! loom switches threads only at its own operations. A plain write that stands after the exchange
//! that publishes it is therefore never seen half done; but it is a data race, and loom reports
//! that if the write and the read of the other thread are accesses to one of its cells. So all
//! cells of the crate are these: what several threads touch is checked to be ordered, and what
//! one thread owns is checked to be touched by no other.
//!
//! An access is no point at which threads switch, so it adds no executions. The end of a cell is a
//! write, as its memory is about to be given back.

use super::Witness;
use std::mem::ManuallyDrop;

/// std's `Cell`. `get` is a checked read, everything else is a checked write.
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
        // SAFETY: as in std: no reference to the value is ever given out.
        self.0.with(|value| unsafe { *value })
    }

    #[track_caller]
    pub(crate) fn set(&self, value: T) {
        // The old value's destructor runs when the access has ended.
        drop(self.replace(value));
    }

    #[track_caller]
    pub(crate) fn replace(&self, value: T) -> T {
        // SAFETY: as in `get`.
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

/// loom's `UnsafeCell`, whose end is a checked write.
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
        // SAFETY: `self` is borrowed mutably for as long as the result is.
        self.0.with_mut(|value| unsafe { &mut *value })
    }

    #[track_caller]
    pub(crate) fn into_inner(self) -> T {
        self.0.with_mut(|_| ());
        let this = ManuallyDrop::new(self);
        // SAFETY: moved out once, as `this` is not dropped.
        unsafe { std::ptr::read(&raw const this.0) }.into_inner()
    }
}

impl<T> Drop for UnsafeCell<T> {
    fn drop(&mut self) {
        // A model that panics has failed, and its threads end anywhere.
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
    pub(crate) fn take(&self) -> T
    where
        T: Default,
    {
        self.witness.write();
        self.cell.take()
    }
}

impl<T: Default> Default for RefCell<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// std's `OnceCell`. A look at it is a checked read, or a write if it may be made by that.
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
