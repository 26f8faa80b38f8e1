//! What other threads may know of a thread.

use super::counted::CountedInbox;
use super::inbox::{Chain, Message, PushOutcome};
use super::key::ThreadKey;
use super::waker::ThreadWaker;
use crate::sync::Counter;
use crate::sync::thread::{ThreadId, current_id, current_name};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One incarnation of a thread. It lives as long as somebody has a handle to
/// it; its inbox is closed when the thread ends.
pub(crate) struct Record {
    key: ThreadKey,
    /// `None` if std does not know the thread any more: see [`current_id`].
    id: Option<ThreadId>,
    name: Option<Box<str>>,
    /// What others have sent to be released here, and objects that have come home.
    pub(crate) releases: CountedInbox,
    /// Closures that were posted. Apart from the releases, so that those who run closures do not
    /// have to look for them among a million releases.
    pub(crate) calls: CountedInbox,
    /// How to wake it, if it sleeps in a loop.
    pub(crate) waker: ThreadWaker,
    /// How many releases that were sent may wait to be made.
    bound: Option<u64>,
    pub(crate) tally: Tally,
    /// The number of posted closures at which the next event is due; 0 stands for the first.
    posts_mark: Counter,
}

/// Posted closures that wait for a thread and are worth an event.
const POSTS_WATERMARK: u64 = 10_000;

/// What a thread has done; written by that thread alone.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) created: Counter,
    pub(crate) destroyed: Counter,
    pub(crate) handed_over: Counter,
}

impl Record {
    pub(crate) fn new(key: ThreadKey, bound: Option<u64>) -> Self {
        Self {
            key,
            id: current_id(),
            name: current_name(),
            releases: CountedInbox::new(),
            calls: CountedInbox::new(),
            waker: ThreadWaker::new(),
            bound,
            tally: Tally::default(),
            posts_mark: Counter::new(),
        }
    }

    /// A record of a thread that takes no messages.
    pub(super) fn closed(key: ThreadKey) -> Self {
        let record = Self::new(key, None);
        let none = [&record.calls, &record.releases].map(|inbox| inbox.inbox().close());
        debug_assert!(none.iter().all(Chain::is_empty));
        record
    }

    pub(crate) fn key(&self) -> ThreadKey {
        self.key
    }

    pub(super) fn id(&self) -> Option<ThreadId> {
        self.id
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns whether nothing can be sent to the thread any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.calls.inbox().is_closed()
    }

    /// Returns whether it is to be reported that `n` posted closures wait: beyond the watermark, and
    /// again at each doubling.
    pub(super) fn posts_are_worth_an_event(&self, n: u64) -> bool {
        if n < POSTS_WATERMARK {
            if n < POSTS_WATERMARK / 2 && self.posts_mark.get() != 0 {
                self.posts_mark.set(0);
            }
            return false;
        }
        let mark = self.posts_mark.get();
        n >= mark && self.posts_mark.replace_if(mark, n.saturating_mul(2))
    }

    /// Sends the thread something to release, and wakes it if it sleeps; or gives it back if the
    /// thread has ended.
    pub(crate) fn send(&self, message: Message) -> Result<(), Message> {
        self.releases.announce(message.weight());
        self.send_admitted(message)
    }

    /// Sends what was [admitted](Self::admit) by its weight.
    pub(crate) fn send_admitted(&self, message: Message) -> Result<(), Message> {
        if self.releases.push(message)? == PushOutcome::WakeOwner {
            self.waker.wake();
        }
        Ok(())
    }

    /// Returns whether `n` more releases may be sent; then they count as waiting. If the bound is
    /// reached, the caller is to release by itself.
    pub(crate) fn admit(&self, n: u64) -> bool {
        let waiting = self.releases.announce(n);
        let admitted = self.bound.is_none_or(|bound| waiting < bound);
        if !admitted {
            self.releases.retract(n);
        }
        admitted
    }

    /// How many messages have been sent here and have run here so far, by their weight: if that does
    /// not change, nothing has come or run.
    pub(crate) fn activity(&self) -> u64 {
        self.releases.activity().wrapping_add(self.calls.activity())
    }

    /// How many releases and closures have been sent here and have not run.
    pub(crate) fn waiting(&self) -> u64 {
        self.releases.waiting() + self.calls.waiting()
    }

    /// How many releases wait, if there is a bound.
    pub(crate) fn waiting_of_bound(&self) -> u64 {
        self.bound.map_or(0, |_| self.releases.waiting())
    }

    /// Has the next message wake the thread; releases only if it can make them where it is. Not if
    /// one is there already, or the thread takes none any more; returns whether it will.
    pub(crate) fn arm(&self, for_releases: bool) -> bool {
        // Another loop of the thread, which this one is inside of or was, may have done it.
        self.disarm();
        if !self.calls.inbox().arm() {
            return false;
        }
        let armed = !for_releases || self.releases.inbox().arm();
        if !armed {
            self.calls.inbox().disarm();
        }
        armed
    }

    /// The thread is awake: messages need not wake it any more.
    pub(crate) fn disarm(&self) {
        self.calls.inbox().disarm();
        self.releases.inbox().disarm();
    }

    /// Name and key, for messages.
    pub(crate) fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("{name} ({})", self.key),
            None => self.key.to_string(),
        }
    }
}

/// The tallies of threads that have ended, or have none: shared, so the only
/// ones that are counted with a read-modify-write.
pub(crate) static DEPARTED: Tally = Tally {
    created: Counter::new(),
    destroyed: Counter::new(),
    handed_over: Counter::new(),
};

/// Held while the figures of a thread that ends are added to those of the ended, and while figures
/// are summed up: so they count once. std's lock even in loom builds: nothing yields while it is
/// held.
static FIGURES: Mutex<()> = Mutex::new(());

/// Has figures stay where they are. No foreign code may run meanwhile, and nothing that yields.
pub(crate) fn lock_figures() -> MutexGuard<'static, ()> {
    FIGURES.lock().unwrap_or_else(PoisonError::into_inner)
}
