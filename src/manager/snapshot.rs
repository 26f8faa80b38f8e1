//! What goes on: figures for people.

use super::PoolManager;
use crate::event::label;
use crate::object::thread_bound;
use crate::pool::manager_shared::PoolStackStats;
use crate::pool::thread_pools::{self, ThreadPools};
use crate::thread::key::ThreadKey;
use crate::thread::orphans::ORPHANS;
use crate::thread::record::{DEPARTED, Record, Tally, current_key, figures_stay};
use crate::thread::registry::REGISTRY;
use std::fmt;
use std::sync::Arc;

/// The state of a manager and of the threads, by [`PoolManager::snapshot`].
///
/// Figures of other threads are read while they go on, so they need not fit
/// together to the last digit: a pool that is closed meanwhile may count as open beside one that is
/// opened after it, and entries of a root pool that is drained meanwhile count twice as
/// autoreleased. What a thread has done counts once, either as its own or, when it has ended, with
/// that of the ended ones. [`fmt::Display`] gives a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Snapshot {
    /// The threads that live and have used the crate.
    pub threads: Vec<ThreadSnapshot>,
    /// What threads did that have ended.
    pub departed: Totals,
    /// Releases and closures whose thread has ended, and releases of what slots gave up; waiting or
    /// being run. Those that the caller is in the middle of are not counted.
    pub orphans: usize,
    /// Values of [`HomeRef`](crate::HomeRef)s that outlived their home, and are kept for
    /// ever: in the whole process, since it began. They count as living objects.
    pub kept: u64,
}

/// One thread in a [`Snapshot`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ThreadSnapshot {
    /// The thread's key.
    pub key: ThreadKey,
    /// The thread's name.
    pub name: Option<String>,
    /// Pools of this manager that are open, forgotten ones with them. While another thread opens
    /// and closes some, a snapshot may count too many of its pools, never too few.
    pub open_pools: usize,
    /// Entries that wait in this manager's root pool.
    pub root_entries: usize,
    /// Releases that drains of this manager's pools within a budget have left.
    pub backlog: usize,
    /// Releases and closures that other threads have sent to this one, for pools of whichever
    /// manager, and that have not run: in its inbox, or taken out of it. Those that the caller is
    /// in the middle of are not counted.
    pub inbox: usize,
    /// What the thread has done.
    pub totals: Totals,
}

/// What was done by a thread, since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Pools of this manager opened.
    pub pools_pushed: u64,
    /// Entries that pools of this manager took in, as far as they have been
    /// released or wait in the root pool.
    pub autoreleased: u64,
    /// Entries that drains of this manager's pools released.
    pub released: u64,
    /// Objects made, in whatever way.
    pub created: u64,
    /// Objects destroyed, in whatever way.
    pub destroyed: u64,
    /// References sent by [`ThreadHandle::release`](crate::ThreadHandle::release) and
    /// [`HandoffPool::drain_on`](crate::HandoffPool::drain_on), and last
    /// [`HomeRef`](crate::HomeRef)s that sent their object home.
    pub handed_over: u64,
}

impl Totals {
    /// Reads what concerns objects; `destroyed` has been read for all threads before: what others
    /// destroyed must not look as if it had never been made.
    fn read_objects(&mut self, tally: &Tally) {
        self.created = tally.created.get();
        self.handed_over = tally.handed_over.get();
    }
}

impl Snapshot {
    /// Counted objects that live in the process, whoever made them.
    pub fn live_objects(&self) -> u64 {
        let all = || {
            self.threads
                .iter()
                .map(|t| &t.totals)
                .chain([&self.departed])
        };
        let destroyed = all().fold(0u64, |sum, t| sum.wrapping_add(t.destroyed));
        let created = all().fold(0u64, |sum, t| sum.wrapping_add(t.created));
        created.saturating_sub(destroyed)
    }

    /// The thread of this key, if it is there.
    pub fn thread(&self, key: ThreadKey) -> Option<&ThreadSnapshot> {
        self.threads.iter().find(|thread| thread.key == key)
    }
}

