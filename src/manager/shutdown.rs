//! Getting everything released: `quiesce` and `shutdown`.

use super::PoolManager;
use super::snapshot::ThreadSnapshot;
use crate::object::destroy::{ReleaseScope, in_destructor};
use crate::pool::budget::Budget;
use crate::pool::manager_shared::PoolStackStats;
use crate::pool::thread_pools::{self, ThreadPools};
use crate::pool::{backlog, epoch, remote_release};
use crate::sync::elapsed;
use crate::thread::current::current_key;
use crate::thread::orphans::ORPHANS;
use crate::thread::registry::REGISTRY;
use crate::unwind::{FirstPanic, resume_or_report};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How long to sleep at most before looking again. A thread that has done what it was asked for, or
/// has given up its pools, wakes the sleeper. What happens without a wake is found after a nap, as a
/// wake would cost those who do it more than it is worth: pools are closed, messages run, orphans
/// run on other threads, the epoch is advanced.
const NAP: Duration = Duration::from_millis(2);

/// Looks at threads that hold nothing, but go on sending each other messages.
const LOOKS: u32 = 8;

/// What [`PoolManager::shutdown`] came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Entries of this manager's root pool and backlog that the calling thread released; not what
    /// others had sent to it, nor orphans.
    pub released: usize,
    /// The threads that still hold something: open pools, entries in the root pool, a backlog, or
    /// messages in their inbox. If none holds anything, but they go on sending each other messages
    /// whose destructors send others, all threads. Empty if all is released.
    pub holders: Vec<ThreadSnapshot>,
    /// Releases and closures whose thread has ended, and releases of what slots gave up, that are
    /// still to be made or run.
    pub orphans: usize,
    /// The pools that hold what slots gave up, on whichever thread, of whichever manager: they
    /// have loaded from a slot and have not been drained since. Empty if no orphan waits for them.
    pub epoch_holders: Vec<EpochHolder>,
    /// How long it took.
    pub elapsed: Duration,
}

/// A pool that has loaded from a slot and has not been drained since, in a [`ShutdownReport`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EpochHolder {
    /// Name and key of its thread; they say so if that has ended.
    pub thread: String,
    /// The name that the pool was given, or `"unnamed"`.
    pub pool: String,
}

