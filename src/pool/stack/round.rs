//! The rounds of loops, in which ordinary drains hold back most duties of their thread.

use crate::sync::cell::Cell;
use crate::sync::elapsed;
use std::time::Duration;

/// For this long, from the first drain that finds anything, the drains of a round make only a part
/// of the releases that wait. Frames and most commands take less time. A program may run its main
/// loop in one command: later drains of such a round release everything.
const LONG: Duration = Duration::from_millis(100);

/// The state of a thread's round: the part of a frame before its own drain, or a command of a
/// looper. Owner only.
pub(crate) struct Round {
    is_on: Cell<bool>,
    /// When a drain of this round first found something to do.
    found: Cell<Option<Duration>>,
}

impl Round {
    pub(in crate::pool) fn new() -> Self {
        Self {
            is_on: Cell::new(false),
            found: Cell::new(None),
        }
    }

    /// Begins a round, which ends when the returned value is dropped.
    pub(crate) fn begin(&self) -> RoundGuard<'_> {
        RoundGuard {
            before: (self.is_on.replace(true), self.found.take()),
            round: self,
        }
    }

    pub(in crate::pool) fn is_on(&self) -> bool {
        self.is_on.get()
    }

    /// Returns whether a drain of this round that has found something to do must leave most of it to the
    /// end of the round.
    pub(in crate::pool) fn holds_back(&self) -> bool {
        let now = elapsed();
        let found = self.found.get().unwrap_or(now);
        self.found.set(Some(found));
        now.saturating_sub(found) < LONG
    }
}

/// A round in progress.
pub(crate) struct RoundGuard<'r> {
    round: &'r Round,
    before: (bool, Option<Duration>),
}

impl Drop for RoundGuard<'_> {
    fn drop(&mut self) {
        self.round.is_on.set(self.before.0);
        self.round.found.set(self.before.1);
    }
}
