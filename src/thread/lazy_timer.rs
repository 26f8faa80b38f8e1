//! A timer for activities whose start must not cost a clock read.

use crate::sync::Hint;
use std::time::Duration;

/// A timer that measures from the first time that it is read after `start`, which reads no clock.
///
/// Any thread may start, stop and read the timer. The timer is a hint: a thread may see a start or
/// a stop late.
#[derive(Debug)]
pub(crate) struct LazyTimer(Hint);

/// The timer is not running.
const STOPPED: u64 = 0;
/// The timer runs, and no thread has read it since its start.
const UNSEEN: u64 = 1;
/// The activity has been reported. All other values are the time at which it was first seen, in
/// milliseconds, plus two.
const REPORTED: u64 = 1 << 63;

impl LazyTimer {
    pub(crate) const fn new() -> Self {
        Self(Hint::new())
    }

    #[inline]
    pub(crate) fn start(&self) {
        self.0.set(UNSEEN);
    }

    /// Starts the timer, then the activity: so a thread that ends the activity stops a running timer.
    pub(crate) fn start_before<R>(&self, begin: impl FnOnce() -> R) -> R {
        self.start();
        begin()
    }

    #[inline]
    pub(crate) fn stop(&self) {
        self.0.set(STOPPED);
    }

    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.0.get() != STOPPED
    }

    /// Reads the timer at the time `now`. If the timer runs and was first seen at least `long` ago,
    /// returns the time since then; only once for each start.
    pub(crate) fn overdue(&self, long: Duration, now: Duration) -> Option<Duration> {
        let stamp = now.as_millis() as u64 + 2;
        match self.0.get() {
            STOPPED => None,
            UNSEEN => {
                // Changes nothing if another thread has stopped or restarted the timer.
                self.0.replace_if(UNSEEN, stamp);
                None
            }
            seen => {
                // The age is 0 once the activity has been reported, as `REPORTED` is later than any
                // time.
                let age = Duration::from_millis(stamp.saturating_sub(seen));
                (age >= long && self.0.replace_if(seen, REPORTED)).then_some(age)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_activity_is_reported_once() {
        let timer = LazyTimer::new();
        let look = |now| {
            let long = Duration::from_secs(2);
            let age = timer.overdue(long, Duration::from_secs(now));
            age.map(|age| age.as_secs())
        };
        assert_eq!(look(1), None);
        timer.start();
        assert_eq!([10, 11].map(look), [None, None]);
        assert_eq!(look(12), Some(2));
        assert_eq!([13, 16].map(look), [None, None], "it has been reported");
        assert!(timer.is_running());
        timer.stop();
        assert_eq!(look(20), None);
        timer.start();
        assert_eq!(look(21), None, "another one");
        assert_eq!(look(24), Some(3));
        timer.start();
        assert_eq!(look(25), None, "another one again");
    }
}
