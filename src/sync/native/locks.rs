//! Locks, by `parking_lot`.

use std::ops::DerefMut;
use std::time::Duration;

/// The guard of a locked [`Monitor`].
pub(crate) type Locked<'m, T> = parking_lot::MutexGuard<'m, T>;

/// A lock and a condition variable for changes of the value.
#[derive(Debug)]
pub(crate) struct Monitor<T> {
    value: parking_lot::Mutex<T>,
    changed: parking_lot::Condvar,
}

impl<T> Monitor<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self {
            value: parking_lot::Mutex::new(value),
            changed: parking_lot::Condvar::new(),
        }
    }

    pub(crate) fn lock(&self) -> Locked<'_, T> {
        self.value.lock()
    }

    /// Waits until notified, or for `limit` at most; may also end spuriously.
    pub(crate) fn wait<'m>(
        &'m self,
        mut locked: Locked<'m, T>,
        limit: Option<Duration>,
    ) -> Locked<'m, T> {
        match limit {
            None => self.changed.wait(&mut locked),
            Some(limit) => _ = self.changed.wait_for(&mut locked, limit),
        }
        locked
    }

    /// Wakes all waiting threads.
    pub(crate) fn notify(&self) {
        self.changed.notify_all();
    }
}

/// A lock for slow paths. It is not poisoned by panics; no foreign code runs under it.
#[derive(Default)]
pub(crate) struct Lock<T>(parking_lot::Mutex<T>);

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> impl DerefMut<Target = T> + '_ {
        self.0.lock()
    }
}
