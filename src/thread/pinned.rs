//! Since when a thread holds the epoch up, and with which pool: for reports.

use crate::sync::{Counter, elapsed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Written by its thread, read by any.
#[derive(Debug, Default)]
pub(crate) struct Pinned {
    /// In milliseconds from the first use of the crate, and 1; 0 if it does not.
    since: Counter,
    /// Whether this has been told.
    told: Counter,
    /// std's lock even in loom builds: nothing yields while it is held.
    pool: Mutex<String>,
}

impl Pinned {
    pub(crate) fn begin(&self, pool: &str) {
        let mut name = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        name.clear();
        name.push_str(pool);
        drop(name);
        self.told.set(0);
        self.since.set(elapsed().as_millis() as u64 + 1);
    }

    pub(crate) fn end(&self) {
        self.since.set(0);
    }

    /// The age and the pool of a pin older than `age`; once for each.
    pub(crate) fn longer_than(&self, age: Duration) -> Option<(Duration, String)> {
        let since = self.since.get().checked_sub(1)?;
        let held = elapsed().saturating_sub(Duration::from_millis(since));
        if held < age || self.told.add_shared(1) > 0 {
            return None;
        }
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        Some((held, pool.clone()))
    }
}