impl fmt::Display for ShutdownReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = counted(self.released, "entry", "entries");
        let done = self.holders.is_empty() && self.orphans == 0;
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
        for EpochHolder { thread, pool } in &self.epoch_holders {
            write!(
                f,
                "\n  thread {thread}, pool {pool:?} has loaded from a slot: drain or drop it"
            )?;
        }
        for thread in &self.holders {
            let held = [
                (thread.open_pools, "open pool", "open pools"),
                (thread.root_entries, "root entry", "root entries"),
                (
                    thread.backlog,
                    "release in its backlog",
                    "releases in its backlog",
                ),
                (
                    thread.inbox,
                    "release or closure to run",
                    "releases and closures to run",
                ),
            ];
            let held = held.into_iter().filter(|(n, ..)| *n > 0);
            let held: Vec<_> = held.map(|(n, one, many)| counted(n, one, many)).collect();
            match &held[..] {
                [] => write!(f, "\n  thread {} goes on sending", thread.label())?,
                held => write!(f, "\n  thread {} holds {}", thread.label(), held.join(", "))?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for ShutdownReport {}

impl PoolManager {
    /// Releases what is deferred and belongs to no thread in particular: releases
    /// and closures whose thread has ended, and what [slots](crate::Slot) gave up. Also
    /// releases what was sent to the calling thread. Waits, for at most `deadline`, for
    /// other threads that are running such releases, or that have a pool open which has loaded from
    /// a slot. Returns whether nothing is left.
    ///
    /// It goes on without a pause as long as there is something to release. If all that is left
    /// is held by a pool of the calling thread, which has loaded from a slot and is not drained
    /// meanwhile, it does not wait.
    ///
    /// Orphaned closures run here, on the calling thread; but never on a thread that reuses the
    /// registry slot of their target, which leaves them to others. Inside a destructor or drain
    /// nothing is run.
    ///
    /// # Panics
    /// With the first panic of a closure or destructor, at the end.
    pub fn quiesce(&self, deadline: Duration) -> bool {
        let start = elapsed();
        let mut panics = FirstPanic::default();
        let done = loop {
            let ran = run_deferred(&mut panics);
            let left = ORPHANS.outstanding();
            let is_over = || elapsed().saturating_sub(start) >= deadline;
            if left == 0 || is_over() || !ran && is_held_here() {
                break left == 0;
            }
            if !ran {
                // Nobody wakes it for what it waits for.
                let changed = &self.namespace().changed;
                changed.sleep(changed.ticket(), NAP);
            }
        };
        if let Some(payload) = panics.into_first() {
            resume_or_report(payload);
        }
        done
    }

    /// Releases everything of this manager: in turns, it runs what [`quiesce`](Self::quiesce)
    /// runs, drains the calling thread's root pool and backlog, asks the other threads, and
    /// looks whether any still holds something; until none does, or for at most `deadline`.
    ///
    /// It never drains a pool of another thread that lives. A thread that is asked
    /// drains its root pool and backlog at the end of its next outermost drain of a pool of
    /// this manager (`run_inbox` is none); open pools are its own affair. Messages sent to a thread
    /// count as held by it until they have run, even if that thread does not use this manager.
    /// Afterwards the manager works as before: what is autoreleased from then on is not covered.
    /// Inside a destructor, only the calling thread's root pool and backlog are drained.
    ///
    /// # Errors
    /// If something is still held at the deadline. The report says which thread holds what, the
    /// calling thread's own open pools, and closures posted to it, included. If all that is left
    /// is held by the calling thread, `shutdown` does not wait for the deadline, as nobody could
    /// change that meanwhile.
    ///
    /// # Panics
    /// With the first panic of a closure or destructor, at the end.
    pub fn shutdown(&self, deadline: Duration) -> Result<ShutdownReport, ShutdownReport> {
        let start = elapsed();
        let mut panics = FirstPanic::default();
        let mut released = 0;
        let changed = &self.namespace().changed;
        let report = loop {
            let ran_deferred = run_deferred(&mut panics);
            let before = released;
            panics.guard(|| released += self.drain_root());
            panics.guard(|| released += self.drain_whole_backlog());
            let ran = ran_deferred || released > before;
            // Before they are asked, so that the wake of the first that answers is not missed.
            let seen = changed.ticket();
            self.others().for_each(|stats| stats.ask());
            let (holders, orphans, settled) = self.look();
            let done = settled && holders.is_empty() && orphans == 0;
            let elapsed = elapsed().saturating_sub(start);
            // While it waits here, the calling thread closes nothing.
            let is_mine = holders.iter().all(|t| Some(t.key) == current_key());
            let can_go_on = ran || !settled || has_own_release();
            let in_vain = !can_go_on && is_mine && (orphans == 0 || is_held_here());
            if done || in_vain || elapsed >= deadline {
                let report = ShutdownReport {
                    released,
                    holders,
                    orphans,
                    epoch_holders: epoch_holders(orphans),
                    elapsed,
                };
                break if done { Ok(report) } else { Err(report) };
            }
            if !can_go_on {
                changed.sleep(seen, NAP);
            }
        };
        if let Some(payload) = panics.into_first() {
            resume_or_report(payload);
        }
        report
    }

    /// Returns which threads hold something, how many orphans there are, and whether that is
    /// settled: if it is nothing, then nothing was on its way from one thread to another meanwhile.
    /// Otherwise the threads are those that have sent or received messages.
    fn look(&self) -> (Vec<ThreadSnapshot>, usize, bool) {
        let mut looks = 0;
        loop {
            looks += 1;
            let records = REGISTRY.all();
            let before: Vec<_> = records.iter().map(|record| record.activity()).collect();
            let snapshot = self.snapshot_of(&records);
            let orphans = snapshot.orphans;
            // A destructor that has run on one thread may have sent a message to a thread that
            // was looked at already.
            let mut moved = records
                .iter()
                .zip(before)
                .filter(|(r, b)| r.activity() != *b);
            if snapshot.threads.iter().any(holds) || orphans > 0 {
                let threads = snapshot.threads.into_iter();
                return (threads.filter(holds).collect(), orphans, true);
            }
            if moved.next().is_none() {
                return (Vec::new(), 0, true);
            }
            if looks == LOOKS {
                let records = REGISTRY.all();
                let threads = self.snapshot_of(&records).threads.into_iter();
                return (threads.collect(), 0, false);
            }
        }
    }
}

fn holds(thread: &ThreadSnapshot) -> bool {
    let held = [
        thread.open_pools,
        thread.root_entries,
        thread.backlog,
        thread.inbox,
    ];
    held.iter().any(|n| *n > 0)
}

/// The pools that some of `left` orphans wait for.
fn epoch_holders(left: usize) -> Vec<EpochHolder> {
    if left == 0 || !ORPHANS.has_deferred() {
        return Vec::new();
    }
    let holders = epoch::holders().into_iter();
    holders
        .map(|(thread, pool)| EpochHolder { thread, pool })
        .collect()
}

/// Returns whether some orphans wait for a pool of the calling thread alone.
fn is_held_here() -> bool {
    ORPHANS.has_deferred() && epoch::is_held_here_alone()
}

/// Returns whether a release has come for the calling thread that it can make.
fn has_own_release() -> bool {
    let comes = |local: &ThreadPools| local.remote_releases() as u64 > local.in_the_middle();
    !in_destructor() && thread_pools::with(|local| local.is_some_and(comes))
}

/// `n` of something, in words.
fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

impl PoolManager {
    /// Returns the number of entries released; remote releases are not counted.
    fn drain_whole_backlog(&self) -> usize {
        let whole = thread_pools::with(|local| {
            let stack = local?.find(self.namespace())?;
            if stack.backlog.len() == 0 {
                return None;
            }
            let before = stack.stats.released.get();
            let panic = backlog::drain(stack, Budget::All);
            Some((stack.stats.released.get() - before, panic))
        });
        let Some((released, panic)) = whole else {
            return 0;
        };
        if let Some(payload) = panic {
            resume_or_report(payload);
        }
        released as usize
    }

    /// The threads that use this manager, but for the calling one.
    fn others(&self) -> impl Iterator<Item = Arc<PoolStackStats>> {
        let me = current_key();
        let threads = self.namespace().threads.all().into_iter();
        threads
            .filter(move |(key, _)| Some(*key) != me)
            .map(|(_, stats)| stats)
    }
}

/// Does once what `quiesce` is for, but for waiting. Returns whether anything has run.
fn run_deferred(panics: &mut FirstPanic) -> bool {
    if in_destructor() {
        return false;
    }
    epoch::advance_until_ready();
    let mut any = {
        let scope = ReleaseScope::enter();
        // A thread without a key has no mail, and is not to get the slot of one whose
        // closures it could then not run.
        if current_key().is_some() {
            thread_pools::with(|local| match local {
                Some(local) => remote_release::deliver_all(local, &scope, panics),
                None => remote_release::deliver_orphans(&scope, panics),
            })
        } else {
            remote_release::deliver_orphans(&scope, panics)
        }
    };
    any |= ORPHANS.run_calls(|call| panics.guard(|| call.run())) > 0;
    any
}
