//! What a thread asks of the ends of its own pools, and how they find objects that have died unnoticed.

use crate::object::header::Thin;
use crate::sync::cell::Cell;

/// What a thread asks of the ends of its own pools. They look at this word in any case.
pub(crate) struct Attention {
    bits: Cell<u8>,
    /// How many empty pools have been closed while it was this thread's turn to advance the epoch.
    closed: Cell<u8>,
}

/// An attempt to advance the epoch comes with each of so many empty pools that are closed.
const EVERY: u8 = 32;

impl Attention {
    /// The thread has exited: the last guard to be closed frees the pools.
    pub(crate) const DETACHED: u8 = 1;
    /// Hot objects may have died unnoticed.
    pub(crate) const REVIEW: u8 = 2;
    /// It is this thread's turn to advance the epoch.
    pub(crate) const EPOCH: u8 = 4;
    #[cfg(test)]
    pub(crate) const TEST: u8 = 8;

    pub(super) fn new(bits: u8) -> Self {
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
    pub(super) fn is_turn(&self) -> bool {
        let closed = self.closed.get() + 1;
        self.closed.set(closed % EVERY);
        closed == EVERY
    }

    pub(crate) fn clear(&self, bit: u8) {
        self.bits.set(self.bits.get() & !bit);
    }
}

/// The result of a look for an object that has died unnoticed.
pub(crate) enum Found {
    /// It has. The caller takes over a strong reference, which any thread may release.
    Dead(Thin),
    /// The caller has stopped the look, which goes on with the next one.
    Unfinished,
    /// There is none.
    Nothing,
}

/// Functions of the folder above, for the calling thread, by which drains find objects that have died
/// unnoticed. None of them runs foreign code.
pub(crate) struct Reviewer {
    /// Looks whether objects have died, as long as the function that it is given says so; returns
    /// whether some may have.
    pub(crate) settle: fn(&mut dyn FnMut() -> bool) -> bool,
    /// Looks for the next object that has died, as long as the function that it is given says so.
    pub(crate) next_dead: fn(&mut dyn FnMut() -> bool) -> Found,
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

    /// Looks for objects that have died unnoticed, as long as `go_on` says so. Returns whether there may
    /// be any; if not, the review is over.
    pub(super) fn settle(&self, attention: &Attention, go_on: &mut dyn FnMut() -> bool) -> bool {
        let any = self.0.get().is_some_and(|r| (r.settle)(go_on));
        if !any {
            attention.clear(Attention::REVIEW);
        }
        any
    }

    /// Looks for the next of them. If there is none, the review is over.
    pub(super) fn next_dead(
        &self,
        attention: &Attention,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Found {
        let found = self
            .0
            .get()
            .map_or(Found::Nothing, |r| (r.next_dead)(go_on));
        if matches!(found, Found::Nothing) {
            attention.clear(Attention::REVIEW);
        }
        found
    }

    /// Returns how many objects there may be that have died unnoticed.
    pub(crate) fn noted(&self, attention: &Attention) -> usize {
        let reviewer = self.0.get().filter(|_| attention.has(Attention::REVIEW));
        reviewer.map_or(0, |r| (r.noted)())
    }

    /// Ends all reviews, when the thread stops finding its pools.
    pub(super) fn leave(&self, attention: &Attention) {
        attention.clear(Attention::REVIEW);
        if let Some(reviewer) = self.0.take() {
            (reviewer.leave)();
        }
    }
}
