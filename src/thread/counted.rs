//! An inbox that knows how much of what was sent to it has not run yet.
//!
//! 1. A sender counts a message in `sent` before it pushes it; if the inbox is closed, it takes
//!    that back afterwards.
//! 2. The owner counts a message in `done` after it has run, or has been handed on and counted
//!    there.
//! 3. So a message counts from before it can be found until after it has run, wherever it is
//!    meanwhile: in the inbox, or in what the owner has taken out.
//!
//! What counts is a message's weight: the number of releases, or closures, that it stands for.

use super::inbox::{Inbox, Message, PushOutcome};
use crate::sync::atomic::{AtomicU64, Ordering};
use crossbeam_utils::CachePadded;

/// An inbox with the counts of what was sent and of what has run.
pub(crate) struct CountedInbox {
    /// On a cache line of its own: others write it.
    shared: CachePadded<SenderSide>,
    /// Written by the owner alone.
    done: AtomicU64,
}

struct SenderSide {
    inbox: Inbox,
    sent: AtomicU64,
}

impl CountedInbox {
    pub(crate) fn new() -> Self {
        let inbox = Inbox::new();
        let sent = AtomicU64::new(0);
        Self {
            shared: CachePadded::new(SenderSide { inbox, sent }),
            done: AtomicU64::new(0),
        }
    }

    /// The inbox itself, to look at or take from.
    pub(crate) fn inbox(&self) -> &Inbox {
        &self.shared.inbox
    }

    /// Counts `n` that are about to be sent. Returns how many waited before.
    pub(crate) fn announce(&self, n: u64) -> u64 {
        // Relaxed: whoever sees that the message has run, sees this, too, by the Release of the
        // push, the Acquire of the take, and `done`. Model: shutdown_inbox.
        let sent = self.shared.sent.fetch_add(n, Ordering::Relaxed);
        sent.saturating_sub(self.done.load(Ordering::Relaxed))
    }

    /// Takes back what was announced and is not sent.
    pub(crate) fn retract(&self, n: u64) {
        self.shared.sent.fetch_sub(n, Ordering::Relaxed);
    }

    /// Sends a message that was announced by its weight, or gives it back if the inbox is closed.
    pub(crate) fn push(&self, message: Message) -> Result<PushOutcome, Message> {
        let weight = message.weight();
        let pushed = self.shared.inbox.push(message);
        if pushed.is_err() {
            self.retract(weight);
        }
        pushed
    }

    /// Counts `n` that have run or been handed on. For the owner.
    pub(crate) fn done(&self, n: u64) {
        // Relaxed: the owner's own.
        let done = self.done.load(Ordering::Relaxed);
        // Release: pairs with the Acquire in `waiting`, so that whoever finds nothing waiting sees
        // what was done. Model: shutdown_inbox.
        self.done.store(done.wrapping_add(n), Ordering::Release);
    }

    /// How many have been sent and have not run. What was done in those that have is seen.
    pub(crate) fn waiting(&self) -> u64 {
        // In this order: what is done was sent before.
        let done = self.all_done();
        let sent = self.shared.sent.load(Ordering::Relaxed);
        sent.saturating_sub(done)
    }

    /// All that were ever sent or done: if neither figure changes, nothing has moved. May be off
    /// while a message is refused.
    pub(crate) fn activity(&self) -> u64 {
        let done = self.all_done();
        done.wrapping_add(self.shared.sent.load(Ordering::Relaxed))
    }

    fn all_done(&self) -> u64 {
        // Acquire: pairs with the Release in `done`, so that what was done is seen, and what was
        // sent in the course of it. Model: shutdown_inbox.
        self.done.load(Ordering::Acquire)
    }
}
