//! `quiesce` and `shutdown`, which release everything or report what is left.

use super::snapshot::ThreadSnapshot;
use crate::epoch;
use crate::event::words::counted;
use crate::hot::{hot_handle, review};
use crate::object::destroy::in_destructor;
use crate::pool::api::pin;
use crate::pool::drain::{engine, this_thread};
use crate::pool::entries::retired;
use crate::pool::manager::PoolManager;
use crate::pool::stack::budget::{Limit, Meter};
use crate::pool::stack::thread_pools::ThreadPools;
use crate::sync::{Ticket, elapsed};
use crate::thread::current::current_key;
use crate::thread::orphans::ORPHANS;
use crate::thread::record::Record;
use crate::thread::registry::REGISTRY;
use crate::unwind::FirstPanic;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The longest sleep between two looks at the threads. A thread that has served the request, or has
/// given up its pools, wakes the sleeper. A thread that makes another change (closes a pool, runs a
/// message or an orphan, advances the epoch) does not, as a wake-up would cost it too much: the
/// sleeper notices such changes after a nap.
pub(crate) const NAP: Duration = Duration::from_millis(2);

/// How often `shutdown` looks at threads that hold nothing but keep sending each other messages.
const LOOKS: u32 = 8;

/// The result of [`PoolManager::shutdown`].
///
/// # Example
/// ```
/// use releasepool::{PoolManager, Ref};
/// use std::time::Duration;
///
/// let manager = PoolManager::new();
/// manager.autorelease(Ref::new(5));
/// match manager.shutdown(Duration::from_secs(1)) {
///     Ok(report) => assert_eq!(report.released, 1),
///     Err(report) => eprintln!("{report}"), // who holds what
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Number of entries of this manager's root pool and backlog that the calling thread released.
    /// Does not count releases that other threads had sent to it, nor orphans.
    pub released: usize,
    /// The threads that still hold something: open pools, entries in the root pool, a backlog, or
    /// messages in their inbox. If no thread holds anything, but threads keep sending each other
    /// messages or starting: all threads. Empty if everything is released.
    pub holders: Vec<ThreadSnapshot>,
    /// Number of orphans that have not run yet: releases and closures that were sent to threads
    /// that have ended, and references that slots have retired.
    pub orphans: usize,
    /// Number of [hot](crate::Hot) objects that are dead and that no thread has released yet.
    pub hot: usize,
    /// The pools, of any thread and manager, that delay the release of retired references: they
    /// have loaded from a slot and have not been drained since. Empty if no orphan waits for them.
    pub epoch_holders: Vec<EpochHolder>,
    /// How long the shutdown took.
    pub elapsed: Duration,
}

/// A pool that has loaded from a slot and has not been drained since, in a [`ShutdownReport`].
///
/// ```
/// use releasepool::{AutoreleasePool, PoolManager, Ref, Slot};
/// use std::time::Duration;
///
/// let slot = Slot::new(Ref::new("old"));
/// let level = AutoreleasePool::named("level");
/// let old = slot.load(&level);
/// slot.store(Ref::new("new")); // the old object lives as long as `level` may lend it
/// let report = PoolManager::global().shutdown(Duration::ZERO).unwrap_err();
/// assert!(report.epoch_holders.iter().any(|holder| holder.pool == "level"));
/// assert_eq!(*old, "old");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EpochHolder {
    /// Name and key of the pool's thread, and whether the thread has ended.
    pub thread: String,
    /// Name of the pool, or `"unnamed"`.
    pub pool: String,
}

/// The nouns for the numbers of [`ThreadSnapshot::held`], in singular and plural.
const HELD: [(&str, &str); 4] = [
    ("open pool", "open pools"),
    ("root entry", "root entries"),
    ("release in its backlog", "releases in its backlog"),
    ("release or closure to run", "releases and closures to run"),
];

