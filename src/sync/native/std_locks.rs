//! Locks, by std: for Miri.
//!
//! `parking_lot` keeps pointers in integers. Miri warns of that, and from then on believes any integer that
//! becomes a pointer, in the whole program; so it would find less in programs that use this crate.

use std::ops::DerefMut;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The guard of a locked [`Monitor`].
pub(crate) type Locked<'m, T> = MutexGuard<'m, T>;

/// A lock and a condition variable for changes of the value.
#[derive(Debug)]
pub(crate) struct Monitor<T> {
    value: Mutex<T>,
    changed: Condvar,
}

impl<T> Monitor<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self {
            value: Mutex::new(value),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn lock(&self) -> Locked<'_, T> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until notified, or for `limit` at most; may also end spuriously.
    pub(crate) fn wait<'m>(
        &'m self,
        locked: Locked<'m, T>,
        limit: Option<Duration>,
    ) -> Locked<'m, T> {
        let Some(limit) = limit else {
            let locked = self.changed.wait(locked);
            return locked.unwrap_or_else(PoisonError::into_inner);
        };
        let waited = self.changed.wait_timeout(locked, limit);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Wakes all waiting threads.
    pub(crate) fn notify(&self) {
        self.changed.notify_all();
    }
}

/// A lock for slow paths. It is not poisoned by panics; no foreign code runs under it.
#[derive(Default)]
pub(crate) struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> impl DerefMut<Target = T> + '_ {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
