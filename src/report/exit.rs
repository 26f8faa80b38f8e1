//! `finish`, which ends the crate's work in the process, and its report of what is left.

use crate::event::words::counted;
use crate::event::{Event, EventKind};
use crate::frame::loops;
use crate::home::home_ref;
#[cfg(feature = "leak-detection")]
use crate::leaks::{self, LeakReport};
use crate::pool::manager::PoolManager;
use crate::reclaim::{PendingDrops, later};
use crate::report::shutdown::{Look, NAP, ShutdownReport};
use crate::sync::elapsed;
use crate::thread::current::{current_key, current_label};
use crate::thread::key::ThreadKey;
use crate::thread::thread_handle::ThreadHandle;
use crate::unwind::{FirstPanic, reporting};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Ends what the crate does in this process, within `deadline`, and reports what is left.
///
/// For the end of `main`: Rust runs no code after it, so values that wait to be destroyed then are lost,
/// with what their destructors would have done. A [`FinishGuard`] calls it there, whatever ends `main`.
/// These steps are repeated until nothing is left:
///
/// 1. All [`FrameLoop`](crate::FrameLoop)s, [`Looper`](crate::Looper)s and
///    [`Reclaimer`](crate::Reclaimer)s of the process are asked to end, in [this
///    order](crate::frame#the-end-of-a-loop): posts fail from now on. Frame loops of the calling
///    thread are closed. Loopers and reclaimers run and destroy what they have accepted, and end.
///    On another thread, [`run`](crate::FrameLoop::run) returns; the loop ends when it is dropped.
/// 2. The thread behind [`drop_later`](crate::drop_later) destroys what waits for it, and ends. A later
///    `drop_later` starts another one.
/// 3. All [`PoolManager`]s are [shut down](PoolManager::shutdown), the global one last. This also releases
///    what slots have retired, and runs what was sent to threads that have ended.
///
/// Then no loop is left, and the process may end or go on: pools and managers still work, and new loops
/// may be made. `finish` joins no threads of the program: join them before, if they post to
/// loops or use pools, as it may miss what they do meanwhile.
///
/// # When not to use it
/// In tests that run in parallel, as it ends the loops of all of them: use
/// [`finish_drops`](crate::reclaim::finish_drops), and drop or [shut down](crate::Looper::shutdown) the loops of
/// the test. To release what one subsystem has, shut its manager down.
///
/// # Where it may be called
/// On any thread and at any time, also twice and by several threads at once. It waits no longer
/// than the deadline, except for work that cannot be divided: a destructor, a closure that a loop
/// of the calling thread has accepted, and the destructors of thread-locals on the thread behind
/// `drop_later`.
/// - With a deadline of zero it asks everything to end, does the work of the calling thread, and reports
///   what other threads have still to do.
/// - Inside an open pool, which it does not drain: the pool is reported.
/// - In a command of a looper, or a destructor that a looper runs: that looper is asked to end, which it
///   can do only after `finish`, and is reported.
/// - In a destructor: as in [`shutdown`](PoolManager::shutdown), only root pool and backlog of the calling
///   thread are drained there, and closures that frame loops have accepted stay with the thread.
///
/// If only the calling thread could do the rest, as in the last three cases, `finish` does not wait for the
/// deadline.
///
/// # Errors
/// The report, if anything is left. Live objects are no error, as statics and variables may hold
/// them: the report of a success counts them, too.
///
/// # Panics
/// Resumes, at the end, the first panic on this thread of a destructor or orphan, except in loops.
///
/// # Cost
/// Some microseconds for each thread and manager if nothing is left; else it looks every two milliseconds.
///
/// ```
/// use releasepool::{Looper, Slot, Ref, drop_later, finish};
/// use std::time::Duration;
///
/// let loader = Looper::spawn("loader")?;
/// loader.post(|| println!("loading")).unwrap();
/// drop_later(vec![String::from("a log that its destructor writes")]);
/// Slot::new(Ref::new("old")).store(Ref::new("new"));
/// // At the end of `main`:
/// let report = finish(Duration::from_secs(10))?;
/// assert!(report.loops.is_empty() && report.live_objects == 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "shutdown", alias = "exit")]
pub fn finish(deadline: Duration) -> Result<ExitReport, ExitReport> {
    let start = elapsed();
    let duration = || elapsed().saturating_sub(start);
    let mut panics = FirstPanic::default();
    let mut released = BTreeMap::new();
    let report = loop {
        let round = Round::run(start.saturating_add(deadline), &mut released, &mut panics);
        if round.is_done() {
            break Ok(round.report(&released, duration()));
        }
        if duration() >= deadline || round.waits_for_caller() {
            break Err(round.report(&released, duration()));
        }
        if !round.has_run {
            // The sleep has a time limit, because some of the awaited changes wake nobody.
            let changed = &PoolManager::global().shared().changed;
            changed.sleep(changed.ticket(), NAP);
        }
    };
    panics.resume();
    report
}

