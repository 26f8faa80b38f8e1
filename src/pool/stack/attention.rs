//! Which duties the close of a pool must notice; how hot objects that have died unnoticed are
//! found; and the rounds of loops, in which ordinary drains hold back most duties.

use crate::object::header::Thin;
use crate::sync::cell::Cell;
use crate::sync::elapsed;
use std::time::Duration;

/// One bit for each reason why closing a pool, even an empty one, must do more for its thread.
/// Every close reads these bits.
#[derive(Default)]
pub(crate) struct Attention {
    bits: Cell<u8>,
    /// Empty pools closed while it was this thread's turn to advance the epoch, modulo [`EVERY`].
    closed: Cell<u8>,
}

/// A thread whose turn it is to advance the epoch tries once for this many empty pools that it closes.
const EVERY: u8 = 32;

impl Attention {
    /// The thread has exited: closing its last open pool frees all of its pools.
    pub(crate) const DETACHED: u8 = 1;
    /// Hot objects may have died unnoticed.
    pub(crate) const REVIEW: u8 = 2;
    /// It is this thread's turn to *advance the epoch*: to collect what slots have retired.
    pub(crate) const EPOCH: u8 = 4;
    /// A drain in a loop's round has claimed mail and left it.
    pub(crate) const MAIL: u8 = 8;
    #[cfg(test)]
    pub(crate) const TEST: u8 = 16;

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

/// A hot object that has died *unnoticed*: no drop could tell that it was the last. The owner of
/// this value gives up one strong reference to the object, on any thread, and then drops the value.
#[must_use]
pub(crate) struct Dying {
    object: Thin,
    over: fn(),
}

impl Dying {
    /// Makes a `Dying` that calls `over` when it is dropped.
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
    /// Returns the next object that has died. Calls `go_on` after each step of its search; if
    /// `go_on` returns false, the search stops, and the next call continues it.
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
        let any = self.0.get().is_some_and(|r| (r.settle)());
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

/// For this long, from the first drain that finds anything, the drains of a round make only a part
/// of the releases that wait. Frames and most commands take less time. A program may run its main
/// loop in one command: later drains of such a round release everything.
const LONG: Duration = Duration::from_millis(100);

/// The state of a thread's round: the part of a frame before its own drain, or a command of a
/// looper. Owner only.
#[derive(Default)]
pub(crate) struct Round {
    is_on: Cell<bool>,
    /// When a drain of this round first found something to do.
    found: Cell<Option<Duration>>,
}

impl Round {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::Parker;

    #[test]
    fn a_round_holds_back_for_a_tenth_of_a_second_after_it_has_found_anything() {
        let tenth = Duration::from_millis(100);
        while elapsed() < tenth {
            Parker::default().park(Some(tenth));
        }
        let round = Round::default();
        assert!(round.holds_back(), "however long the process has run");
        round.found.set(Some(elapsed() - tenth));
        assert!(!round.holds_back());
    }
}
