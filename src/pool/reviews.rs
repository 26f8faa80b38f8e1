//! Reviews: what a folder above wants done in the outermost drains of a thread that has asked for
//! it. It looks for objects that have died unnoticed, which the drain then releases.
//!
//! A thread that has asked for a review finds [`DECOY`] where its inbox would be. So the ends of
//! pools, which look for messages there, need no instruction to find out that a review is due.

use super::pool_stack::PoolStack;
use super::thread_pools::ThreadPools;
use crate::object::destroy::{ReleaseScope, release};
use crate::object::header::Thin;
use crate::sync::cell::Cell;
use crate::sync::global;
use crate::thread::inbox::Inbox;
use crate::thread::orphans::ORPHANS;
use crate::thread::record::Record;
use crate::unwind::{FirstPanic, Payload};

/// How many objects an ordinary drain releases that have died unnoticed. Their destructors may let
/// others die for ever.
const MOST: usize = 100_000;

global! {
    /// Seems to have messages.
    pub(crate) static DECOY: Inbox = Inbox::decoy();
}

/// Functions of the folder above, for the calling thread. None of them runs foreign code.
pub(crate) struct Reviewer {
    /// Looks for objects that have died; returns whether there may be any.
    pub(crate) settle: fn() -> bool,
    /// Returns the next object that has died. The caller takes over a strong reference, which any
    /// thread may release.
    pub(crate) next_dead: fn() -> Option<Thin>,
    /// Returns how many objects there may be that have died.
    pub(crate) noted: fn() -> usize,
    /// Ends the thread's use of the folder above: its pools go.
    pub(crate) leave: fn(),
}

/// The reviews of a thread.
pub(super) struct Reviews {
    is_asked: Cell<bool>,
    /// Set before the first review is asked for.
    reviewer: Cell<Option<&'static Reviewer>>,
}

impl Reviews {
    pub(super) fn new() -> Self {
        Self {
            is_asked: Cell::new(false),
            reviewer: Cell::new(None),
        }
    }
}

/// Returns the inbox for releases of a thread with this record; without one, that of the orphans.
pub(super) fn own_inbox(record: Option<&Record>) -> *const Inbox {
    record.map_or(ORPHANS.releases(), |record| record.releases.inbox())
}

impl ThreadPools {
    /// Sets what is to be done in reviews.
    pub(crate) fn set_reviewer(&self, reviewer: &'static Reviewer) {
        self.reviews.reviewer.set(Some(reviewer));
    }

    /// Asks for a review in the next outermost drain.
    pub(crate) fn ask_for_review(&self) {
        self.reviews.is_asked.set(true);
        let decoy: &Inbox = &DECOY;
        self.inbox.set(decoy);
    }

    pub(super) fn review_is_asked(&self) -> bool {
        self.reviews.is_asked.get()
    }

    /// Begins the review that the thread has asked for. Returns whether nothing has died, and there
    /// is nothing else to do when a pool of `stack` is closed.
    // Out of line, as drains call this only if there seems to be something to do.
    #[cold]
    #[inline(never)]
    pub(super) fn has_reviewed_all(&self, stack: &PoolStack) -> bool {
        self.review_is_asked() && !self.settle_review() && !self.may_have_duties(stack)
    }

    /// Looks for objects that have died unnoticed; returns whether there may be any. If not, the
    /// review is over.
    fn settle_review(&self) -> bool {
        let any = self.reviews.reviewer.get().is_some_and(|r| (r.settle)());
        if !any {
            self.end_review();
        }
        any
    }

    fn end_review(&self) {
        self.reviews.is_asked.set(false);
        self.inbox.set(own_inbox(self.record()));
    }

    /// Returns the next object that has died unnoticed; the caller takes over a strong reference. The
    /// review is over if there is none.
    pub(super) fn next_dead(&self) -> Option<Thin> {
        let next = self.reviews.reviewer.get().and_then(|r| (r.next_dead)());
        if next.is_none() {
            self.end_review();
        }
        next
    }

    /// Returns how many objects there may be that have died unnoticed.
    pub(crate) fn noted(&self) -> usize {
        if !self.review_is_asked() || !self.settle_review() {
            return 0;
        }
        self.reviews.reviewer.get().map_or(0, |r| (r.noted)())
    }

    /// Ends the thread's reviews, when it stops finding its pools.
    pub(super) fn end_reviews(&self) {
        self.end_review();
        if let Some(reviewer) = self.reviews.reviewer.take() {
            (reviewer.leave)();
        }
    }
}

/// Releases the objects that have died unnoticed, if the thread has asked for a review. Returns
/// whether there was any.
pub(super) fn deliver(pools: &ThreadPools, scope: &ReleaseScope, panics: &mut FirstPanic) -> bool {
    let mut released = 0;
    while pools.review_is_asked() && released < MOST {
        let Some(object) = pools.next_dead() else {
            break;
        };
        released += 1;
        // SAFETY: the reference is this function's, by the contract of `next_dead`.
        panics.guard(|| unsafe { release(object) });
        scope.settle_all(panics);
    }
    released > 0
}

/// Releases the objects that have died unnoticed, in a drain of its own. Returns the first panic.
pub(super) fn deliver_left(pools: &ThreadPools) -> Option<Payload> {
    let mut panics = FirstPanic::default();
    let scope = ReleaseScope::enter();
    deliver(pools, &scope, &mut panics);
    drop(scope);
    panics.into_first()
}
