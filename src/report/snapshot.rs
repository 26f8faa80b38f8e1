//! Snapshots: figures of a manager and of all threads, for people.

use crate::event::words;
use crate::home::home_ref;
use crate::hot::hot_handle;
use crate::pool::drain::this_thread;
use crate::pool::entries::retired;
use crate::pool::manager::PoolManager;
use crate::pool::stack::manager_shared::PoolStackStats;
use crate::pool::stack::thread_pools::ThreadPools;
use crate::thread::current::current_key;
use crate::thread::key::ThreadKey;
use crate::thread::record::{DEPARTED, Record, Tally, with_figures_locked};
use crate::thread::registry::REGISTRY;
use std::fmt;
use std::sync::Arc;

/// The state of a manager and of all threads; made by [`PoolManager::snapshot`].
///
/// The figures of other threads are read while these threads run, so they may not be consistent
/// with each other: a pool that is closed meanwhile may count as open together with a pool that is
/// opened later, and entries of a root pool that is drained meanwhile may count twice as
/// autoreleased. Each thread counts once: by itself or, after it has ended, in `departed`.
/// [`fmt::Display`] writes a table.
///
/// # Example
/// ```
/// let manager = releasepool::PoolManager::new();
/// let pool = manager.pool();
/// pool.create(5);
/// let snapshot = manager.snapshot();
/// let here = manager.current_thread().unwrap().key();
/// assert_eq!(snapshot.thread(here).map(|thread| thread.open_pools), Some(1));
/// println!("{snapshot}"); // a table of all threads
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Snapshot {
    /// All live threads that have used the crate.
    pub threads: Vec<ThreadSnapshot>,
    /// Totals of all threads that have ended.
    pub departed: Totals,
    /// Number of orphans, waiting or running: releases and closures that were sent to threads that
    /// have ended, and references that slots have retired. Does not count those that the calling
    /// thread is running.
    pub orphans: usize,
    /// Number of values of [`HomeRef`](crate::HomeRef)s that have outlived their home thread and
    /// are never destroyed: in the whole process, since its start. They count as live objects.
    pub kept: u64,
    /// Number of [hot](crate::Hot) objects in the process: those that have an owner or a
    /// [`HotRef`](crate::HotRef), and those that no review has found dead yet.
    pub hot_objects: u64,
    /// Number of hot objects whose owner has been dropped.
    pub hot_let_go: u64,
}

/// One thread in a [`Snapshot`].
///
/// # Example
/// ```
/// use releasepool::{PoolManager, Ref};
///
/// let manager = PoolManager::new();
/// manager.autorelease(Ref::new(5));
/// for thread in manager.snapshot().threads {
///     println!("{:?}: {} pools, {} entries", thread.name, thread.open_pools, thread.root_entries);
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ThreadSnapshot {
    /// The thread's key.
    pub key: ThreadKey,
    /// The thread's name.
    pub name: Option<String>,
    /// Number of open pools of this manager, including forgotten ones. While another thread opens
    /// and closes pools, a snapshot may count too many of them, never too few.
    pub open_pools: usize,
    /// Number of entries in this manager's root pool.
    pub root_entries: usize,
    /// Number of releases that budgeted drains of this manager's pools have left.
    pub backlog: usize,
    /// Number of releases and closures that other threads have sent to this one and that have not
    /// run: in its inbox, or already taken out of it. The inbox serves all managers. Does not count
    /// those that the calling thread is running.
    pub inbox: usize,
    /// Totals of this thread.
    pub totals: Totals,
}

/// Figures of one thread since its start.
///
/// # Example
/// ```
/// let manager = releasepool::PoolManager::new();
/// (0..3).for_each(|n| _ = manager.pool().create(n));
/// let snapshot = manager.snapshot();
/// let here = snapshot.thread(manager.current_thread().unwrap().key()).unwrap();
/// assert_eq!((here.totals.pools_pushed, here.totals.released), (3, 3));
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Totals {
    /// Number of pools of this manager that were opened.
    pub pools_pushed: u64,
    /// Number of entries added to this manager's pools, without those that the backlog, or a pool
    /// other than the root pool, still holds.
    pub autoreleased: u64,
    /// Number of entries that drains of this manager's pools have released.
    pub released: u64,
    /// Number of objects created, in any way.
    pub created: u64,
    /// Number of objects destroyed, in any way. A drain adds the objects that it destroys in batches.
    pub destroyed: u64,
    /// Number of references sent by [`ThreadHandle::release`](crate::ThreadHandle::release) and
    /// [`HandoffPool::drain_on`](crate::HandoffPool::drain_on), of values sent to reclaimers, and
    /// of values that dropped [`HomeRef`](crate::HomeRef)s sent home.
    pub handed_over: u64,
}

impl Totals {
    /// Reads how many objects were created and how many handed over. The caller must have read
    /// `destroyed` of all threads before, so that no object counts as destroyed but not as created.
    fn read_objects(&mut self, tally: &Tally) {
        self.created = tally.created.get();
        self.handed_over = tally.handed_over.get();
    }
}

impl Snapshot {
    /// Returns the number of live counted objects in the process.
    pub fn live_objects(&self) -> u64 {
        let all = self.totals();
        all.created.saturating_sub(all.destroyed)
    }

