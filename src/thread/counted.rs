//! An inbox that counts the messages which have been sent to it and have not run yet.
//!
//! 1. A sender adds a message to `sent` before it pushes the message; if the inbox is closed or
//!    full, the sender adds the message to `refused` as well.
//! 2. The owner adds a message to `done` after the message has run, or after the owner has passed
//!    it on to a place that counts it.
//! 3. So a message counts as waiting from before the owner can find it until after it has run, in
//!    the inbox and among the messages that the owner has taken out.
//!
//! Messages count by weight: the number of releases, or closures, that they stand for.

use super::inbox::{Inbox, Message, PushOutcome};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Hint, described};
use crossbeam_utils::CachePadded;

/// An inbox, with counts of the messages sent and of those that have run.
#[derive(Default)]
pub(crate) struct CountedInbox {
    /// On a cache line of its own, as other threads write it.
    shared: CachePadded<SenderSide>,
    /// The weight of the messages that have run or been passed on. Written by the owner only.
    done: AtomicU64,
}

#[derive(Default)]
struct SenderSide {
    inbox: Inbox,
    sent: AtomicU64,
    /// The weight of those messages in `sent` that were not accepted.
    refused: AtomicU64,
    /// A copy of `done`, perhaps an old one. Senders read the copy first, as the owner often writes
    /// the cache line of `done`.
    done_before: Hint,
}

impl CountedInbox {
    pub(crate) fn inbox(&self) -> &Inbox {
        &self.shared.inbox
    }

    /// Counts `n` releases or closures that are about to be sent. Returns the weight that waited
    /// before, including all that was ever refused.
    pub(crate) fn announce(&self, n: u64) -> u64 {
        // Relaxed: a thread that sees that the message has run sees this count, too, by Release and
        // Acquire of push and take, and Release and Acquire of `done`. Model: shutdown_inbox.
        let sent = self.shared.sent.fetch_add(n, Ordering::Relaxed);
        sent.saturating_sub(self.done.load(Ordering::Relaxed))
    }

    /// If fewer than `bound` wait, counts `n` releases that are about to be sent, and returns true.
    pub(crate) fn announce_within(&self, n: u64, bound: u64) -> bool {
        // Reads `refused` first, so `sent` includes all that it counts. Misses later refusals.
        let refused = self.refused();
        // Relaxed: the Release of the push, or of `refuse`, publishes this count.
        let sent = self.shared.sent.fetch_add(n, Ordering::Relaxed) - refused;
        // `done_before` is at most `done`, so no more messages wait than this difference.
        if sent.saturating_sub(self.shared.done_before.get()) < bound {
            return true;
        }
        let done = self.done.load(Ordering::Relaxed);
        self.shared.done_before.set(done);
        let is_within = sent.saturating_sub(done) < bound;
        if !is_within {
            self.refuse(n);
        }
        is_within
    }

    /// Counts as refused `n` releases or closures that were announced and are not sent.
    pub(crate) fn refuse(&self, n: u64) {
        // Release: pairs with the Acquire in `refused`. Model: inbox_full_counted.
        self.shared.refused.fetch_add(n, Ordering::Release);
    }

    /// Returns the weight of the messages that were not accepted; `sent`, if read after this,
    /// includes them.
    fn refused(&self) -> u64 {
        // Acquire: pairs with the Release in `refuse`, so that the caller sees the announcements, too.
        // Model: inbox_full_counted.
        self.shared.refused.load(Ordering::Acquire)
    }

    /// Counts a message and sends it; returns the message if the inbox is closed.
    pub(crate) fn send(&self, message: Message) -> Result<PushOutcome, Message> {
        self.announce(message.weight());
        self.push(message)
    }

    /// Sends a message whose weight was announced; returns the message if the inbox is closed.
    pub(crate) fn push(&self, message: Message) -> Result<PushOutcome, Message> {
        let weight = message.weight();
        let pushed = self.shared.inbox.push(message);
        if pushed.is_err() {
            self.refuse(weight);
        }
        pushed
    }

    /// Counts `n` releases or closures that have run or been passed on. Owner only.
    pub(crate) fn count_done(&self, n: u64) {
        // Relaxed: only the owner, which is the caller, writes `done`.
        let done = self.done.load(Ordering::Relaxed);
        // Release: pairs with the Acquire in `all_done`, so that a thread that finds nothing
        // waiting sees the effects of all messages. Model: shutdown_inbox.
        self.done.store(done.wrapping_add(n), Ordering::Release);
    }

    /// Returns how many releases or closures have been sent and have not run. The effects of those
    /// that have run happen before this function returns.
    pub(crate) fn waiting(&self) -> u64 {
        // Reads `sent` last, as a message counts as sent before it counts as done or refused.
        let gone = self.all_done() + self.refused();
        let sent = self.shared.sent.load(Ordering::Relaxed);
        sent.saturating_sub(gone)
    }

    /// Returns the sum of all counts. Each count only grows: while the sum does not change, no
    /// message is sent and none runs.
    pub(crate) fn activity(&self) -> u64 {
        let gone = self.all_done().wrapping_add(self.refused());
        gone.wrapping_add(self.shared.sent.load(Ordering::Relaxed))
    }

    fn all_done(&self) -> u64 {
        // Acquire: pairs with the Release in `count_done`, so that the caller sees the effects of
        // messages that have run, and messages that those have sent. Model: inbox_never_empty.
        self.done.load(Ordering::Acquire)
    }
}

described! {
    use std::mem::offset_of;

    impl CountedInbox {
        // A `CachePadded` begins with its value.
        /// The offset of the inbox's head.
        pub(super) const HEAD: usize = offset_of!(Self, shared) + offset_of!(SenderSide, inbox);
        /// The offset of the count `sent`.
        pub(super) const SENT: usize = offset_of!(Self, shared) + offset_of!(SenderSide, sent);
        /// The offset of the count `refused`.
        pub(super) const REFUSED: usize =
            offset_of!(Self, shared) + offset_of!(SenderSide, refused);
        /// The offset of the count `done`.
        pub(super) const DONE: usize = offset_of!(Self, done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_all_counts_grows_with_each() {
        let inbox = CountedInbox::default();
        let counts: [fn(&CountedInbox); 3] = [
            |inbox| _ = inbox.announce(2),
            |inbox| inbox.refuse(1),
            |inbox| inbox.count_done(1),
        ];
        for count in counts {
            let before = inbox.activity();
            count(&inbox);
            assert!(inbox.activity() > before);
        }
    }
}
