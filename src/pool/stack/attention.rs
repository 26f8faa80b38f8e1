//! What a thread asks of the ends of its own pools, and how they find objects that have died unnoticed.

use crate::object::header::Thin;
use crate::sync::cell::Cell;

/// What a thread asks of the ends of its own pools. They look at this word in any case.
pub(crate) struct Attention {
    bits: Cell<u8>,
    /// How many empty pools have been closed while it was this thread's turn to advance the epoch.
    closed: Cell<u8>,
}

/// A thread whose turn it is tries to advance the epoch once for this many empty pools that it closes.
const EVERY: u8 = 32;

impl Attention {
    /// The thread has exited: the last guard to be closed frees the pools.
    pub(crate) const DETACHED: u8 = 1;
    /// Hot objects may have died unnoticed.
    pub(crate) const REVIEW: u8 = 2;
    /// It is this thread's turn to advance the epoch.
    pub(crate) const EPOCH: u8 = 4;
    /// Mail waits that a drain in a loop's round has claimed.
    pub(crate) const MAIL: u8 = 8;
    #[cfg(test)]
    pub(crate) const TEST: u8 = 16;

    pub(in crate::pool) fn new(bits: u8) -> Self {
        Self {
            bits: Cell::new(bits),
            closed: Cell::new(0),
        }
    }

    #[inline(always)]
    pub(crate) fn has_any(&self) -> bool {
        self.bits.get() != 0
    }

    #[inline(always)]
    pub(crate) fn has(&self, bit: u8) -> bool {
        self.bits.get() & bit != 0
    }

    pub(crate) fn set(&self, bit: u8) {
        self.bits.set(self.bits.get() | bit);
    }

    /// Counts an empty pool that is closed; returns whether enough were to try to advance the epoch.
    pub(in crate::pool) fn is_turn(&self) -> bool {
        let closed = self.closed.get() + 1;
        self.closed.set(closed % EVERY);
        closed == EVERY
    }

    pub(crate) fn clear(&self, bit: u8) {
        self.bits.set(self.bits.get() & !bit);
    }
}

/// An object that has died unnoticed. Who has it gives up a strong reference to it, on any thread,
/// and keeps this until then.
#[must_use]
pub(crate) struct Dying {
    object: Thin,
    over: fn(),
}

impl Dying {
    /// `over` is called when the reference has been released.
    pub(crate) fn new(object: Thin, over: fn()) -> Self {
        Self { object, over }
    }

    pub(crate) fn thin(&self) -> Thin {
        self.object
    }
}

impl Drop for Dying {
    fn drop(&mut self) {
        (self.over)();
    }
}

/// Functions of the folder above, for the calling thread. None of them runs foreign code.
pub(crate) struct Reviewer {
    /// Returns whether objects may have died. Quick.
    pub(crate) settle: fn() -> bool,
    /// Returns the next object that has died. Asks after each of its steps whether to go on; if not,
    /// the next call goes on with the search.
    pub(crate) next_dead: fn(go_on: &mut dyn FnMut() -> bool) -> Option<Dying>,
    /// Returns how many objects there may be that have died.
    pub(crate) noted: fn() -> usize,
    /// Ends the thread's use of the folder above: its pools go.
    pub(crate) leave: fn(),
}

/// The reviewer of a thread, set before the first review is asked for. Owner only.
#[derive(Default)]
pub(crate) struct Reviews(Cell<Option<&'static Reviewer>>);

impl Reviews {
    pub(crate) fn set_reviewer(&self, reviewer: &'static Reviewer) {
        self.0.set(Some(reviewer));
    }

    /// Returns whether objects may have died unnoticed; if not, the review is over.
    pub(in crate::pool) fn are_due(&self, attention: &Attention) -> bool {
        let any = attention.has(Attention::REVIEW) && self.0.get().is_some_and(|r| (r.settle)());
        if !any {
            attention.clear(Attention::REVIEW);
        }
        any
    }

    /// Returns the next object that has died unnoticed; if there is none, and nothing is left to
    /// search, the review is over. Asks after each step whether to go on.
    pub(in crate::pool) fn next_dead(
        &self,
        attention: &Attention,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Option<Dying> {
        let found = self.0.get().and_then(|r| (r.next_dead)(go_on));
        if found.is_none() {
            self.are_due(attention);
        }
        found
    }

    /// Returns how many objects there may be that have died unnoticed.
    pub(in crate::pool) fn noted(&self, attention: &Attention) -> usize {
        let reviewer = self.0.get().filter(|_| self.are_due(attention));
        reviewer.map_or(0, |r| (r.noted)())
    }

    /// Ends all reviews, when the thread stops finding its pools.
    pub(in crate::pool) fn leave(&self, attention: &Attention) {
        attention.clear(Attention::REVIEW);
        if let Some(reviewer) = self.0.take() {
            (reviewer.leave)();
        }
    }
}
