//! What a thread has taken out of its inbox to run it within budgets.
//!
//! Taking out costs the same for any number of messages. They come newest first and run oldest
//! first, so they are turned around before, a message at a time: a budget in time covers that,
//! too. Nothing more is taken out until all of it has run, so nothing is overtaken.

use super::inbox::{Chain, Inbox, Message};
use crate::sync::cell::Cell;
use crate::sync::const_fn;

/// Remote releases that a thread has taken out of its inbox. Owner only; dropping it leaks the
/// messages.
pub(crate) struct ClaimedMessages {
    /// To be turned around.
    newest_first: Cell<Chain>,
    /// What has been turned around. It can run when nothing else is to be.
    oldest_first: Cell<Chain>,
}

/// What there is to do.
pub(crate) enum Next {
    /// To run the oldest message.
    Run(Message),
    /// To ask again: one more message has been turned around.
    Again,
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

    /// Takes out what is in `inbox`, the calling thread's, if nothing is left of what was taken out
    /// before.
    pub(crate) fn take_in(&self, inbox: &Inbox) {
        if self.is_empty() {
            self.newest_first.set(inbox.take_newest_first());
        }
    }

    /// Does a step.
    pub(crate) fn next(&self, inbox: &Inbox) -> Next {
        self.take_in(inbox);
        let mut newest_first = self.newest_first.replace(Chain::EMPTY);
        let mut oldest_first = self.oldest_first.replace(Chain::EMPTY);
        let next = match newest_first.next() {
            Some(message) if oldest_first.is_empty() && newest_first.is_empty() => {
                Next::Run(message)
            }
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

    /// Takes back what is left of a message that was to run: it is the next one again.
    pub(crate) fn put_back(&self, message: Message) {
        let mut oldest_first = self.oldest_first.replace(Chain::EMPTY);
        oldest_first.push_front(message);
        self.oldest_first.set(oldest_first);
    }

    /// Gives up all messages, by leaking them; returns what they weigh.
    pub(crate) fn leak(&self) -> u64 {
        let mut leaked = 0;
        for cell in [&self.newest_first, &self.oldest_first] {
            leaked += cell.replace(Chain::EMPTY).map(|m| m.weight()).sum::<u64>();
        }
        leaked
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.look(|chain| chain.is_empty())
    }

    /// Returns whether `f` holds for none of the messages.
    pub(crate) fn none(&self, mut f: impl FnMut(&Message) -> bool) -> bool {
        self.look(|chain| !chain.any(&mut f))
    }

    fn look(&self, mut f: impl FnMut(&Chain) -> bool) -> bool {
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