    /// Returns the figures of all threads, live or ended.
    pub(crate) fn totals(&self) -> Totals {
        let threads = self.threads.iter().map(|thread| &thread.totals);
        threads.fold(self.departed, |sum, thread| Totals {
            pools_pushed: sum.pools_pushed + thread.pools_pushed,
            autoreleased: sum.autoreleased + thread.autoreleased,
            released: sum.released + thread.released,
            created: sum.created.wrapping_add(thread.created),
            destroyed: sum.destroyed.wrapping_add(thread.destroyed),
            handed_over: sum.handed_over + thread.handed_over,
        })
    }

    /// Returns the thread with this key, if the snapshot has it.
    pub fn thread(&self, key: ThreadKey) -> Option<&ThreadSnapshot> {
        self.threads.iter().find(|thread| thread.key == key)
    }
}

impl PoolManager {
    /// Returns the figures of this manager and of all threads; cheap enough for every frame.
    ///
    /// The calling thread's own figures are exact outside drains.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot_of(&REGISTRY.all())
    }

    pub(super) fn snapshot_of(&self, records: &[Arc<Record>]) -> Snapshot {
        let held = records.iter().map(|record| self.held_by(record));
        let (mut threads, stats): (Vec<_>, Vec<_>) = held.unzip();
        // Reads orphans after the threads: if a thread holds nothing because its messages have
        // become orphans, this number includes them.
        let orphans = retired::outstanding();
        let ended = &self.shared().departed;
        // In a model, nothing may yield while the figures are locked.
        let departed = with_figures_locked(|| {
            for (thread, record) in threads.iter_mut().zip(records) {
                thread.totals.destroyed = record.tally.destroyed.get();
            }
            let mut departed = Totals {
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
            departed
        });
        Snapshot {
            threads,
            departed,
            orphans,
            kept: home_ref::homeless_count(),
            hot_objects: hot_handle::hot(),
            hot_let_go: hot_handle::let_go(),
        }
    }

    /// Returns a snapshot of the entries and messages that a thread holds; the caller reads most of
    /// its totals later.
    fn held_by(&self, record: &Record) -> (ThreadSnapshot, Option<Arc<PoolStackStats>>) {
        // Reads the inbox before the root pool: an object that a message autoreleases meanwhile is
        // then seen in the root pool.
        let mut inbox = record.waiting();
        if current_key() == Some(record.key()) {
            // Leaves out the messages that are running on this thread, one of which has called this
            // function.
            let running = this_thread::with(|pools| pools.map_or(0, ThreadPools::running_messages));
            inbox = inbox.saturating_sub(running);
        }
        let stats = self.shared().threads.get(&record.key());
        let figure = |f: fn(&PoolStackStats) -> u64| stats.as_deref().map_or(0, f) as usize;
        // Reads the backlog before the root pool, into which destructors of the backlog may
        // autorelease.
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
            "{} live objects, {} orphans, {} kept, {} hot, {} of them let go",
            self.live_objects(),
            self.orphans,
            self.kept,
            self.hot_objects,
            self.hot_let_go
        )?;
        let columns = "open root backlog inbox pushed autoreleased released created destroyed";
        write!(f, "{:<24}", "thread")?;
        for column in columns.split(' ').chain(["handed over"]) {
            write!(f, " {column:>12}")?;
        }
        for thread in &self.threads {
            write!(f, "\n{:<24}", thread.label())?;
            for figure in thread.held() {
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
    /// Returns the numbers of what the thread holds: open pools, root entries, backlog, inbox.
    pub(super) fn held(&self) -> [usize; 4] {
        [self.open_pools, self.root_entries, self.backlog, self.inbox]
    }

    /// Returns the thread's name and key, as in events.
    pub(super) fn label(&self) -> String {
        words::label(self.name.as_deref(), self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_and_the_totals_are_those_of_all_threads() {
        let totals = |n| Totals {
            pools_pushed: n,
            autoreleased: 3 * n,
            released: 2 * n,
            created: 7 * n,
            destroyed: 5 * n,
            handed_over: 4 * n,
        };
        let thread = |n: u32| ThreadSnapshot {
            key: ThreadKey::new(n, 1),
            name: None,
            open_pools: 1,
            root_entries: 2,
            backlog: 3,
            inbox: 4,
            totals: totals(n.into()),
        };
        let snapshot = Snapshot {
            threads: vec![thread(2), thread(4)],
            departed: totals(1),
            orphans: 1,
            kept: 2,
            hot_objects: 3,
            hot_let_go: 4,
        };
        assert_eq!(snapshot.totals().to_string(), totals(7).to_string());
        let text = snapshot.to_string();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = [
            "14 live objects, 1 orphans, 2 kept, 3 hot, 4 of them let go",
            "thread open root backlog inbox pushed autoreleased released created destroyed handed over",
            "#2.1 1 2 3 4 2 6 4 14 10 8",
            "#4.1 1 2 3 4 4 12 8 28 20 16",
            "(ended) 1 3 2 7 5 4",
        ];
        assert_eq!(text.lines().map(words).collect::<Vec<_>>(), expected);
    }
}
