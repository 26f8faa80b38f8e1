//! `ReclaimerState`: the values that wait for a reclaimer, and their bounds.
//!
//! A refused value counts as waiting until the refusal, so a sender may sleep because of a value
//! that another sender is about to get back. That other sender then waits for room, too, finds room
//! and sends; or it gives up, and makes the reclaimer do a round, which wakes the sleeping sender.

use super::reclaimer::{ReclaimerBuilder, WhenFull};
use super::room::Room;
use super::type_counts::{TypeCounts, TypeIndex};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::cell::Cell;
use crate::sync::{Hint, elapsed, local};
use crate::thread::record::Record;
use std::ptr;
use std::time::Duration;

/// The greatest weight of a value: a greater one counts as this one.
const MAX_WEIGHT: u64 = 1 << 40;

/// The state that a reclaimer shares with its senders, besides the state of its loop.
pub(super) struct ReclaimerState {
    config: ReclaimerBuilder,
    /// The bytes of the values that wait, as far as senders have weighed them.
    bytes: AtomicU64,
    /// The reclaimer makes room after each of its rounds.
    pub(super) room: Room,
    pub(super) types: TypeCounts,
    /// Since when the reclaimer has not been found idle: the complement of the nanoseconds of
    /// `elapsed`, which is never 0; 0 if the reclaimer is idle.
    busy_since: Hint,
}

/// A guard: a value counts as waiting until the reclaimer's thread drops the guard.
pub(super) struct WaitingValue {
    bytes: u64,
    index: TypeIndex,
}

local! {
    /// The calling thread's state, if it is the thread of a reclaimer; else null.
    static OWN: Cell<*const ReclaimerState> = Cell::new(ptr::null());
}

/// Calls `f` on the calling thread, which is that of the reclaimer with this state. Values that `f`
/// destroys count as done.
pub(super) fn on_own_thread(state: &ReclaimerState, f: impl FnOnce()) {
    /// A guard. Its drop tells senders that the reclaimer has ended.
    struct End<'r>(&'r ReclaimerState);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            OWN.with(|own| own.set(ptr::null()));
            self.0.room.end();
        }
    }
    OWN.with(|own| own.set(state));
    let _end = End(state);
    f();
}

/// Calls `f` with the calling thread's state, if it is the thread of a reclaimer.
fn with_own<R>(f: impl FnOnce(Option<&ReclaimerState>) -> R) -> R {
    OWN.with(|own| {
        // SAFETY: null, or a reference that `on_own_thread` holds until it has set the pointer to
        // null.
        f(unsafe { own.get().as_ref() })
    })
}

impl Drop for WaitingValue {
    fn drop(&mut self) {
        with_own(|own| own.into_iter().for_each(|own| own.forget(self)));
    }
}

impl ReclaimerState {
    pub(super) fn new(config: ReclaimerBuilder) -> Self {
        Self {
            config,
            bytes: AtomicU64::new(0),
            room: Room::default(),
            types: TypeCounts::new(),
            busy_since: Hint::new(),
        }
    }

    /// Counts a value that is about to be sent to the thread of `record`, if there is room.
    pub(super) fn admit<T>(&self, record: &Record, bytes: u64) -> Option<WaitingValue> {
        // Limits the weight, so that the sum of all weights does not wrap.
        let bytes = bytes.min(MAX_WEIGHT);
        if !record.releases.announce_within(1, self.config.values) {
            return None;
        }
        let more =
            |waiting: u64| (waiting < self.config.bytes).then(|| waiting.wrapping_add(bytes));
        // Relaxed: only the count matters; the room publishes subtractions to senders that wait.
        // The exchange tests and counts in one step: the bytes of a refused value never count, so
        // no other value is refused because of them. Model: drop_later_bytes.
        let counted = || (self.bytes).fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        if bytes != 0 && counted().is_err() {
            record.releases.refuse(1);
            return None;
        }
        let index = self.types.sent::<T>();
        Some(WaitingValue { bytes, index })
    }

    /// Takes back the count of a value that was not sent; the inbox has taken back the count of the
    /// message.
    pub(super) fn retract(&self, value: WaitingValue) {
        self.forget(&value);
        std::mem::forget(value);
    }

    /// Counts a value as done.
    fn forget(&self, value: &WaitingValue) {
        self.types.done(value.index);
        if value.bytes != 0 {
            // Relaxed: the room publishes this to senders that wait. Model: drop_later_bytes.
            self.bytes.fetch_sub(value.bytes, Ordering::Relaxed);
        }
    }

    fn has_room(&self, record: &Record, bytes: u64) -> bool {
        // Model: drop_later_full, drop_later_heavy.
        record.releases.waiting() < self.config.values
            && (bytes == 0 || self.bytes() < self.config.bytes)
    }

    /// Returns the bytes of the values that wait.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns whether a sender that finds no room waits until there is some.
    fn senders_wait(&self) -> bool {
        self.config.values != 0 && self.config.when_full == WhenFull::Wait
    }

    /// Makes the reclaimer wake waiting senders. A sender that gives up after a refusal calls this.
    pub(super) fn go_away(&self, record: &Record) {
        // Model: drop_later_refused.
        if self.senders_wait() {
            record.look_for_room_again();
        }
    }

    /// Sleeps until there may be room for a value of this weight. Returns false if the sender must
    /// destroy the value itself.
    pub(super) fn wait_for_room(&self, record: &Record, bytes: u64) -> bool {
        let is_never = bytes != 0 && self.config.bytes == 0;
        let is_on_reclaimer = with_own(|own| own.is_some());
        if is_never || !self.senders_wait() || is_on_reclaimer {
            return false;
        }
        self.room.wait(|| self.has_room(record, bytes))
    }

    /// Notes whether the reclaimer has anything to do.
    pub(super) fn note_busy(&self, is_busy: bool) {
        if !is_busy {
            self.busy_since.set(0);
        } else if self.busy_since.get() == 0 {
            self.busy_since.set(!(elapsed().as_nanos() as u64));
        }
    }

    /// Returns how long the reclaimer has been busy without a pause.
    pub(super) fn busy(&self) -> Duration {
        match self.busy_since.get() {
            0 => Duration::ZERO,
            since => elapsed().saturating_sub(Duration::from_nanos(!since)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::key::ThreadKey;

    #[test]
    fn a_value_without_a_weight_finds_room_at_the_bound_of_bytes() {
        let state = ReclaimerState::new(ReclaimerBuilder::default().bytes(1));
        let record = Record::new(ThreadKey::new(0, 1), None);
        let weighed = state.admit::<()>(&record, 1).unwrap();
        assert!(state.has_room(&record, 0) && !state.has_room(&record, 1));
        state.retract(weighed);
        assert!(state.has_room(&record, 1));
    }
}
