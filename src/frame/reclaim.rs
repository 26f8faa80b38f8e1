//! `Reclaim`: the values that wait for a reclaimer, their bounds, and the senders that wait for room.
//!
//! A sender that finds no room sleeps until the reclaimer has made some:
//!
//! ```text
//! sender                                    reclaimer, after each round
//! takes a ticket of the sleeper             has destroyed values, and counted them as done
//! sets WANTED, by a read-modify-write       clears WANTED, by a read-modify-write
//! looks for room again; if there is none,   if it was set: wakes all sleepers
//! sleeps with that ticket
//! ```
//!
//! One of the two read-modify-writes comes first. If it is the reclaimer's, the sender sees what was
//! done; if it is the sender's, the reclaimer wakes the sender. Waiting values always make another
//! round, so no sender sleeps for ever.

use super::reclaimer_config::{ReclaimerConfig, WhenFull};
use super::type_counts::{TypeCounts, TypeIndex};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::cell::Cell;
use crate::sync::{Hint, Sleeper, elapsed, local};
use crate::thread::record::Record;
use std::ptr;
use std::time::Duration;

/// A sender waits for room.
const WANTED: u64 = 1;
/// The reclaimer's thread has ended.
const ENDED: u64 = 2;

/// The part of a looper's state that values sent to it need.
pub(super) struct Reclaim {
    pub(super) config: ReclaimerConfig,
    /// The bytes of the values that wait, as far as senders have weighed them.
    bytes: AtomicU64,
    /// [`WANTED`] and [`ENDED`].
    state: AtomicU64,
    room: Sleeper,
    pub(super) types: TypeCounts,
    /// The time since which the reclaimer has never been found idle, in nanoseconds; 0 if it is
    /// idle.
    busy_since: Hint,
}

/// Counts a value as waiting until dropped, on the reclaimer's thread.
pub(super) struct WaitingValue {
    bytes: u64,
    index: TypeIndex,
}

local! {
    /// The calling thread's `Reclaim`, if it is the thread of a looper; else null.
    static OWN: Cell<*const Reclaim> = Cell::new(ptr::null());
}

/// Calls `f` on the thread of the looper that has this state. Values that `f` destroys count as done.
pub(super) fn on_own_thread(reclaim: &Reclaim, f: impl FnOnce()) {
    /// A guard. Dropping it ends the looper's thread for senders.
    struct End<'r>(&'r Reclaim);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            OWN.with(|own| own.set(ptr::null()));
            self.0.end();
        }
    }
    OWN.with(|own| own.set(reclaim));
    let _end = End(reclaim);
    f();
}

/// Calls `f` with the calling thread's `Reclaim`, if it is the thread of a looper.
fn with_own<R>(f: impl FnOnce(Option<&Reclaim>) -> R) -> R {
    OWN.with(|own| {
        // SAFETY: null, or a reference that `on_own_thread` holds until it has set the pointer to
        // null.
        f(unsafe { own.get().as_ref() })
    })
}

/// Returns whether the calling thread is that of a looper.
pub(super) fn is_on_looper() -> bool {
    with_own(|own| own.is_some())
}

impl Drop for WaitingValue {
    fn drop(&mut self) {
        with_own(|own| {
            if let Some(own) = own {
                own.forget(self);
            }
        });
    }
}

impl Reclaim {
    pub(super) fn new(config: ReclaimerConfig) -> Self {
        Self {
            config,
            bytes: AtomicU64::new(0),
            state: AtomicU64::new(0),
            room: Sleeper::default(),
            types: TypeCounts::new(),
            busy_since: Hint::new(),
        }
    }

    /// Counts a value that is about to be sent to the thread of `record`, if there is room.
    pub(super) fn admit<T>(&self, record: &Record, bytes: u64) -> Option<WaitingValue> {
        if !record.releases.announce_within(1, self.config.values) {
            return None;
        }
        if bytes != 0 {
            // Relaxed: only the count matters; `made_room` publishes what was subtracted. Model:
            // drop_later_bytes.
            let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
            if before >= self.config.bytes {
                self.bytes.fetch_sub(bytes, Ordering::Relaxed);
                record.releases.refuse(1);
                return None;
            }
        }
        let index = self.types.sent::<T>();
        Some(WaitingValue { bytes, index })
    }

    /// Takes back the count of a value that was not sent; the message has taken back its own.
    pub(super) fn retract(&self, value: WaitingValue) {
        self.forget(&value);
        std::mem::forget(value);
    }

    /// Counts a value as done.
    fn forget(&self, value: &WaitingValue) {
        self.types.done(value.index);
        if value.bytes != 0 {
            // Relaxed: `made_room` publishes it to senders that wait. Model: drop_later_bytes.
            self.bytes.fetch_sub(value.bytes, Ordering::Relaxed);
        }
    }

    fn has_room(&self, record: &Record) -> bool {
        record.releases.waiting() < self.config.values && self.bytes() < self.config.bytes
    }

    /// Returns the bytes of the values that wait.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Sleeps until there may be room. Returns false if the value must be destroyed here.
    pub(super) fn wait_for_room(&self, record: &Record) -> bool {
        let config = &self.config;
        let never = config.values == 0 || config.bytes == 0;
        if never || config.when_full == WhenFull::DestroyHere || is_on_looper() {
            return false;
        }
        let seen = self.room.ticket();
        // Acquire: pairs with the Release in `made_room`, so that `has_room` sees what was done
        // before. Model: drop_later_full.
        let state = self.state.fetch_or(WANTED, Ordering::Acquire);
        if state & ENDED != 0 {
            return false;
        }
        if !self.has_room(record) {
            self.room.sleep(seen, Duration::MAX);
        }
        true
    }

    /// Wakes the senders that wait for room; on the looper's thread, after each round.
    pub(super) fn made_room(&self) {
        // Release: pairs with the Acquire in `wait_for_room`. Model: drop_later_full.
        if self.state.swap(0, Ordering::Release) == WANTED {
            self.room.wake();
        }
    }

    /// Ends the reclaimer: senders destroy their values themselves from here on.
    fn end(&self) {
        // Relaxed: a sender that sees it reads nothing that the reclaimer wrote.
        self.state.store(ENDED, Ordering::Relaxed);
        self.room.wake();
    }

    /// Notes whether the reclaimer has anything to do.
    pub(super) fn note_busy(&self, is_busy: bool) {
        if !is_busy {
            self.busy_since.set(0);
        } else if self.busy_since.get() == 0 {
            self.busy_since.set((elapsed().as_nanos() as u64).max(1));
        }
    }

    /// Returns how long the reclaimer has been busy without a pause.
    pub(super) fn busy(&self) -> Duration {
        match self.busy_since.get() {
            0 => Duration::ZERO,
            since => elapsed().saturating_sub(Duration::from_nanos(since)),
        }
    }
}