impl fmt::Display for ShutdownReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = counted(self.released, "entry", "entries");
        let done = self.holders.is_empty() && self.orphans + self.hot == 0;
        let how = if done {
            "shut down in"
        } else {
            "not shut down after"
        };
        write!(f, "{how} {:?}: {entries} released", self.elapsed)?;
        if self.orphans > 0 {
            let orphans = counted(self.orphans, "orphan", "orphans");
            write!(f, ", {orphans} left")?;
        }
        if self.hot > 0 {
            let hot = counted(self.hot, "dead hot object", "dead hot objects");
            write!(f, ", {hot} not released")?;
        }
        for EpochHolder { thread, pool } in &self.epoch_holders {
            write!(
                f,
                "\n  thread {thread}, pool {pool:?} has loaded from a slot: drain or drop it"
            )?;
        }
        for thread in &self.holders {
            let held = thread.held().into_iter().zip(HELD);
            let held = held.filter(|(n, _)| *n > 0);
            let held: Vec<_> = held.map(|(n, (one, many))| counted(n, one, many)).collect();
            match &held[..] {
                [] => write!(f, "\n  thread {} keeps sending messages", thread.label())?,
                held => write!(f, "\n  thread {} holds {}", thread.label(), held.join(", "))?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for ShutdownReport {}

impl PoolManager {
    /// Makes the deferred releases that belong to no thread in particular: runs the releases and closures
    /// that were sent to threads that have ended, and releases the references that [slots](crate::Slot)
    /// have retired. Also makes the releases that were sent to the calling thread, and those of
    /// [hot](crate::Hot) objects that are dead, as [`Hot::review`](crate::Hot::review) does. Waits, for at
    /// most `deadline`, for other threads that are running such releases, or that have an open pool that
    /// has loaded from a slot. Returns whether nothing is left.
    ///
    /// `quiesce` does not pause as long as it can release something. It does not wait if the rest
    /// depends only on a pool of the calling thread that has loaded from a slot, as that pool
    /// cannot be drained meanwhile. If its releases lead to others for ever, it ends soon after the
    /// deadline.
    ///
    /// Orphaned closures run on the calling thread, unless it reuses the registry slot of their
    /// target: then it leaves them to other threads. Inside a destructor or drain, `quiesce` runs
    /// nothing. If a deferred release has called that destructor, and the outer drain has more of
    /// them to make, `quiesce` waits for the whole `deadline`.
    ///
    /// # Panics
    /// Resumes the first panic of a closure or destructor, at the end.
    pub fn quiesce(&self, deadline: Duration) -> bool {
        let start = elapsed();
        let mut panics = FirstPanic::default();
        let done = loop {
            let ran = self.run_deferred(start.saturating_add(deadline), &mut panics);
            let before = ORPHANS.ran();
            // Counts hot objects first: one that dies may leave orphans. If an orphan then lets a
            // hot object die, `ran` has changed. Model: orphans_to_hot.
            let left = review::unreleased() + retired::outstanding();
            if ORPHANS.ran() == before && (left == 0 || !ran && is_held_here()) {
                break left == 0;
            }
            if elapsed().saturating_sub(start) >= deadline {
                break false;
            }
            if !ran {
                // The sleep has a time limit, because no other thread wakes this one.
                let changed = &self.shared().changed;
                changed.sleep(changed.ticket(), NAP);
            }
        };
        panics.resume();
        done
    }

    /// Releases everything that this manager's pools hold. At the end of the process,
    /// [`finish`](crate::finish) does this with all managers. In turns, `shutdown` runs the deferred
    /// releases and closures that [`quiesce`](Self::quiesce) runs, drains the calling thread's root
    /// pool and backlog, asks the other threads to do likewise, and looks whether any thread still
    /// holds something; it repeats this until no thread does, for at most `deadline`.
    ///
    /// `shutdown` never drains a pool of another live thread. A thread that was asked drains its
    /// root pool and backlog at the end of its next outermost drain of a pool of this manager
    /// (`run_inbox` is not such a drain); its open pools stay open. Messages sent to a thread count
    /// as held by it until they have run, even if that thread does not use this manager. The
    /// manager can still be used afterwards; `shutdown` does not release objects that are
    /// autoreleased later. Inside a destructor, only the calling thread's root pool and backlog are
    /// drained; [hot](crate::Hot) objects that are dead wait for the end of that destructor. If
    /// destructors feed a pool for ever, `shutdown` leaves the rest soon after the deadline, and a
    /// thread that was asked leaves its rest after 100,000 generations.
    ///
    /// ```
    /// use releasepool::{PoolManager, Ref};
    /// use std::time::Duration;
    /// let manager = PoolManager::new();
    /// let pool = manager.pool();
    /// pool.create(1);
    /// let held = manager.shutdown(Duration::from_secs(1)).unwrap_err();
    /// assert_eq!(held.holders[0].open_pools, 1);
    /// drop(pool);
    /// manager.autorelease(Ref::new(2)); // to the root pool, as no other is open
    /// assert_eq!(manager.shutdown(Duration::from_secs(1))?.released, 1);
    /// # Ok::<(), releasepool::report::ShutdownReport>(())
    /// ```
    ///
    /// # Errors
    /// If something is still held at the deadline. The report says which thread holds what,
    /// including the calling thread's own open pools and the closures posted to it. If only the
    /// calling thread still holds something, `shutdown` does not wait for the deadline, because
    /// waiting could not change that.
    ///
    /// # Panics
    /// Resumes the first panic of a closure or destructor, at the end.
    pub fn shutdown(&self, deadline: Duration) -> Result<ShutdownReport, ShutdownReport> {
        let start = elapsed();
        let duration = || elapsed().saturating_sub(start);
        let mut panics = FirstPanic::default();
        let mut released = 0;
        let report = loop {
            let ran = self.run_own(start.saturating_add(deadline), &mut released, &mut panics);
            let seen = self.ask_others();
            let look = self.look();
            if look.is_done() {
                break Ok(look.report(released, duration()));
            }
            if duration() >= deadline || !ran && look.waits_for_caller() {
                break Err(look.report(released, duration()));
            }
            // Sleeps even if a release is on its way to this thread: the sender may have to run
            // before the release arrives.
            if !ran {
                self.shared().changed.sleep(seen, NAP);
            }
        };
        panics.resume();
        report
    }

    /// Runs everything that can run on this thread, without waiting; if destructors make new work
    /// for ever, until the clock is past `deadline`. Adds the number of released entries to
    /// `released`, and returns whether anything has run.
    pub(crate) fn run_own(
        &self,
        deadline: Duration,
        released: &mut usize,
        panics: &mut FirstPanic,
    ) -> bool {
        let ran = self.run_deferred(deadline, panics);
        let own = this_thread::with(|pools| {
            let stack = pools?.find(self.shared())?;
            Some(engine::empty_root_first(stack, Limit::until(deadline)).keep(panics))
        });
        *released += own.unwrap_or(0);
        ran || own.is_some_and(|n| n > 0)
    }

    /// Runs all deferred releases and closures that can run now, as [`run_own`](Self::run_own) does.
    fn run_deferred(&self, deadline: Duration, panics: &mut FirstPanic) -> bool {
        if in_destructor() {
            return false;
        }
        let mut any =
            this_thread::serve(Meter::unlimited(Limit::until(deadline)), panics).generations > 0;
        any |= ORPHANS.run_calls(|call| panics.guard(|| call.run()));
        // Releases hot objects last, as the other releases may drop the last handles to them.
        any |= hot_handle::release_all(panics) > 0;
        any
    }

    /// Finds the threads that hold something. A settled result by which nothing is left also proves
    /// that nothing was on its way from one thread to another.
    pub(crate) fn look(&self) -> Look {
        for _ in 0..LOOKS {
            let records = REGISTRY.all();
            let before = self.activity(&records);
            let snapshot = self.snapshot_of(&records);
            let hot = review::unreleased();
            // If figures have changed, a destructor may have passed work on to a place that this
            // look had read already; or to a thread that `records` lacks. Model: shutdown_entered.
            let is_unchanged = self.activity(&REGISTRY.all()) == before;
            let look = Look {
                orphans: snapshot.orphans,
                holders: snapshot.threads.into_iter().filter(holds).collect(),
                hot,
                is_settled: true,
            };
            if look.is_valid(is_unchanged) {
                return look;
            }
        }
        Look {
            holders: self.snapshot_of(&REGISTRY.all()).threads,
            orphans: 0,
            hot: 0,
            is_settled: false,
        }
    }

    /// Finds the threads that hold something of this manager. The look of the global manager also
    /// includes what belongs to no manager in particular.
    pub(crate) fn look_at_own(&self) -> Look {
        let mut look = self.look();
        if !self.is_global() {
            look.holders.iter_mut().for_each(|thread| thread.inbox = 0);
            look.holders.retain(holds);
            (look.orphans, look.hot, look.is_settled) = (0, 0, true);
        }
        look
    }

    /// Returns figures that change whenever a thread passes on what it held, or is entered.
    fn activity(&self, records: &[Arc<Record>]) -> impl PartialEq + use<> {
        let of_thread = |record: &Arc<Record>| {
            let stats = self.shared().threads.get(&record.key());
            let moved = stats.map_or(0, |stats| stats.moved());
            (record.key(), record.activity(), moved)
        };
        let of_threads: Vec<_> = records.iter().map(of_thread).collect();
        (of_threads, ORPHANS.ran(), review::ended())
    }

    /// Asks all other threads that use this manager to drain their root pools and backlogs. Returns
    /// the ticket by which to sleep until one of them has done so.
    pub(crate) fn ask_others(&self) -> Ticket {
        let me = current_key();
        // Takes the ticket before asking the threads, so that the first answer's wake-up is not
        // missed.
        let seen = self.shared().changed.ticket();
        for (key, stats) in self.shared().threads.all() {
            if Some(key) != me {
                stats.ask();
            }
        }
        seen
    }
}

/// The result of a look at all threads.
pub(crate) struct Look {
    /// The threads that hold something; if the look is not settled, all threads, as each may have
    /// sent or received messages.
    holders: Vec<ThreadSnapshot>,
    orphans: usize,
    /// Hot objects that are dead and not released.
    hot: usize,
    is_settled: bool,
}

impl Look {
    /// Returns whether this look is a result: it has found something, or no figure has changed meanwhile.
    fn is_valid(&self, is_unchanged: bool) -> bool {
        is_unchanged || !self.is_done()
    }

    /// Returns whether nothing is left.
    pub(crate) fn is_done(&self) -> bool {
        self.is_settled && self.holders.is_empty() && self.orphans + self.hot == 0
    }

    /// Returns whether only the calling thread still holds something, and cannot release it: its
    /// own pools stay open while it waits.
    pub(crate) fn waits_for_caller(&self) -> bool {
        let is_mine = |thread: &ThreadSnapshot| Some(thread.key) == current_key();
        let is_mine = self.hot == 0 && self.holders.iter().all(is_mine);
        is_mine && self.is_settled && (self.orphans == 0 || is_held_here()) && !has_own_release()
    }

    pub(crate) fn report(self, released: usize, elapsed: Duration) -> ShutdownReport {
        ShutdownReport {
            released,
            epoch_holders: epoch_holders(self.orphans),
            holders: self.holders,
            orphans: self.orphans,
            hot: self.hot,
            elapsed,
        }
    }
}

/// Returns whether a thread holds something that `shutdown` waits for.
fn holds(thread: &ThreadSnapshot) -> bool {
    thread.held().iter().any(|n| *n > 0)
}

/// Returns the pools for which any of the `left` orphans wait.
fn epoch_holders(left: usize) -> Vec<EpochHolder> {
    if left == 0 || !epoch::has_deferred() {
        return Vec::new();
    }
    let holder = |(thread, pool)| EpochHolder { thread, pool };
    epoch::holders().into_iter().map(holder).collect()
}

/// Returns whether orphans wait for pools of the calling thread only.
fn is_held_here() -> bool {
    epoch::has_deferred() && pin::is_held_here_alone()
}

/// Returns whether the calling thread can now make a release that was sent to it. Outside of a
/// destructor the thread is inside no release, so it can make all. Model: shutdown_in_closure.
fn has_own_release() -> bool {
    let waits = |pools: &ThreadPools| pools.remote_releases() > 0;
    !in_destructor() && this_thread::with(|pools| pools.is_some_and(waits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::snapshot::Totals;
    use crate::thread::key::ThreadKey;

    #[test]
    fn a_look_during_changes_is_valid_if_something_is_left_and_proves_nothing_if_not() {
        let look = |orphans, is_settled| Look {
            holders: Vec::new(),
            orphans,
            hot: 0,
            is_settled,
        };
        assert!(look(1, true).is_valid(false) && look(0, true).is_valid(true));
        assert!(!look(0, true).is_valid(false));
        assert!(look(0, true).is_done() && look(0, true).waits_for_caller());
        assert!(!look(0, false).is_done() && !look(0, false).waits_for_caller());
    }

    #[test]
    fn a_report_counts_what_is_left() {
        let holder = |pool: &str| EpochHolder {
            thread: "main (#0.1)".to_owned(),
            pool: pool.to_owned(),
        };
        let thread = |open_pools: usize| ThreadSnapshot {
            key: ThreadKey::new(open_pools as u32, 1),
            name: None,
            open_pools,
            root_entries: 0,
            backlog: 0,
            inbox: 0,
            totals: Totals::default(),
        };
        let mut report = ShutdownReport {
            released: 1,
            holders: Vec::new(),
            orphans: 0,
            hot: 0,
            epoch_holders: Vec::new(),
            elapsed: Duration::ZERO,
        };
        assert_eq!(report.to_string(), "shut down in 0ns: 1 entry released");
        (report.orphans, report.hot) = (2, 2);
        assert_eq!(
            report.to_string(),
            "not shut down after 0ns: 1 entry released, 2 orphans left, 2 dead hot objects not released"
        );
        (report.orphans, report.hot) = (0, 1);
        assert!(report.to_string().starts_with("not shut down"));
        report.epoch_holders = vec![holder("one"), holder("two")];
        report.holders = vec![thread(1), thread(0)];
        assert_eq!(
            report.to_string(),
            "not shut down after 0ns: 1 entry released, 1 dead hot object not released\
             \n  thread main (#0.1), pool \"one\" has loaded from a slot: drain or drop it\
             \n  thread main (#0.1), pool \"two\" has loaded from a slot: drain or drop it\
             \n  thread #1.1 holds 1 open pool\
             \n  thread #0.1 keeps sending messages"
        );
    }
}
