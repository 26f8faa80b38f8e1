//! A lock and a condition variable, made of loom's.

use super::{explore, time};
use loom::sync::{Condvar, Mutex, MutexGuard};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The guard of a locked [`Monitor`].
pub(crate) type Locked<'m, T> = MutexGuard<'m, T>;

/// A lock and a condition variable for changes of the value.
#[derive(Debug)]
pub(crate) struct Monitor<T> {
    value: Mutex<T>,
    changed: Condvar,
    /// Number of notifications, for the waits that [`time`] may end. loom need not see this count:
    /// threads change the value under the lock before they notify, and read it under the lock
    /// before they wait.
    notified: AtomicU64,
}

const FAILED: &str = "a model that panics has failed";

impl<T> Monitor<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            value: Mutex::new(value),
            changed: Condvar::new(),
            notified: AtomicU64::new(0),
        }
    }

    #[track_caller]
    pub(crate) fn lock(&self) -> Locked<'_, T> {
        explore::halt();
        time::step();
        self.value.lock().expect(FAILED)
    }

    /// Waits until notified; at most for `limit`, if there is one and time passes.
    #[track_caller]
    pub(crate) fn wait<'m>(
        &'m self,
        locked: Locked<'m, T>,
        limit: Option<Duration>,
    ) -> Locked<'m, T> {
        let Some(limit) = limit.filter(|_| time::passes()) else {
            return self.changed.wait(locked).expect(FAILED);
        };
        let notified = || self.notified.load(Ordering::Relaxed);
        let before = notified();
        drop(locked);
        time::wait(limit, || notified() != before);
        self.lock()
    }

    /// Wakes all waiting threads.
    #[track_caller]
    pub(crate) fn notify(&self) {
        explore::halt();
        time::step();
        self.notified.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_all();
    }
}
