//! Sleep and wake-up of one thread.

use super::{Monitor, const_fn, elapsed};
use std::time::Duration;

/// A place for one thread to sleep until others wake it. A wake-up that comes before the sleep is
/// stored, and ends the next sleep at once.
#[derive(Debug)]
pub(crate) struct Parker(Monitor<bool>);

impl Default for Parker {
    fn default() -> Self {
        Self::new()
    }
}

impl Parker {
    const_fn! {
        pub(crate) fn new() -> Self {
            Self(Monitor::new(false))
        }
    }

    /// Sleeps until [`Parker::unpark`] is called, or for `limit` at most.
    #[track_caller]
    pub(crate) fn park(&self, limit: Option<Duration>) {
        let until = limit.map(|limit| elapsed().saturating_add(limit));
        let mut woken = self.0.lock();
        while !*woken {
            let left = until.map(|until| until.saturating_sub(elapsed()));
            if left == Some(Duration::ZERO) {
                break;
            }
            woken = self.0.wait(woken, left);
        }
        *woken = false;
    }

    /// Wakes the thread, or lets its next sleep end at once.
    #[track_caller]
    pub(crate) fn unpark(&self) {
        *self.0.lock() = true;
        self.0.notify();
    }
}
