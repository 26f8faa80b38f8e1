//! Where one thread sleeps until others wake it.

use super::{Monitor, const_fn, elapsed};
use std::time::Duration;

/// Where one thread sleeps until others wake it. A wake that comes before the sleep
/// is kept: then the next sleep ends at once.
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

    /// Sleeps until [`Parker::unpark`], or for at most `limit`.
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

    /// Wakes the thread, or has its next sleep end at once.
    #[track_caller]
    pub(crate) fn unpark(&self) {
        *self.0.lock() = true;
        self.0.notify();
    }
}