impl PoolManager {
    /// What goes on, for people to look at: cheap enough for every frame.
    ///
    /// The calling thread's own figures are exact outside drains.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot_of(&REGISTRY.all())
    }

    pub(super) fn snapshot_of(&self, records: &[Arc<Record>]) -> Snapshot {
        let held = records.iter().map(|record| self.held_by(record));
        let (mut threads, stats): (Vec<_>, Vec<_>) = held.unzip();
        // Last: who sees that a thread holds nothing any more sees the orphans that it
        // left.
        let orphans = ORPHANS.outstanding();
        let ended = &self.namespace().departed;
        let mut departed;
        {
            // No operation that models see may be made while this is held.
            let _moving = figures_stay();
            for (thread, record) in threads.iter_mut().zip(records) {
                thread.totals.destroyed = record.tally.destroyed.get();
            }
            departed = Totals {
                pools_pushed: ended.opened.get(),
                released: ended.released.get(),
                autoreleased: ended.released.get(),
                destroyed: DEPARTED.destroyed.get(),
                ..Totals::default()
            };
            for ((thread, record), stats) in threads.iter_mut().zip(records).zip(&stats) {
                let totals = &mut thread.totals;
                match stats {
                    Some(stats) if !stats.has_departed() => totals.released = stats.released.get(),
                    _ => totals.pools_pushed = 0,
                }
                totals.autoreleased = totals.released + thread.root_entries as u64;
                totals.read_objects(&record.tally);
            }
            departed.read_objects(&DEPARTED);
        }
        Snapshot {
            threads,
            departed,
            orphans,
            kept: thread_bound::kept(),
        }
    }

    /// What a thread holds; its totals are still to be read.
    fn held_by(&self, record: &Record) -> (ThreadSnapshot, Option<Arc<PoolStackStats>>) {
        // First: what a message has autoreleased is seen in the root pool.
        let mut inbox = record.waiting();
        if current_key() == Some(record.key()) {
            // Not those that have called this function.
            let running = thread_pools::with(|local| local.map_or(0, ThreadPools::in_the_middle));
            inbox = inbox.saturating_sub(running);
        }
        let stats = self.namespace().threads.get(&record.key());
        let figure = |f: fn(&PoolStackStats) -> u64| stats.as_deref().map_or(0, f) as usize;
        // Before the root pool, which its drain feeds.
        let backlog = figure(PoolStackStats::backlog);
        let open_pools = figure(PoolStackStats::open);
        let held = ThreadSnapshot {
            key: record.key(),
            name: record.name().map(str::to_owned),
            open_pools,
            root_entries: figure(PoolStackStats::root_entries),
            backlog,
            inbox: inbox as usize,
            totals: Totals {
                pools_pushed: figure(PoolStackStats::opened) as u64,
                ..Totals::default()
            },
        };
        (held, stats)
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} live objects, {} orphans, {} kept",
            self.live_objects(),
            self.orphans,
            self.kept
        )?;
        let columns = [
            "open",
            "root",
            "backlog",
            "inbox",
            "pushed",
            "autoreleased",
            "released",
            "created",
        ];
        write!(f, "{:<24}", "thread")?;
        for column in columns.iter().chain(&["destroyed", "handed over"]) {
            write!(f, " {column:>12}")?;
        }
        for thread in &self.threads {
            write!(f, "\n{:<24}", thread.label())?;
            for figure in [
                thread.open_pools,
                thread.root_entries,
                thread.backlog,
                thread.inbox,
            ] {
                write!(f, " {figure:>12}")?;
            }
            write!(f, "{}", thread.totals)?;
        }
        write!(
            f,
            "\n{:<24} {:>12} {:>12} {:>12} {:>12}{}",
            "(ended)", "", "", "", "", self.departed
        )
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let made = [self.pools_pushed, self.autoreleased, self.released];
        let lives = [self.created, self.destroyed, self.handed_over];
        for figure in made.into_iter().chain(lives) {
            write!(f, " {figure:>12}")?;
        }
        Ok(())
    }
}

impl ThreadSnapshot {
    /// Name and key.
    pub(super) fn label(&self) -> String {
        label::of(self.name.as_deref(), self.key)
    }
}
