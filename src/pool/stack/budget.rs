//! Budgets and limits of drains, the meter that measures a drain against them, and results.

use crate::object::header::TypeInfo;
use crate::sync::elapsed;
use crate::unwind::{FirstPanic, Payload, report, resume_or_report};
use std::fmt;
use std::time::Duration;

/// How much a drain may do before it leaves the rest for later.
///
/// See [`AutoreleasePool::drain_within`](crate::AutoreleasePool::drain_within).
///
/// # Example
/// ```
/// use releasepool::{AutoreleasePool, Budget};
/// use std::time::Duration;
///
/// let mut pool = AutoreleasePool::new();
/// (0..100).for_each(|n| _ = pool.create(n));
/// assert_eq!(pool.drain_within(Budget::Count(10)).remaining, 90);
/// pool.drain_within(Budget::Time(Duration::from_millis(2)));
/// assert_eq!(pool.drain_within(Budget::All).remaining, 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Budget {
    /// All releases.
    All,
    /// At most this many releases.
    Count(usize),
    /// Releases until this much time has passed on the wall clock; at least one, with an exception:
    /// the drain first reverses a long inbox, and counts the dropped references to
    /// [hot](crate::Hot) objects. This work is part of the budget, so a call may do only a part of
    /// it, and release nothing. The clock is read after each destructor, and otherwise after every
    /// sixteenth step, so the drain exceeds the time by at most the duration of the last
    /// destructor.
    Time(Duration),
}

/// The result of a drain within a [`Budget`].
///
/// # Example
/// ```
/// use releasepool::{AutoreleasePool, Budget};
///
/// let mut pool = AutoreleasePool::new();
/// pool.create(String::from("text"));
/// let drained = pool.drain_within(Budget::All);
/// assert_eq!((drained.released, drained.remaining), (1, 0));
/// if let Some((type_name, time)) = drained.slowest {
///     println!("{type_name} took {time:?}");
/// }
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Drained {
    /// References released, plus objects destroyed because a released object held their last
    /// reference.
    pub released: usize,
    /// The number of releases left: in the thread's backlog for this manager, in messages from other
    /// threads, and among the orphans if this drain found more of them than its budget allowed. Also
    /// counts [hot](crate::Hot) objects to which this thread has dropped references and that it has
    /// not yet found to be alive; and references that slots have retired, if the budget was spent
    /// before the drain could test whether they are ready. Inside a destructor only the backlog
    /// counts.
    pub remaining: usize,
    /// How long the drain took.
    pub elapsed: Duration,
    /// The type whose destructor took longest, and how long it took, without the destructors of the
    /// objects that this destructor released.
    pub slowest: Option<(&'static str, Duration)>,
}

impl fmt::Display for Drained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (released, remaining, elapsed) = (self.released, self.remaining, self.elapsed);
        write!(f, "{released} released in {elapsed:?}, {remaining} left")?;
        if let Some((name, time)) = self.slowest {
            write!(f, "; slowest {name}, {time:?}")?;
        }
        Ok(())
    }
}

/// The result of a drain.
#[must_use]
pub(crate) struct Outcome {
    /// Entries released.
    pub(crate) released: usize,
    /// The first panic.
    pub(crate) panic: Option<Payload>,
    /// True if destructors have fed the drain beyond its limit, so that it was cut off.
    pub(crate) is_cut: bool,
}

impl Outcome {
    /// Resumes the panic, if there was one; returns the number of entries released.
    #[inline]
    pub(crate) fn resume(self) -> usize {
        self.panic.into_iter().for_each(resume_or_report);
        self.released
    }

    /// Reports the panic, if there was one; returns the number of entries released.
    pub(crate) fn report(self) -> usize {
        self.panic.into_iter().for_each(report);
        self.released
    }

    /// Runs the drain `next`, and returns the combined outcome of both drains.
    pub(in crate::pool) fn and(self, next: impl FnOnce() -> Self) -> Self {
        let mut panics = FirstPanic::default();
        let (is_cut, released) = (self.is_cut, self.keep(&mut panics));
        let next = next();
        Self {
            is_cut: is_cut || next.is_cut,
            released: released + next.keep(&mut panics),
            panic: panics.into_first(),
        }
    }

    /// Passes the panic, if there was one, to `panics`; returns the number of entries released.
    pub(crate) fn keep(self, panics: &mut FirstPanic) -> usize {
        self.panic.into_iter().for_each(|p| panics.note(p));
        self.released
    }
}