/// The loops, values and managers that a round of [`finish`] has left.
struct Round {
    /// True if this thread has released or run something for a manager.
    has_run: bool,
    loops: Vec<(&'static str, ThreadHandle)>,
    drops: Vec<(ThreadKey, PendingDrops)>,
    managers: Vec<(Look, PoolManager)>,
    kept: usize,
}

/// How many entries the calling thread has released, by the number of the manager.
type Released = BTreeMap<u64, usize>;

impl Round {
    fn run(until: Duration, released: &mut Released, panics: &mut FirstPanic) -> Self {
        let _ = later::end_by(Duration::ZERO);
        loops::ask_all(until);
        let mut has_run = false;
        for manager in PoolManager::all() {
            let released = released.entry(manager.shared().id).or_default();
            has_run |= manager.run_own(until, released, panics);
            _ = manager.ask_others();
        }
        let drops = later::end_by(Duration::ZERO);
        let loops = loops::living();
        // No manager is examined before all have been served: destructors of one may use another, or
        // make one.
        let look = |manager: PoolManager| (manager.look_at_own(), manager);
        Self {
            has_run,
            loops,
            drops,
            managers: PoolManager::all().into_iter().map(look).collect(),
            kept: home_ref::homeless_count() as usize,
        }
    }

    fn is_done(&self) -> bool {
        let is_shut_down = self.managers.iter().all(|(look, _)| look.is_done());
        is_shut_down && self.loops.is_empty() && self.drops.is_empty() && self.kept == 0
    }

    /// Returns whether waiting could not change what is left.
    fn waits_for_caller(&self) -> bool {
        let is_own = |key: ThreadKey| Some(key) == current_key();
        let mut looks = self.managers.iter().map(|(look, _)| look);
        !self.has_run
            && looks.all(Look::waits_for_caller)
            && self.loops.iter().all(|(_, thread)| is_own(thread.key()))
            // A reclaimer in `drops` may have ended since, and is not in `loops` then.
            && self.drops.iter().all(|&(thread, _)| is_own(thread))
    }

    fn report(self, released: &Released, elapsed: Duration) -> ExitReport {
        let loops = self.loops.iter().map(|(kind, thread)| LivingLoop {
            kind,
            thread: thread.0.label(),
        });
        let drops = self.drops.into_iter().map(|(_, drops)| drops);
        let mut left = self.managers;
        left.retain(|(look, _)| !look.is_done());
        let managers = left.into_iter().map(|(look, manager)| {
            let released = released.get(&manager.shared().id).copied();
            ManagerLeft {
                name: manager.label().to_owned(),
                report: look.report(released.unwrap_or(0), elapsed),
            }
        });
        let kept = home_ref::homeless().into_iter();
        let kept = kept.map(|((type_name, home), values)| KeptValues {
            type_name,
            home,
            values,
        });
        ExitReport {
            loops: loops.collect(),
            drops: drops.filter(|drops| drops.values > 0).collect(),
            managers: managers.collect(),
            kept: kept.collect(),
            live_objects: PoolManager::global().snapshot().live_objects(),
            #[cfg(feature = "leak-detection")]
            leaks: Box::new(leaks::report()),
        }
    }
}

/// The result of [`finish`]: the loops, values and managers that it could not end.
///
/// [`Display`](fmt::Display) writes a line for each loop, manager and kind of value.
///
/// # Example
/// ```
/// use releasepool::{AutoreleasePool, finish};
/// use std::time::Duration;
///
/// let pool = AutoreleasePool::new();
/// pool.create("still lent");
/// let report = finish(Duration::from_secs(1)).unwrap_err(); // does not wait, as only we can drop it
/// assert_eq!(report.managers[0].report.holders[0].open_pools, 1);
/// eprintln!("{report}");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExitReport {
    /// The loops that have not ended.
    pub loops: Vec<LivingLoop>,
    /// The values that were passed to [`drop_later`](crate::drop_later) and are not destroyed.
    pub drops: Vec<PendingDrops>,
    /// The managers whose shutdown is not complete.
    pub managers: Vec<ManagerLeft>,
    /// The values of [`HomeRef`](crate::HomeRef)s that have outlived their home thread. Their destructors
    /// never run.
    pub kept: Vec<KeptValues>,
    /// Number of counted objects that are alive, the values in `kept` included.
    pub live_objects: u64,
    /// The live objects, by type and place of creation. Only with the feature `leak-detection`.
    #[cfg(feature = "leak-detection")]
    pub leaks: Box<LeakReport>,
}

