//! Reviews: what a folder above wants done in the outermost drains of a thread that has asked for
//! it. It looks for objects that have died unnoticed, which the drain then releases.
//!
//! A thread that has asked for a review finds [`DECOY`] where its inbox would be. So the ends of
//! pools, which look for messages there, need no instruction to find out that a review is due.

use crate::object::destroy::{ReleaseScope, release};
use crate::object::header::Thin;
use crate::sync::cell::Cell;
use crate::sync::global;
use crate::thread::inbox::Inbox;
use crate::unwind::{FirstPanic, Payload};

/// How many objects are released at a time that have died unnoticed. Their destructors may let others
/// die for ever.
const MOST: u32 = 2_000;

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

/// The reviews of a thread, and the inbox for releases at which the ends of pools look. Owner only.
pub(crate) struct Reviews {
    /// `own`, or [`DECOY`] while a review is asked for. So that looking for messages takes no branch.
    inbox: Cell<*const Inbox>,
    /// The thread's inbox; kept alive by what has made this, or a static.
    own: *const Inbox,
    is_asked: Cell<bool>,
    /// Set before the first review is asked for.
    reviewer: Cell<Option<&'static Reviewer>>,
}

impl Reviews {
    /// `own` must live as long as what is made here.
    pub(super) fn new(own: *const Inbox) -> Self {
        Self {
            inbox: Cell::new(own),
            own,
            is_asked: Cell::new(false),
            reviewer: Cell::new(None),
        }
    }

    /// Returns the inbox at which the ends of pools look.
    #[inline(always)]
    pub(super) fn inbox(&self) -> *const Inbox {
        self.inbox.get()
    }

    /// Sets what is to be done in reviews.
    pub(crate) fn set_reviewer(&self, reviewer: &'static Reviewer) {
        self.reviewer.set(Some(reviewer));
    }

    /// Asks for a review in the next outermost drain.
    pub(crate) fn ask(&self) {
        self.is_asked.set(true);
        let decoy: &Inbox = &DECOY;
        self.inbox.set(decoy);
    }

    pub(super) fn is_asked(&self) -> bool {
        self.is_asked.get()
    }

    /// Begins the review that was asked for: looks for objects that have died unnoticed, and returns
    /// whether there may be any. If not, the review is over.
    pub(super) fn settle(&self) -> bool {
        let any = self.reviewer.get().is_some_and(|r| (r.settle)());
        if !any {
            self.end();
        }
        any
    }

    /// Returns the next object that has died unnoticed; the caller takes over a strong reference. The
    /// review is over if there is none.
    pub(super) fn next_dead(&self) -> Option<Thin> {
        let next = self.reviewer.get().and_then(|r| (r.next_dead)());
        if next.is_none() {
            self.end();
        }
        next
    }

    /// Returns how many objects there may be that have died unnoticed.
    pub(crate) fn noted(&self) -> usize {
        if !self.is_asked() || !self.settle() {
            return 0;
        }
        self.reviewer.get().map_or(0, |r| (r.noted)())
    }

    fn end(&self) {
        self.is_asked.set(false);
        self.inbox.set(self.own);
    }

    /// Ends all reviews, when the thread stops finding its pools.
    pub(super) fn leave(&self) {
        self.end();
        if let Some(reviewer) = self.reviewer.take() {
            (reviewer.leave)();
        }
    }

    /// Releases the objects that have died unnoticed, if a review was asked for; returns their
    /// number. If there are very many, some are left.
    pub(super) fn deliver(&self, scope: &ReleaseScope, panics: &mut FirstPanic) -> u32 {
        let mut released = 0;
        while self.is_asked() && released < MOST {
            let Some(object) = self.next_dead() else {
                break;
            };
            released += 1;
            // SAFETY: the reference is this function's, by the contract of `next_dead`.
            panics.guard(|| unsafe { release(object) });
            scope.settle_all(panics);
        }
        released
    }

    /// Releases objects like [`deliver`](Self::deliver), in a drain of its own. Returns the first
    /// panic, too.
    pub(super) fn deliver_left(&self) -> (u32, Option<Payload>) {
        let mut panics = FirstPanic::default();
        let scope = ReleaseScope::enter();
        let released = self.deliver(&scope, &mut panics);
        drop(scope);
        (released, panics.into_first())
    }
}