/// The result of serving a thread's duties.
#[derive(Default)]
pub(crate) struct Served {
    /// How many generations it took until nothing was left; 0 if there was nothing to do.
    pub(crate) generations: u32,
    /// The number of released objects that had died unnoticed.
    pub(crate) reviewed: usize,
}

/// An event reports a drain that destructors have fed for this many generations.
pub(in crate::pool) const ENDLESS: u32 = 1_000;

/// The limit that ends a drain without a budget if destructors feed it for ever.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    generations: u32,
    /// When the clock reaches this time, the limit falls to [`ENDLESS`] generations.
    deadline: Option<Duration>,
}

impl Limit {
    /// No limit: for the drains that a program calls without a budget.
    pub(crate) const NONE: Self = Self {
        generations: u32::MAX,
        deadline: None,
    };

    /// 100,000 generations.
    pub(crate) const SOME: Self = Self {
        generations: 100_000,
        deadline: None,
    };

    /// Returns a limit of 100,000 generations, which falls to 1,000 ([`ENDLESS`]) at `deadline`.
    pub(crate) fn until(deadline: Duration) -> Self {
        Self {
            deadline: Some(deadline),
            ..Self::SOME
        }
    }

    /// Returns whether destructors have fed the drain for too many generations.
    pub(in crate::pool) fn is_passed(self, generations: u32) -> bool {
        let is_late = || self.deadline.is_some_and(|time| elapsed() >= time);
        generations > self.generations || generations > ENDLESS && is_late()
    }

    /// Returns whether there is a limit.
    pub(in crate::pool) fn is_some(self) -> bool {
        self.generations != Self::NONE.generations
    }
}

/// The clock is read once for this many releases that run no destructor.
const UNREAD: u32 = 16;

/// Counts a drain's releases and time against its budget.
pub(crate) struct Meter {
    budget: Budget,
    /// True if each destructor is timed.
    timed: bool,
    start: Duration,
    /// The time when the clock was last read, and how many releases ago that was.
    now: Duration,
    unread: u32,
    released: usize,
    /// True once the drain has made a release or a step towards one.
    begun: bool,
    slowest: Option<(&'static TypeInfo, Duration)>,
    /// The limit of a drain without a budget.
    limit: Limit,
}

impl Meter {
    pub(crate) fn new(budget: Budget) -> Self {
        let start = elapsed();
        Self {
            budget,
            timed: true,
            start,
            now: start,
            ..Self::unlimited(Limit::SOME)
        }
    }

    /// Returns a meter that does not time destructors: it is quicker, and the drain may exceed its
    /// time by the duration of the last sixteen destructors.
    pub(crate) fn coarse(budget: Budget) -> Self {
        Self {
            timed: false,
            ..Self::new(budget)
        }
    }

    /// Returns a meter without a budget, which reads the clock only in [`report`](Self::report).
    pub(crate) fn unlimited(limit: Limit) -> Self {
        Self {
            budget: Budget::All,
            timed: false,
            start: Duration::ZERO,
            now: Duration::ZERO,
            unread: 0,
            released: 0,
            begun: false,
            slowest: None,
            limit,
        }
    }

    /// Returns the limit of the drain if it has no budget.
    pub(in crate::pool) fn limit(&self) -> Limit {
        self.limit
    }

    /// Takes the budget away.
    pub(in crate::pool) fn lift(&mut self) {
        self.budget = Budget::All;
    }

    /// Returns whether there is a budget.
    pub(in crate::pool) fn is_limited(&self) -> bool {
        self.budget != Budget::All
    }

    /// Returns whether the budget is used up.
    #[inline]
    pub(crate) fn is_spent(&self) -> bool {
        match self.budget {
            Budget::All => false,
            Budget::Count(most) => self.released >= most,
            Budget::Time(most) => self.begun && self.now - self.start >= most,
        }
    }

    /// Returns how many references to one object may be released at once: the drain's total must
    /// not exceed `until` or a budget of releases.
    #[inline]
    pub(in crate::pool) fn at_most(&self, until: usize) -> u32 {
        let until = match self.budget {
            Budget::Count(most) => most.min(until),
            _ => until,
        };
        u32::try_from(until.saturating_sub(self.released)).unwrap_or(u32::MAX)
    }