/// A loop that has not ended, in an [`ExitReport`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LivingLoop {
    /// `"frame loop"`, `"looper"` or `"reclaimer"`.
    pub kind: &'static str,
    /// Name and key of the loop's thread.
    pub thread: String,
}

/// A manager that still holds something, in an [`ExitReport`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ManagerLeft {
    /// The name of the manager. Without a name: `"global"` or, for other managers, `"unnamed"`.
    pub name: String,
    /// What the manager's pools hold. What belongs to no manager in particular (inboxes, orphans, hot
    /// objects, pools that delay retired references) is in the report of the global manager only.
    pub report: ShutdownReport,
}

/// Values that have outlived their home thread, in an [`ExitReport`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KeptValues {
    /// The type of the values.
    pub type_name: &'static str,
    /// Name and key of the home thread, which has ended.
    pub home: String,
    /// How many values there are.
    pub values: usize,
}

impl fmt::Display for ExitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alive = counted(self.live_objects as usize, "object is", "objects are");
        write!(f, "{alive} alive")?;
        for LivingLoop { kind, thread } in &self.loops {
            write!(f, "\n  {kind} on thread {thread} has not ended")?;
        }
        for drops in &self.drops {
            write!(f, "\n  drop_later: {drops}")?;
        }
        for ManagerLeft { name, report } in &self.managers {
            write!(f, "\n  manager {name:?}: {report}")?;
        }
        for kept in &self.kept {
            let values = counted(kept.values, "value", "values");
            let (of, home) = (kept.type_name, &kept.home);
            write!(
                f,
                "\n  {values} of {of} kept: their home, thread {home}, has ended"
            )?;
        }
        #[cfg(feature = "leak-detection")]
        if !self.leaks.is_empty() {
            write!(f, "\n{}", self.leaks)?;
        }
        Ok(())
    }
}

impl std::error::Error for ExitReport {}

/// A guard: dropping it calls [`finish`], so that the end of `main` is covered on `?` and panics, too.
///
/// Make it first in `main`: variables are dropped in reverse order, so all others, such as pools and
/// loops, are gone when the guard is dropped. If something is left, the event
/// [`NotFinished`](crate::event::EventKind::NotFinished) says what; a panic of a destructor is an event, too.
/// The guard does not panic. To act on the report, call `finish` at the end of `main` as well: the guard
/// then finds nothing to do.
///
/// Of no use where the process ends without dropping the variables of `main`: by `std::process::exit`, by
/// an abort, or by a panic with `panic = "abort"`.
///
/// ```
/// use releasepool::{drop_later, report::FinishGuard};
/// use std::time::Duration;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let _finish = FinishGuard::new(Duration::from_secs(10));
///     drop_later(vec![String::from("large")]);
///     println!("{}", "5".parse::<u32>()?);
///     Ok(())
/// }
/// ```
#[derive(Debug)]
#[must_use = "dropping it calls `finish` at once: keep it in a variable, not in `_`"]
pub struct FinishGuard {
    deadline: Duration,
}

impl FinishGuard {
    /// Makes a guard that gives [`finish`] this deadline.
    pub fn new(deadline: Duration) -> Self {
        Self { deadline }
    }
}

impl Drop for FinishGuard {
    fn drop(&mut self) {
        reporting(|| {
            if let Err(report) = finish(self.deadline) {
                let event = Event::new(EventKind::NotFinished, current_label());
                let message = report.to_string().replace("\n  ", "; ");
                event.message(message).emit();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::current::current;

    #[test]
    fn a_round_waits_for_the_caller_only_if_all_reclaimers_do() {
        let own = current().unwrap().key();
        let round = |threads: &[ThreadKey]| Round {
            has_run: false,
            loops: Vec::new(),
            drops: threads
                .iter()
                .map(|key| (*key, PendingDrops::default()))
                .collect(),
            managers: Vec::new(),
            kept: 0,
        };
        assert!(round(&[own]).waits_for_caller());
        assert!(!round(&[own, ThreadKey::NOBODY]).waits_for_caller());
    }
}
