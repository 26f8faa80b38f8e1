//! Getting everything released: `quiesce` and `shutdown`.

use super::PoolManager;
use super::snapshot::ThreadSnapshot;
use crate::object::destroy::{Scope, in_destructor};
use crate::pool::budget::Budget;
use crate::pool::namespace::StackStats;
use crate::pool::{backlog, epoch, local, mail};
use crate::thread::key::ThreadKey;
use crate::thread::orphans::ORPHANS;
use crate::thread::record::current_key;
use crate::unwind::{FirstPanic, Payload, resume_or_report};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long to sleep at most before looking again.
const NAP: Duration = Duration::from_millis(2);

/// What [`PoolManager::shutdown`] came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Entries that the calling thread released.
    pub released: usize,
    /// The threads that still hold something: open pools, entries in the root pool, or a
    /// backlog. Empty if all is released.
    pub holders: Vec<ThreadSnapshot>,
    /// Releases and closures whose thread has ended, and what slots gave up, that are
    /// still to be run.
    pub orphans: usize,
    /// How long it took.
    pub elapsed: Duration,
}

impl fmt::Display for ShutdownReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "shut down in {:?}: {} entries released",
            self.elapsed, self.released
        )?;
        if self.orphans > 0 {
            write!(f, ", {} orphans left", self.orphans)?;
        }
        for thread in &self.holders {
            let (pools, root) = (thread.open_pools, thread.root_entries);
            let label = thread.label();
            write!(
                f,
                "\n  thread {label} holds {pools} open pools, {root} root entries"
            )?;
            if thread.backlog > 0 {
                write!(f, ", a backlog of {}", thread.backlog)?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ShutdownReport {}

impl PoolManager {
    /// Gets released what is deferred and belongs to nobody in particular: releases
    /// and closures whose thread has ended, and what [slots](crate::Slot) gave up. Also
    /// releases what was sent to the calling thread. Waits, for at most `deadline`, for
    /// other threads that are in the middle of the same. Returns whether nothing is left.
    ///
    /// Orphaned closures run here, on the calling thread; but never on the thread
    /// that took the place of the one they were meant for, so that one must leave
    /// them to another. Inside a destructor or drain nothing is run.
    ///
    /// # Panics
    /// With the first panic of a closure or destructor, at the end.
    pub fn quiesce(&self, deadline: Duration) -> bool {
        let (done, panic) = self.try_quiesce(deadline);
        if let Some(payload) = panic {
            resume_or_report(payload);
        }
        done
    }

    fn try_quiesce(&self, deadline: Duration) -> (bool, Option<Payload>) {
        let start = Instant::now();
        let mut panics = FirstPanic::default();
        loop {
            if !in_destructor() {
                run_deferred(&mut panics);
            }
            let done = ORPHANS.outstanding() == 0;
            if done || start.elapsed() >= deadline {
                return (done, panics.into_first());
            }
            self.namespace().changed.sleep(NAP);
        }
    }

    /// Gets everything of this manager released: drains the calling thread's root
    /// pool and backlog, [quiesces](Self::quiesce), asks the other threads, and waits until
    /// they hold nothing any more, for at most `deadline`.
    ///
    /// It never drains a pool of another thread that lives. A thread that is asked
    /// drains its root pool and backlog at the end of its next outermost drain of a pool of
    /// this manager; open pools are its own affair. Afterwards the manager works as
    /// before: what is autoreleased from then on is not covered.
    ///
    /// # Errors
    /// If something is still held at the deadline. The report says who holds what, the
    /// calling thread's own open pools with it. If they are all that is left, it does not
    /// wait for the deadline, as nobody could close them meanwhile.
    ///
    /// # Panics
    /// With the first panic of a closure or destructor, at the end.
    pub fn shutdown(&self, deadline: Duration) -> Result<ShutdownReport, ShutdownReport> {
        let start = Instant::now();
        let mut panics = FirstPanic::default();
        let mut released = 0;
        panics.guard(|| released = self.drain_root());
        panics.guard(|| released += self.drain_whole_backlog());
        if let (_, Some(payload)) = self.try_quiesce(deadline) {
            panics.note(payload);
        }
        // What all this has autoreleased without a pool.
        panics.guard(|| released += self.drain_root());
        let me = current_key();
        for stats in self.others(me) {
            stats.ask();
        }
        let report = loop {
            let snapshot = self.snapshot();
            let orphans = snapshot.orphans;
            let holds =
                |t: &ThreadSnapshot| t.open_pools > 0 || t.root_entries > 0 || t.backlog > 0;
            let holders: Vec<_> = snapshot.threads.into_iter().filter(holds).collect();
            let done = holders.is_empty() && orphans == 0;
            // While it waits here, the calling thread closes nothing.
            let in_vain = orphans == 0 && holders.iter().all(|t| Some(t.key) == me);
            let elapsed = start.elapsed();
            if done || in_vain || elapsed >= deadline {
                let report = ShutdownReport {
                    released,
                    holders,
                    orphans,
                    elapsed,
                };
                break if done { Ok(report) } else { Err(report) };
            }
            self.namespace().changed.sleep(NAP);
        };
        if let Some(payload) = panics.into_first() {
            resume_or_report(payload);
        }
        report
    }
}

impl PoolManager {
    /// How many entries there were; what others have sent is none.
    fn drain_whole_backlog(&self) -> usize {
        let whole = local::with(|local| {
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

    /// The threads that use this manager, but for one.
    fn others(&self, me: Option<ThreadKey>) -> Vec<Arc<StackStats>> {
        let entries = self.namespace().threads.iter();
        entries
            .filter(|entry| Some(*entry.key()) != me)
            .map(|entry| entry.value().clone())
            .collect()
    }
}

/// Does once what `quiesce` is for.
fn run_deferred(panics: &mut FirstPanic) {
    // An object that was retired in one epoch may go two later.
    for _ in 0..3 {
        if ORPHANS.has_deferred() {
            epoch::advance();
        }
    }
    {
        let scope = Scope::enter();
        // A thread without a key has no mail, and is not to get the slot of one whose
        // closures it could then not run.
        if current_key().is_some() {
            local::with(|local| match local {
                Some(local) => mail::deliver(local, &scope, panics),
                None => mail::deliver_orphans(&scope, panics),
            });
        } else {
            mail::deliver_orphans(&scope, panics);
        }
    }
    ORPHANS.run_calls(|call| panics.guard(|| call.run()));
}