    /// Returns how many references have been released.
    pub(crate) fn released(&self) -> usize {
        self.released
    }

    /// Counts `n` references as released.
    #[inline]
    pub(in crate::pool) fn count(&mut self, n: usize) {
        self.released += n;
        self.begun = true;
    }

    /// Runs a closure that was posted, which counts as a release.
    pub(crate) fn run(&mut self, closure: impl FnOnce()) {
        closure();
        self.count(1);
        if self.is_limited() {
            self.read();
        }
    }

    /// Counts a step that only prepares releases.
    #[inline]
    pub(in crate::pool) fn step(&mut self) {
        self.begun = true;
        self.quick();
    }

    /// Counts a release that runs no destructor.
    #[inline]
    pub(in crate::pool) fn quick(&mut self) {
        self.unread += 1;
        if self.unread == UNREAD {
            if self.timed || self.is_limited() {
                self.read();
            } else {
                // Without a budget, no release reads the clock: only the end of the drain does.
                self.unread = 0;
            }
        }
    }

    fn read(&mut self) {
        self.now = elapsed();
        self.unread = 0;
    }

    /// Runs a destructor of an object of this type, and times it.
    #[inline]
    pub(in crate::pool) fn time(&mut self, type_info: &'static TypeInfo, run: impl FnOnce()) {
        if !self.timed {
            self.quick();
            return run();
        }
        if self.unread != 0 {
            self.read();
        }
        let before = self.now;
        // If this destructor panics, the meter then reads the clock before it times the next one.
        self.unread = 1;
        run();
        self.read();
        let both = self
            .slowest
            .into_iter()
            .chain([(type_info, self.now - before)]);
        self.slowest = both.max_by_key(|&(_, took)| took);
    }

    /// Returns the result of the drain, which leaves `remaining` releases.
    pub(crate) fn report(mut self, remaining: usize) -> Drained {
        self.read();
        Drained {
            released: self.released,
            remaining,
            elapsed: self.now - self.start,
            slowest: self
                .slowest
                .map(|(type_info, took)| (type_info.type_name(), took)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::object_memory::{Global, ObjectType};
    use crate::object::payload::One;
    use crate::sync::Parker;

    #[test]
    fn a_coarse_meter_does_not_name_the_slowest_destructor() {
        let type_info = ObjectType::<One<String>, Global>::TYPE_INFO;
        for (mut meter, says) in [
            (Meter::new(Budget::All), true),
            (Meter::coarse(Budget::All), false),
        ] {
            meter.time(type_info, || ());
            assert_eq!(meter.report(0).slowest.is_some(), says);
        }
    }

    #[test]
    fn the_time_counts_from_the_beginning_of_the_drain() {
        let s = Duration::from_secs;
        for (now, spent) in [(100, false), (149, false), (150, true)] {
            let meter = Meter {
                start: s(100),
                now: s(now),
                begun: true,
                ..Meter::new(Budget::Time(s(50)))
            };
            assert_eq!(meter.is_spent(), spent);
        }
    }

    #[test]
    fn a_destructor_is_not_charged_for_what_came_before_it() {
        let quick = ObjectType::<One<String>, Global>::TYPE_INFO;
        let slow = ObjectType::<One<Vec<u8>>, Global>::TYPE_INFO;
        let spend = |ms| Parker::default().park(Some(Duration::from_millis(ms)));
        for releases in [1, UNREAD] {
            let mut meter = Meter::new(Budget::All);
            spend(100);
            (0..releases).for_each(|_| meter.quick());
            meter.time(quick, || ());
            meter.time(slow, || spend(50));
            let (name, _) = meter.report(0).slowest.unwrap();
            assert_eq!(name, slow.type_name());
        }
    }

    #[test]
    fn no_more_references_are_released_at_once_than_the_budget_has_left() {
        let mut meter = Meter::new(Budget::Count(10));
        meter.count(4);
        assert_eq!(
            [20, 8, 4, 3].map(|until| meter.at_most(until)),
            [6, 4, 0, 0]
        );
    }

    #[test]
    fn the_time_of_a_drain_begins_with_it() {
        // The clock started before the drain.
        elapsed();
        Parker::default().park(Some(Duration::from_millis(50)));
        let before = elapsed();
        let drained = Meter::new(Budget::All).report(0);
        assert!(drained.elapsed <= elapsed() - before, "{drained}");
    }
}
