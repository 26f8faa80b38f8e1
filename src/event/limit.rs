//! The causes of events, and the limit, which counts events with the same cause together.
//!
//! The documentation of each [`EventKind`] says which of its events have one cause.

use super::{Event, EventKind, words};
use crate::sync::{CHECKED, global};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::Location;
use std::sync::{Mutex, PoisonError};

impl Event {
    /// Returns a hash of the event's cause; `None` if the event is always reported.
    pub(super) fn cause(&self) -> Option<u64> {
        let of_type = self.type_name.unwrap_or_default();
        let pool = self.pool.as_deref().unwrap_or_default();
        let thread = words::name_in_label(&self.thread);
        Some(match self.kind {
            EventKind::RootWatermark
            | EventKind::BacklogWatermark
            | EventKind::PostsWatermark
            | EventKind::DropsLeft
            | EventKind::NotFinished => {
                return None;
            }
            EventKind::OrphansWaiting | EventKind::FenceRefused => cause(self.kind, ()),
            EventKind::NoPool => no_pool_cause(of_type, self.site, self.manager_id),
            EventKind::PoolWatermark => {
                let which = (pool, self.manager_id, thread);
                cause(self.kind, (which, self.doublings))
            }
            EventKind::TokenLeft => cause(self.kind, (pool, self.site)),
            EventKind::PoolsOpen => cause(self.kind, (thread, self.doublings)),
            EventKind::HomeGone
            | EventKind::HotTableFull
            | EventKind::HotLetGo
            | EventKind::ForeignLeft => cause(self.kind, of_type),
            #[cfg(feature = "leak-detection")]
            EventKind::StillAlive => cause(self.kind, (of_type, &self.name)),
            #[cfg(feature = "leak-detection")]
            EventKind::ContendedCount => cause(self.kind, (of_type, self.created_at)),
            // A count above 1,000 says that the drain was cut off, which is a cause of its own.
            EventKind::EndlessDrain => {
                let fed_by = (of_type, self.fed_by);
                cause(self.kind, (fed_by, pool, self.count > 1_000))
            }
            EventKind::CutOff => cause(self.kind, (of_type, pool)),
            EventKind::Panic => cause(self.kind, (&self.message, self.payload, &self.thread)),
            EventKind::OpenAtExit | EventKind::PostsDropped => cause(self.kind, thread),
            EventKind::EpochHeld => cause(self.kind, (thread, pool)),
        })
    }
}

fn cause(kind: EventKind, rest: impl Hash) -> u64 {
    // `new` uses constant keys, so equal causes have equal hashes on all threads.
    let mut hasher = DefaultHasher::new();
    (kind, rest).hash(&mut hasher);
    hasher.finish()
}

/// Hashes the site by its file, line and column: the compiler may store the `Location` of one call
/// at several addresses.
fn no_pool_cause(type_name: &str, site: Option<&Location<'_>>, manager_id: u64) -> u64 {
    cause(EventKind::NoPool, (type_name, site, manager_id))
}

/// Adds `times` to the count of an [`EventKind::NoPool`] cause, and reports nothing. If a report is
/// due after that, the next event with this cause is reported.
pub(crate) fn count_no_pool(
    type_name: &str,
    site: &'static Location<'static>,
    manager_id: u64,
    times: u64,
) {
    let cause = no_pool_cause(type_name, words::known(site), manager_id);
    with(|limiter| _ = limiter.add(cause, times));
}

// The limit on events that repeat. It counts the occurrences of causes, and decides which ones are
// reported.
//
// The table has a fixed size, so that no memory is allocated under its lock: the global allocator
// is foreign code, which may itself cause events. A cause is identified by a 64-bit hash.

/// Number of sets. A cause belongs to one set, in which a new cause displaces the one that has not
/// occurred for longest. In models, each execution builds a table on a small stack: fewer sets.
const SETS: usize = if CHECKED { 4 } else { 256 };
const WAYS: usize = 4;

