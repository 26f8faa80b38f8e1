//! Waits without missed wake-ups: [`Parker`] for one thread, [`Sleeper`] for any number of them.

use super::{Monitor, elapsed};
use std::time::Duration;

/// An event count: a thread takes a ticket, tests whether it must wait, and sleeps until a wake
/// that comes after the ticket.
///
/// A sleeper publishes nothing: callers publish a change before the wake, and read it after the
/// sleep.
#[derive(Debug, Default)]
pub(crate) struct Sleeper(Monitor<u64>);

/// The number of wakes before the ticket was taken.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) struct Ticket(u64);

impl Sleeper {
    /// Takes a ticket. Call it before the test: no later wake is missed.
    #[track_caller]
    pub(crate) fn ticket(&self) -> Ticket {
        Ticket(*self.0.lock())
    }

    /// Sleeps until a wake that comes after `seen` was taken, or for `limit` at most.
    #[track_caller]
    pub(crate) fn sleep(&self, seen: Ticket, limit: Duration) {
        let until = elapsed().saturating_add(limit);
        let mut wakes = self.0.lock();
        while *wakes == seen.0 {
            let left = until.saturating_sub(elapsed());
            if left.is_zero() {
                break;
            }
            wakes = self.0.wait(wakes, Some(left));
        }
    }

    /// Ends all sleeps.
    #[track_caller]
    pub(crate) fn wake(&self) {
        let mut wakes = self.0.lock();
        *wakes = wakes.wrapping_add(1);
        drop(wakes);
        self.0.notify();
    }
}

/// A place for one thread to sleep until others wake it. A wake-up that comes before the sleep is
/// stored, and ends the next sleep at once.
#[derive(Debug, Default)]
pub(crate) struct Parker(Monitor<bool>);

impl Parker {
    /// Sleeps until [`Parker::unpark`] is called, or for `limit` at most.
    #[track_caller]
    pub(crate) fn park(&self, limit: Option<Duration>) {
        let until = limit.map(|limit| elapsed().saturating_add(limit));
        let mut woken = self.0.lock();
        while !*woken {
            let left = until.map(|until| until.saturating_sub(elapsed()));
            if left == Some(Duration::ZERO) {
                break;
            }
            woken = self.0.wait(woken, left);
        }
        *woken = false;
    }

    /// Wakes the thread, or lets its next sleep end at once.
    #[track_caller]
    pub(crate) fn unpark(&self) {
        *self.0.lock() = true;
        self.0.notify();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_after_the_ticket_is_not_missed() {
        let sleeper = Sleeper::default();
        let seen = sleeper.ticket();
        sleeper.wake();
        sleeper.sleep(seen, Duration::MAX);
    }

    #[test]
    fn a_wake_before_the_ticket_does_not_count() {
        let sleeper = Sleeper::default();
        sleeper.wake();
        let before = elapsed();
        sleeper.sleep(sleeper.ticket(), Duration::from_millis(1));
        assert!(elapsed() - before >= Duration::from_millis(1));
    }
}
