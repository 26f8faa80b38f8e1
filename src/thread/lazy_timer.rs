//! How long something has gone on, where whoever begins it must not read a clock.

use crate::sync::Counter;
use std::time::Duration;

/// Whether something goes on, and since when others have seen that it does. Begun and ended by
/// one thread at a time, looked at by any.
#[derive(Debug)]
pub(crate) struct LazyTimer(Counter);

const NONE: u64 = 0;
const UNSEEN: u64 = 1;
/// Set once it has been reported. The other bits are the time of the first sight, in
/// milliseconds, plus two.
const TOLD: u64 = 1 << 63;

impl LazyTimer {
    pub(crate) const fn new() -> Self {
        Self(Counter::new())
    }

    #[inline]
    pub(crate) fn start(&self) {
        self.0.set(UNSEEN);
    }

    #[inline]
    pub(crate) fn stop(&self) {
        self.0.set(NONE);
    }

    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.0.get() != NONE
    }

    /// Looks at `now` whether it goes on. RemoteFreeList for how long, once, if it was first seen
    /// `long` ago or earlier.
    pub(crate) fn overdue(&self, long: Duration, now: Duration) -> Option<Duration> {
        let seen = self.0.get();
        if seen == NONE || seen & TOLD != 0 {
            return None;
        }
        let stamp = now.as_millis() as u64 + 2;
        if seen == UNSEEN {
            // If it has ended, or begun anew, that stands.
            self.0.replace_if(seen, stamp);
            return None;
        }
        let age = Duration::from_millis(stamp.saturating_sub(seen));
        let told = age >= long && self.0.replace_if(seen, seen | TOLD);
        told.then_some(age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_for_long_is_reported_once() {
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
        assert_eq!(look(13), None, "it has been reported");
        timer.stop();
        assert_eq!(look(20), None);
        timer.start();
        assert_eq!(look(21), None, "another one");
        assert_eq!(look(24), Some(3));
        timer.start();
        assert_eq!(look(25), None, "another one again");
    }
}
