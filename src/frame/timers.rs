//! What a loop is to do later.

use crate::sync::{Numbers, elapsed};
use std::collections::BTreeMap;
use std::time::Duration;

/// Names a delayed post, to [cancel](crate::FrameProxy::cancel) it. Never that of
/// another one, whichever the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PostId {
    due: Duration,
    serial: u64,
}

impl PostId {
    fn key(self) -> (Duration, u64) {
        (self.due, self.serial)
    }
}

pub(super) type Delayed = Box<dyn FnOnce() + Send>;

/// Taken under the lock of an timers, so later ones there have greater numbers.
static NEXT: Numbers = Numbers::new();

/// Behind a lock. Whoever changes what the loop looks at before it sleeps rings the
/// loop's bell afterwards.
#[derive(Default)]
pub(super) struct Timers {
    /// By when they are due, since the first use of the clock, and by number.
    delayed: BTreeMap<(Duration, u64), Delayed>,
    requested: bool,
}

/// Up to where a round goes: posts that come during the round are for the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cutoff {
    now: Duration,
    serial: u64,
}

impl Timers {
    /// The post's name, and whether it is now the first to be due.
    pub(super) fn insert(&mut self, delay: Duration, post: Delayed) -> (PostId, bool) {
        let id = PostId {
            due: elapsed().saturating_add(delay),
            serial: NEXT.next(),
        };
        self.delayed.insert(id.key(), post);
        let first = self.delayed.keys().next() == Some(&id.key());
        (id, first)
    }

    /// The closure is the caller's to drop, when it has unlocked.
    pub(super) fn cancel(&mut self, id: PostId) -> Option<Delayed> {
        self.delayed.remove(&id.key())
    }

    pub(super) fn cutoff(&self) -> Cutoff {
        Cutoff {
            now: elapsed(),
            serial: NEXT.next(),
        }
    }

    /// One that is due. One at a time, so that those that wait behind it can still be
    /// cancelled by it.
    pub(super) fn pop_due(&mut self, cutoff: Cutoff) -> Option<Delayed> {
        let entry = self.delayed.first_entry()?;
        if *entry.key() < (cutoff.now, cutoff.serial) {
            Some(entry.remove())
        } else {
            None
        }
    }

    /// How long until the first is due; zero if it is.
    pub(super) fn next_due(&self) -> Option<Duration> {
        let (due, _) = self.delayed.keys().next()?;
        Some(due.saturating_sub(elapsed()))
    }

    /// Asks for a frame: whether nobody had done so before.
    pub(super) fn request_frame(&mut self) -> bool {
        !std::mem::replace(&mut self.requested, true)
    }

    /// A frame begins.
    pub(super) fn clear_request(&mut self) {
        self.requested = false;
    }

    /// Whether there is something for a round or frame to do at once.
    pub(super) fn has_work_now(&self) -> bool {
        self.requested || self.next_due() == Some(Duration::ZERO)
    }

    /// All that is left, for the end.
    pub(super) fn take_all(&mut self) -> impl ExactSizeIterator<Item = Delayed> + use<> {
        std::mem::take(&mut self.delayed).into_values()
    }
}
