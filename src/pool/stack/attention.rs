//! Tells the close of a pool which duties its thread has, and finds objects that have died
//! unnoticed.

use crate::object::header::Thin;
use crate::sync::cell::Cell;

/// The duties of a thread that closing a pool must notice. Every close reads this word.
pub(crate) struct Attention {
    bits: Cell<u8>,
    /// How many empty pools have been closed while it was this thread's turn to advance the epoch.
    closed: Cell<u8>,
}

/// A thread whose turn it is to advance the epoch tries once for this many empty pools that it closes.
const EVERY: u8 = 32;

impl Attention {
    /// The thread has exited: the last guard to be closed frees the pools.
    pub(crate) const DETACHED: u8 = 1;
    /// Hot objects may have died unnoticed.
    pub(crate) const REVIEW: u8 = 2;
    /// It is this thread's turn to advance the epoch.
    pub(crate) const EPOCH: u8 = 4;
    /// A drain in a loop's round has claimed mail and left it.
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

    /// Counts a closed empty pool; returns whether enough were closed to try to advance the epoch.
    pub(in crate::pool) fn is_turn(&self) -> bool {
        let closed = self.closed.get() + 1;
        self.closed.set(closed % EVERY);
        closed == EVERY
    }

    pub(crate) fn clear(&self, bit: u8) {
        self.bits.set(self.bits.get() & !bit);
    }
}

/// An object that has died unnoticed. The owner of this value gives up one strong reference to the
/// object, on any thread, and keeps the value until then.
#[must_use]
pub(crate) struct Dying {
    object: Thin,
    over: fn(),
}

impl Dying {
    /// Makes a `Dying` that calls `over` when the reference has been released.
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

/// Functions of the folder `hot`, which is in a layer above, for the calling thread. They run no
/// foreign code.
pub(crate) struct Reviewer {
    /// Returns, quickly, whether objects may have died.
    pub(crate) settle: fn() -> bool,
    /// Returns the next object that has died. Calls `go_on` after each step of its search; if that
    /// returns false, the next call continues the search.
    pub(crate) next_dead: fn(go_on: &mut dyn FnMut() -> bool) -> Option<Dying>,
    /// Returns how many objects may have died.
    pub(crate) noted: fn() -> usize,
    /// Ends the thread's use of `hot`, as its pools are being given up.
    pub(crate) leave: fn(),
}

/// The reviewer of a thread, set before the first review is asked for. Owner only.
#[derive(Default)]
pub(crate) struct Reviews(Cell<Option<&'static Reviewer>>);

impl Reviews {
    pub(crate) fn set_reviewer(&self, reviewer: &'static Reviewer) {
        self.0.set(Some(reviewer));
    }

    /// Returns whether objects may have died unnoticed; if not, ends the review.
    pub(in crate::pool) fn are_due(&self, attention: &Attention) -> bool {
        let any = attention.has(Attention::REVIEW) && self.0.get().is_some_and(|r| (r.settle)());
        if !any {
            attention.clear(Attention::REVIEW);
        }
        any
    }

    /// Returns the next object that has died unnoticed; if no such object is left, ends the review.
    /// Calls `go_on` after each step.
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

    /// Returns how many objects may have died unnoticed.
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
