//! Messages that a thread has taken out of its inbox to run within budgets.
//!
//! Taking messages out costs the same for any number of them. An inbox has its newest message
//! first, but the oldest runs first. The thread reverses the messages one at a time, so that a
//! time budget limits the reversing, too. To keep the order, it takes no more until all have run.

use super::inbox::{Chain, Inbox, Message};
use crate::sync::cell::Cell;
use crate::sync::{const_fn, described};

/// Remote releases that a thread has taken out of its inbox. Owner only; dropping this leaks the
/// messages.
pub(crate) struct ClaimedMessages {
    /// Messages still to be reversed.
    newest_first: Cell<Chain>,
    /// Reversed messages. They run once `newest_first` is empty.
    oldest_first: Cell<Chain>,
}

/// The next step for the caller.
pub(crate) enum Next {
    /// Run this message, the oldest.
    Run(Message),
    /// Call again: one more message was reversed.
    Again,
    /// There are no messages.
    Nothing,
}

impl ClaimedMessages {
    const_fn! {
        pub(crate) fn new() -> Self {
            Self {
                newest_first: Cell::new(Chain::EMPTY),
                oldest_first: Cell::new(Chain::EMPTY),
            }
        }
    }

    /// Takes all messages out of `inbox`, which is the calling thread's, unless some claimed
    /// messages have not run yet.
    pub(crate) fn take_in(&self, inbox: &Inbox) {
        if self.is_empty() {
            self.newest_first.set(inbox.take_newest_first());
        }
    }

    /// Reverses one message, or returns the next one to run.
    pub(crate) fn next(&self, inbox: &Inbox) -> Next {
        self.take_in(inbox);
        let mut newest_first = self.newest_first.replace(Chain::EMPTY);
        let mut oldest_first = self.oldest_first.replace(Chain::EMPTY);
        let next = match newest_first.next() {
            Some(message) if newest_first.is_empty() => Next::Run(message),
            Some(message) => {
                oldest_first.push_front(message);
                Next::Again
            }
            None => oldest_first.next().map_or(Next::Nothing, Next::Run),
        };
        self.newest_first.set(newest_first);
        self.oldest_first.set(oldest_first);
        next
    }

    /// Puts back a message that has run in part, so that it is the next one again.
    pub(crate) fn put_back(&self, message: Message) {
        let mut oldest_first = self.oldest_first.replace(Chain::EMPTY);
        oldest_first.push_front(message);
        self.oldest_first.set(oldest_first);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all_chains(|chain| chain.is_empty())
    }

    /// Returns whether there is no claimed message for which `f` returns true.
    pub(crate) fn none(&self, mut f: impl FnMut(&Message) -> bool) -> bool {
        self.all_chains(|chain| !chain.any(&mut f))
    }

    fn all_chains(&self, mut f: impl FnMut(&Chain) -> bool) -> bool {
        [&self.newest_first, &self.oldest_first]
            .into_iter()
            .all(|cell| {
                let chain = cell.replace(Chain::EMPTY);
                let holds = f(&chain);
                cell.set(chain);
                holds
            })
    }
}

described! {
    use std::mem::offset_of;

    impl ClaimedMessages {
        /// The offset of the address of the first message to be reversed.
        pub(crate) const NEWEST_FIRST: usize = offset_of!(Self, newest_first);
        /// The offset of the address of the first message to be run.
        pub(crate) const OLDEST_FIRST: usize = offset_of!(Self, oldest_first);
    }
}
