//! `Record`: the part of a thread's state that other threads may use.

use super::counted::CountedInbox;
use super::inbox::{Chain, Message, PushOutcome};
use super::key::ThreadKey;
use super::waker::ThreadWaker;
use crate::event::words;
use crate::layout::Name;
use crate::sync::thread::{ThreadId, current_id, current_name, kernel_id};
use crate::sync::{Counter, Hint, Setting, described};
use std::sync::{Mutex, PoisonError};

/// The shared state of one thread. It lives as long as a handle, the thread or its registry slot
/// refers to it. Its inboxes close when the thread exits.
///
/// Any thread may read the fields, send messages, and wake the thread. Only the thread itself arms,
/// empties and closes its inboxes, and writes `tally` and `outside`.
pub(crate) struct Record {
    key: ThreadKey,
    /// Facts for readers outside of the process.
    pub(crate) outside: ForOutside,
    /// std's id; `None` if std no longer knows the thread: see [`current_id`].
    id: Option<ThreadId>,
    name: Name,
    /// Remote releases, and dead objects that this thread must destroy.
    pub(crate) releases: CountedInbox,
    /// Posted closures. They have an inbox of their own, so that the thread need not search for
    /// them among a million releases.
    pub(crate) calls: CountedInbox,
    /// Wakes the thread if it sleeps in a loop.
    pub(crate) waker: ThreadWaker,
    /// The number of remote releases that may wait; `None` if it is not bounded.
    bound: Option<u64>,
    pub(crate) tally: Tally,
    /// 1 once the thread has made its pools; written by the thread only.
    had_pools: Setting,
    /// The number of waiting closures at which the next event is due; 0: at [`POSTS_WATERMARK`].
    posts_mark: Hint,
}

/// When this many posted closures wait, an event reports that.
const POSTS_WATERMARK: u64 = 10_000;

/// Figures of one thread, written by that thread only.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) created: Counter,
    pub(crate) destroyed: Counter,
    pub(crate) handed_over: Counter,
}

/// Facts about a thread for readers outside of the process. Only the thread writes them. The crate
/// itself reads only `frames`, as the index of a frame that no loop makes.
#[derive(Debug, Default)]
pub(crate) struct ForOutside {
    /// The kernel's id of the thread; 0 if unknown.
    tid: Counter,
    /// The address of the thread's `ThreadPools`, or 0.
    pub(crate) pools: Counter,
    /// The address of the thread's `ThreadHeaps`, or 0.
    pub(crate) heaps: Counter,
    /// How many frames the thread's loops have made.
    pub(crate) frames: Counter,
    /// How long the last frame took, in nanoseconds.
    pub(crate) last_frame: Counter,
}

impl Record {
    pub(crate) fn new(key: ThreadKey, bound: Option<u64>) -> Self {
        let record = Self {
            key,
            outside: ForOutside::default(),
            id: current_id(),
            name: current_name().map_or(Name::NONE, Name::owned),
            releases: CountedInbox::default(),
            calls: CountedInbox::default(),
            waker: ThreadWaker::default(),
            bound,
            tally: Tally::default(),
            had_pools: Setting::new(0),
            posts_mark: Hint::new(),
        };
        record.outside.tid.set(kernel_id());
        record
    }

