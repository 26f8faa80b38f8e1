//! The code that the standard library and shuttle share: cells, numbers and witnesses, whose
//! accesses nothing checks, and locks.

use super::atomic::{AtomicU64, Ordering};
use super::const_fn;
use super::locks::{Condvar, Mutex, MutexGuard};
use std::ops::DerefMut;
use std::sync::PoisonError;

/// A number that one thread at a time, its owner, writes, and that any thread reads. The code that
/// passes the ownership on must order the writes of one owner before the writes of the next.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct OwnedU64(AtomicU64);

impl OwnedU64 {
    pub(crate) const fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    /// Owner only: returns the number.
    #[inline(always)]
    pub(crate) fn own(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns the number, or an earlier value of it.
    #[inline(always)]
    pub(crate) fn load(&self, order: Ordering) -> u64 {
        self.0.load(order)
    }

    /// Owner only: sets the number.
    #[inline(always)]
    pub(crate) fn store(&self, value: u64, order: Ordering) {
        self.0.store(value, order);
    }
}

/// A place whose accesses loom checks for races; without loom, it does nothing.
#[derive(Debug)]
pub(crate) struct Witness;

impl Witness {
    pub(crate) const fn new() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn write(&self) {}

    #[inline(always)]
    pub(crate) fn read(&self) {}
}

/// The guard of a locked [`Monitor`].
pub(crate) type Locked<'m, T> = MutexGuard<'m, T>;

/// A lock and a condition variable for changes of the value.
#[derive(Debug, Default)]
pub(crate) struct Monitor<T> {
    value: Mutex<T>,
    pub(super) changed: Condvar,
}

impl<T> Monitor<T> {
    pub(crate) fn lock(&self) -> Locked<'_, T> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all waiting threads.
    pub(crate) fn notify(&self) {
        self.changed.notify_all();
    }
}

/// A lock for slow paths. It is not poisoned by panics; no foreign code runs under it, and waiting
/// for it allocates nothing: the global allocator may use this crate.
#[derive(Default)]
pub(crate) struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    const_fn! {
        pub(crate) fn new(value: T) -> Self {
            Self(Mutex::new(value))
        }
    }

    pub(crate) fn lock(&self) -> impl DerefMut<Target = T> + '_ {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The standard library's cells.
pub(crate) mod cell {
    pub(crate) use std::cell::{Cell, OnceCell, RefCell};

    /// std's `UnsafeCell`, accessed through closures, so that a model sees where each access begins and
    /// ends.
    #[derive(Debug)]
    #[repr(transparent)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        /// Calls `f` with a pointer for reads.
        #[inline(always)]
        pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Calls `f` with a pointer for reads and writes.
        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }

        #[inline(always)]
        pub(crate) fn get_mut(&mut self) -> &mut T {
            self.0.get_mut()
        }

        #[inline(always)]
        pub(crate) fn into_inner(self) -> T {
            self.0.into_inner()
        }
    }
}
