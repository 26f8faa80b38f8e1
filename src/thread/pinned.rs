//! Whether a thread holds the epoch up, and with which pool: for reports.

use crate::sync::Counter;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Written by its thread, which reads no clock for it; those who wait look at it now
/// and then, and note how long they have seen the same.
#[derive(Debug, Default)]
pub(crate) struct Pinned {
    /// Goes up by each pin and each end of one: odd as long as it holds.
    turn: Counter,
    /// 1 if `pool` says a name.
    named: Counter,
    /// std's lock even in loom builds: nothing yields while it is held.
    pool: Mutex<String>,
    /// The turn that was seen last by others, since when (in milliseconds), and whether it
    /// has been told.
    seen: Counter,
    since: Counter,
    told: Counter,
}

impl Pinned {
    /// `pool` is the name that it was given, if it was.
    #[inline]
    pub(crate) fn begin(&self, pool: Option<&str>) {
        if pool.is_some() || self.named.get() != 0 {
            self.set_pool(pool.unwrap_or_default());
        }
        self.turn.add(1);
    }

    #[inline]
    pub(crate) fn end(&self) {
        self.turn.add(1);
    }

    fn set_pool(&self, pool: &str) {
        let mut name = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        name.clear();
        name.push_str(pool);
        self.named.set(u64::from(!pool.is_empty()));
    }

    /// Looks at `now` whether it holds; if it has been seen to do so for `age` or more, says
    /// for how long, and with which pool. Once for each pin.
    pub(crate) fn longer_than(&self, age: Duration, now: Duration) -> Option<(Duration, String)> {
        let turn = self.turn.get();
        if turn % 2 == 0 {
            return None;
        }
        if self.seen.get() != turn {
            self.since.set(now.as_millis() as u64);
            self.told.set(0);
            self.seen.set(turn);
            return None;
        }
        let held = now.saturating_sub(Duration::from_millis(self.since.get()));
        if held < age || self.told.add_shared(1) > 0 {
            return None;
        }
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let named = !pool.is_empty();
        Some((
            held,
            if named {
                pool.clone()
            } else {
                "unnamed".to_owned()
            },
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_told_of_once_when_it_has_been_seen_for_long() {
        let pinned = Pinned::default();
        let look = |now| {
            let held = pinned.longer_than(Duration::from_secs(2), Duration::from_secs(now));
            held.map(|(age, pool)| (age.as_secs(), pool))
        };
        assert_eq!(look(1), None);
        pinned.begin(Some("render"));
        assert_eq!([10, 11].map(look), [None, None]);
        assert_eq!(look(12), Some((2, "render".to_owned())));
        assert_eq!(look(13), None, "it has been told");
        pinned.end();
        assert_eq!(look(20), None);
        // Another one, with a pool that has no name.
        pinned.begin(None);
        assert_eq!(look(21), None);
        assert_eq!(look(24), Some((3, "unnamed".to_owned())));
        pinned.end();
        pinned.begin(None);
        assert_eq!(look(25), None, "another one again");
    }
}