    /// Returns a record that accepts no messages.
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
        self.name.get()
    }

    /// Returns whether the thread accepts no more messages.
    pub(crate) fn is_closed(&self) -> bool {
        self.calls.inbox().is_closed()
    }

    /// Returns whether an event must report that `n` posted closures wait: at the watermark, and
    /// whenever `n` has doubled since the last event. Begins anew below half the watermark.
    pub(super) fn posts_are_worth_an_event(&self, n: u64) -> bool {
        let mark = self.posts_mark.get();
        let next = match n {
            _ if n < POSTS_WATERMARK / 2 => 0,
            _ if n >= POSTS_WATERMARK.max(mark) => n.saturating_mul(2),
            _ => mark,
        };
        next != mark && self.posts_mark.replace_if(mark, next) && next != 0
    }

    /// Sends a release to the thread and wakes it if it sleeps; returns the message if the thread
    /// has ended.
    pub(crate) fn send(&self, message: Message) -> Result<(), Message> {
        let outcome = self.releases.send(message);
        outcome.map(|outcome| self.wake_if(outcome))
    }

    /// Sends a release like [`send`](Self::send), after [`admit`](Self::admit) has counted it.
    pub(crate) fn send_admitted(&self, message: Message) -> Result<(), Message> {
        let outcome = self.releases.push(message);
        outcome.map(|outcome| self.wake_if(outcome))
    }

    fn wake_if(&self, outcome: PushOutcome) {
        if outcome == PushOutcome::WakeOwner {
            self.waker.wake();
        }
    }

    /// Makes the thread look at its inbox in its next outermost drain, as if a release had been sent,
    /// and wakes it if it sleeps in a loop.
    pub(crate) fn nudge(&self) {
        self.wake_if(self.releases.inbox().nudge());
    }

    /// Returns whether `n` more releases may be sent; if so, counts them as waiting. If not,
    /// because the bound is reached, the caller must make these releases itself.
    pub(crate) fn admit(&self, n: u64) -> bool {
        match self.bound {
            Some(bound) => {
                let is_admitted = self.releases.announce_within(n, bound);
                // Model: drop_later_refused_release.
                if !is_admitted {
                    self.look_for_room_again();
                }
                is_admitted
            }
            None => {
                self.releases.announce(n);
                true
            }
        }
    }

    /// Makes this thread, a reclaimer's, do a round, which wakes the senders that wait for room. A
    /// sender that gives up after a refusal calls this: its release counted as waiting until the
    /// refusal, so another sender may sleep because of that release, perhaps with no round to come.
    pub(crate) fn look_for_room_again(&self) {
        // Model: drop_later_refused, drop_later_refused_release.
        self.nudge();
    }

    /// Returns whether the thread has made pools: then its exit runs what its inboxes accept. May
    /// be stale, unless the caller knows the thread by something that it did after it made them.
    pub(crate) fn had_pools(&self) -> bool {
        self.had_pools.get() != 0
    }

    /// Notes that the thread has pools.
    pub(crate) fn note_pools(&self) {
        self.had_pools.set(1);
    }

    /// Returns the sum of the counts of both inboxes. Each count only grows: while the sum does not
    /// change, no message is sent and none runs.
    pub(crate) fn activity(&self) -> u64 {
        self.releases.activity().wrapping_add(self.calls.activity())
    }

    /// Returns how many releases and closures have been sent to this thread and have not run.
    pub(crate) fn waiting(&self) -> u64 {
        self.releases.waiting() + self.calls.waiting()
    }

    /// Arms the inboxes, so that the next message wakes the thread; the inbox for releases only if
    /// `for_releases`, as a thread inside a destructor cannot make releases. Returns false, and
    /// arms nothing, if one of the inboxes to be armed has messages, was nudged, or is closed.
    pub(crate) fn arm(&self, for_releases: bool) -> bool {
        // An outer loop of the thread may have armed the inboxes.
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

    /// Disarms the inboxes: the thread is awake, so messages need not wake it.
    pub(crate) fn disarm(&self) {
        self.calls.inbox().disarm();
        self.releases.inbox().disarm();
    }

    /// Adds the figures of the thread, which exits, to [`DEPARTED`].
    pub(super) fn hand_over_figures(&self) {
        with_figures_locked(|| {
            let tally = &self.tally;
            DEPARTED.created.add_shared(tally.created.take());
            DEPARTED.destroyed.add_shared(tally.destroyed.take());
            DEPARTED.handed_over.add_shared(tally.handed_over.take());
        });
    }

    /// Returns name and key, for reports.
    pub(crate) fn label(&self) -> String {
        words::label(self.name(), self.key)
    }
}

/// The sums of the figures of exited threads, and of threads without a record. Several threads
/// write these sums, so they are counted by read-modify-writes; the figures of one thread are not.
pub(crate) static DEPARTED: Tally = Tally {
    created: Counter::new(),
    destroyed: Counter::new(),
    handed_over: Counter::new(),
};

/// Locked while a thread that exits adds its figures to [`DEPARTED`], and while figures are summed
/// up, so that each counts once. The lock is std's even in loom builds: no code that runs under it
/// yields to loom's scheduler.
static FIGURES: Mutex<()> = Mutex::new(());

/// Calls `f` while no thread moves its figures to [`DEPARTED`]. `f` must neither run foreign code
/// nor yield.
pub(crate) fn with_figures_locked<R>(f: impl FnOnce() -> R) -> R {
    let _locked = FIGURES.lock().unwrap_or_else(PoisonError::into_inner);
    f()
}

described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    const RELEASES: usize = offset_of!(Record, releases);
    const CALLS: usize = offset_of!(Record, calls);

    pub(crate) const NOTE: &[Entry] = entries! {
        record {
            size = size_of::<Record>(),
            key_index = offset_of!(Record, key) + ThreadKey::INDEX,
            key_generation = offset_of!(Record, key) + ThreadKey::GENERATION,
            name = offset_of!(Record, name) + Name::AT,
            tid = offset_of!(Record, outside.tid),
            pools = offset_of!(Record, outside.pools),
            heaps = offset_of!(Record, outside.heaps),
            releases = RELEASES + CountedInbox::HEAD,
            releases_sent = RELEASES + CountedInbox::SENT,
            releases_refused = RELEASES + CountedInbox::REFUSED,
            releases_done = RELEASES + CountedInbox::DONE,
            calls = CALLS + CountedInbox::HEAD,
            calls_sent = CALLS + CountedInbox::SENT,
            calls_refused = CALLS + CountedInbox::REFUSED,
            calls_done = CALLS + CountedInbox::DONE,
            tally = offset_of!(Record, tally),
            frames = offset_of!(Record, outside.frames),
            last_frame = offset_of!(Record, outside.last_frame),
        }
        tally {
            created = offset_of!(Tally, created),
            destroyed = offset_of!(Tally, destroyed),
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posts_are_worth_an_event_at_the_watermark_and_when_doubled() {
        let record = Record::new(ThreadKey::NOBODY, None);
        let is_worth = |n| record.posts_are_worth_an_event(n);
        for _ in 0..2 {
            assert_eq!([9_999, 10_000, 10_001].map(is_worth), [false, true, false]);
            assert_eq!([19_999, 20_500, 40_999].map(is_worth), [false, true, false]);
            // Half the watermark changes nothing; below it, the next event is due at the watermark.
            assert_eq!([5_000, 40_999, 41_000].map(is_worth), [false, false, true]);
            assert_eq!([4_999, 4_999].map(is_worth), [false, false]);
        }
    }

    #[test]
    fn figures_are_locked_while_they_are_summed_up() {
        with_figures_locked(|| assert!(FIGURES.try_lock().is_err()));
    }
}
