//! `Room`: senders that wait until a reclaimer has made room for their values.
//!
//! ```text
//! sender                                    reclaimer, after each round
//! takes a ticket of the sleeper             has destroyed values, and counted them as done
//! sets WANTED, by a read-modify-write       clears WANTED, by a read-modify-write
//! looks for room again; if there is none,   if it was set: wakes all sleepers
//! sleeps with that ticket
//! ```
//!
//! One of the two read-modify-writes comes first. If it is the reclaimer's, the sender sees the
//! room; if it is the sender's, the reclaimer wakes the sender. While values wait, the reclaimer
//! makes another round, so no sender sleeps for ever.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Sleeper, elapsed};
use std::time::Duration;

/// A sender waits for room.
const WANTED: u64 = 1;
/// There will be no more rounds.
const ENDED: u64 = 2;

#[derive(Default)]
pub(crate) struct Room {
    /// The bits [`WANTED`] and [`ENDED`].
    state: AtomicU64,
    waiting: Sleeper,
}

impl Room {
    /// Sleeps until there may be room, unless `is_there` finds that there is. Returns false once
    /// the reclaimer has ended.
    pub(crate) fn wait(&self, is_there: impl FnOnce() -> bool) -> bool {
        let seen = self.waiting.ticket();
        // Acquire: pairs with the Release in `made`, so that `is_there` sees what was counted as
        // done before that. Model: room_made.
        let state = self.state.fetch_or(WANTED, Ordering::Acquire);
        if state & ENDED != 0 {
            return false;
        }
        if !is_there() {
            self.waiting.sleep(seen, Duration::MAX);
        }
        true
    }

    /// Wakes the senders that wait. The reclaimer's thread calls this after it has made room.
    pub(crate) fn made(&self) {
        // Release: pairs with the Acquire in `wait`. Model: room_made.
        if self.state.swap(0, Ordering::Release) == WANTED {
            self.waiting.wake();
        }
    }

    /// Wakes the senders, and lets none wait any more. `made` must not be called after this.
    pub(crate) fn end(&self) {
        // Relaxed: a sender that sees `ENDED` reads nothing that the reclaimer wrote. A swap, as
        // the order of read-modify-writes decides here, too. Model: room_end.
        self.state.swap(ENDED, Ordering::Relaxed);
        self.waiting.wake();
    }

    /// Waits until the reclaimer has ended, or `elapsed` reaches `until`; returns whether it has
    /// ended. Only a thread that also joins the reclaimer's thread sees what that did before.
    pub(crate) fn has_ended_by(&self, until: Duration) -> bool {
        // Relaxed: the join orders what the reclaimer did.
        let has_ended = || self.state.load(Ordering::Relaxed) & ENDED != 0;
        let left = || until.saturating_sub(elapsed());
        loop {
            // In this order, no wake-up is missed, and an end that came in time is found.
            match (self.waiting.ticket(), left(), has_ended()) {
                (_, _, true) => return true,
                (_, Duration::ZERO, _) => return false,
                (seen, left, _) => self.waiting.sleep(seen, left),
            }
        }
    }
}
