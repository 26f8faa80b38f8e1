//! How often what has been seen: the limit on events that repeat.
//!
//! A table of fixed size, so that no memory is allocated under its lock: the global allocator is
//! foreign code, which may cause events itself. A cause is known by a hash of 64 bits.

use crate::sync::{CHECKED, global};
use std::sync::{Mutex, PoisonError};

/// A cause is looked for in one set only, and displaces another there. Models have fewer: each
/// execution makes a table, on a small stack.
const SETS: usize = if CHECKED { 4 } else { 256 };
const WAYS: usize = 4;

#[derive(Clone, Copy)]
struct Entry {
    /// 0 in an unused entry.
    cause: u64,
    occurrences: u64,
    /// The occurrences at the last report.
    reported: u64,
    /// When it was last looked at.
    used: u64,
}

pub(crate) struct Limiter {
    sets: [[Entry; WAYS]; SETS],
    now: u64,
}

global! {
    /// std's lock even in loom builds: no model yields while it is held.
    static LIMITER: Mutex<Limiter> = Mutex::new(Limiter::new());
}

/// Counts `times` more. Returns how many there are if that is to be reported.
pub(super) fn admit(cause: u64, times: u64) -> Option<u64> {
    with(|limiter| limiter.add(cause, times).report())
}

/// Counts `times` more.
pub(super) fn add(cause: u64, times: u64) {
    with(|limiter| _ = limiter.add(cause, times));
}

fn with<R>(f: impl FnOnce(&mut Limiter) -> R) -> R {
    f(&mut LIMITER.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Entry {
    const UNUSED: Self = Self {
        cause: 0,
        occurrences: 0,
        reported: 0,
        used: 0,
    };

    /// Returns the count if it has one digit more than at the last report.
    fn report(&mut self) -> Option<u64> {
        let due = self.reported == 0 || self.occurrences.ilog10() > self.reported.ilog10();
        if due {
            self.reported = self.occurrences;
        }
        due.then_some(self.occurrences)
    }
}

impl Limiter {
    const fn new() -> Self {
        Self {
            sets: [[Entry::UNUSED; WAYS]; SETS],
            now: 0,
        }
    }

    /// Counts `times` more, which is not 0. Returns the entry, perhaps a new one.
    fn add(&mut self, cause: u64, times: u64) -> &mut Entry {
        self.now += 1;
        let cause = cause.max(1);
        let set = &mut self.sets[cause as usize % SETS];
        let at = set
            .iter()
            .position(|entry| entry.cause == cause)
            .unwrap_or_else(|| {
                let oldest = (0..WAYS).min_by_key(|&at| set[at].used).unwrap_or(0);
                set[oldest] = Entry::UNUSED;
                oldest
            });
        let entry = &mut set[at];
        entry.cause = cause;
        entry.occurrences = entry.occurrences.saturating_add(times);
        entry.used = self.now;
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(limiter: &mut Limiter, cause: u64, times: u64) -> Option<u64> {
        limiter.add(cause, times).report()
    }

    #[test]
    fn reports_come_at_powers_of_ten() {
        let mut limiter = Limiter::new();
        let reported: Vec<_> = (0..14_000)
            .filter_map(|_| admit(&mut limiter, 7, 1))
            .collect();
        assert_eq!(reported, [1, 10, 100, 1_000, 10_000]);
        assert_eq!(admit(&mut limiter, 8, 1), Some(1), "another cause");
    }

    #[test]
    fn several_at_once_are_reported_when_they_pass_a_power_of_ten() {
        let mut limiter = Limiter::new();
        assert_eq!(admit(&mut limiter, 7, 5), Some(5));
        assert_eq!(admit(&mut limiter, 7, 4), None);
        assert_eq!(admit(&mut limiter, 7, 3_000), Some(3_009));
        assert_eq!(admit(&mut limiter, 7, 6_990), None);
        // What is only counted is told by the next report.
        limiter.add(7, 1);
        assert_eq!(admit(&mut limiter, 7, 1), Some(10_001));
        limiter.add(9, u64::MAX);
        assert_eq!(admit(&mut limiter, 9, 1), Some(u64::MAX));
    }

    #[test]
    fn cause_seen_last_stays_and_the_oldest_goes() {
        let mut limiter = Limiter::new();
        let same_set = |n: u64| 1 + n * SETS as u64;
        for n in 0..1_000 {
            assert_eq!(
                admit(&mut limiter, same_set(n), 1),
                Some(1),
                "{n}: the first"
            );
            assert_eq!(
                admit(&mut limiter, same_set(0), 1).is_some(),
                n == 8 || n == 98 || n == 998,
                "{n}: used all the time"
            );
        }
        assert_eq!(admit(&mut limiter, same_set(1), 1), Some(1), "forgotten");
        assert_eq!(admit(&mut limiter, same_set(999), 1), None);
    }

    #[test]
    fn as_many_causes_as_the_table_has_places_are_all_kept() {
        let mut limiter = Limiter::new();
        for expected in [Some(1), None] {
            for cause in 1..=(SETS * WAYS) as u64 {
                assert_eq!(admit(&mut limiter, cause, 1), expected, "{cause}");
            }
        }
    }
}