#[derive(Clone, Copy)]
struct CauseCount {
    /// The hash of the cause. An unused entry has 0 here, and 0 occurrences.
    cause: u64,
    occurrences: u64,
    /// Number of occurrences at the last report.
    reported: u64,
    /// Time of the last occurrence, by [`Limiter::now`].
    last_at: u64,
}

pub(crate) struct Limiter {
    sets: [[CauseCount; WAYS]; SETS],
    /// A clock that counts calls of [`add`](Self::add).
    now: u64,
}

global! {
    /// The lock is std's even in loom builds, as no model yields while it is held.
    static LIMITER: Mutex<Limiter> = Mutex::new(Limiter::new());
}

/// Counts `times` more occurrences. Returns the total number if a report is due.
pub(super) fn admit(cause: u64, times: u64) -> Option<u64> {
    with(|limiter| limiter.add(cause, times).report())
}

fn with<R>(f: impl FnOnce(&mut Limiter) -> R) -> R {
    f(&mut LIMITER.lock().unwrap_or_else(PoisonError::into_inner))
}

impl CauseCount {
    const UNUSED: Self = Self {
        cause: 0,
        occurrences: 0,
        reported: 0,
        last_at: 0,
    };

    /// Returns the number of occurrences if it has more digits than at the last report.
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
            sets: [[CauseCount::UNUSED; WAYS]; SETS],
            now: 0,
        }
    }

    /// Counts `times` more occurrences of the cause; `times` is not 0. Adds the cause to the table
    /// if it is new, and returns its entry.
    fn add(&mut self, cause: u64, times: u64) -> &mut CauseCount {
        self.now += 1;
        let set = &mut self.sets[cause as usize % SETS];
        let at = set
            .iter()
            .position(|entry| entry.cause == cause)
            .unwrap_or_else(|| {
                let oldest = (0..WAYS).min_by_key(|&at| set[at].last_at).unwrap_or(0);
                set[oldest] = CauseCount::UNUSED;
                oldest
            });
        let entry = &mut set[at];
        entry.cause = cause;
        entry.occurrences = entry.occurrences.saturating_add(times);
        entry.last_at = self.now;
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
    fn a_batch_is_reported_when_it_passes_a_power_of_ten() {
        let mut limiter = Limiter::new();
        assert_eq!(admit(&mut limiter, 7, 5), Some(5));
        assert_eq!(admit(&mut limiter, 7, 4), None);
        assert_eq!(admit(&mut limiter, 7, 3_000), Some(3_009));
        assert_eq!(admit(&mut limiter, 7, 6_990), None);
        // The next report includes occurrences that were only counted.
        limiter.add(7, 1);
        assert_eq!(admit(&mut limiter, 7, 1), Some(10_001));
        limiter.add(9, u64::MAX);
        assert_eq!(admit(&mut limiter, 9, 1), Some(u64::MAX));
    }

    #[test]
    fn the_least_recently_used_cause_is_displaced() {
        let mut limiter = Limiter::new();
        let same_set = |n: u64| 1 + n * SETS as u64;
        for n in 0..1_000 {
            assert_eq!(admit(&mut limiter, same_set(n), 1), Some(1), "{n}");
            let is_tenth = admit(&mut limiter, same_set(0), 1).is_some();
            assert_eq!(is_tenth, [8, 98, 998].contains(&n), "{n}: used each time");
        }
        assert_eq!(admit(&mut limiter, same_set(1), 1), Some(1), "displaced");
        assert_eq!(admit(&mut limiter, same_set(999), 1), None);
    }

    #[test]
    fn an_endless_drain_and_its_cut_are_two_causes() {
        let event = |count| Event::new(EventKind::EndlessDrain, String::new()).count(count);
        assert_ne!(event(1_000).cause(), event(100_001).cause());
    }

    #[test]
    fn the_table_keeps_a_cause_in_each_place() {
        let mut limiter = Limiter::new();
        for expected in [Some(1), None] {
            for cause in 0..(SETS * WAYS) as u64 {
                assert_eq!(admit(&mut limiter, cause, 1), expected, "{cause}");
            }
        }
    }
}
