//! The names of threads and pools in reports.

use crate::event::numbers::Grouped;
use crate::ledger::describe::PoolEntries;
use crate::ledger::thread_names::thread_label;
use std::fmt;

/// A pool, or several of one name on one thread, that hold objects.
///
/// # Example
/// ```
/// use releasepool::{AutoreleasePool, leaks};
///
/// let scope = leaks::scope();
/// let pool = AutoreleasePool::named("frame");
/// pool.create(5);
/// let report = scope.report();
/// let holder = &report.groups()[0].pools()[0];
/// assert_eq!((holder.pool(), holder.entries()), ("frame", 1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolHolder {
    pub(super) pool: &'static str,
    pub(super) thread: String,
    pub(super) entries: usize,
}

impl PoolHolder {
    /// Returns the name of the pool: the name given by
    /// [`AutoreleasePool::named`](crate::AutoreleasePool::named), or `unnamed`, `root`, `token` or
    /// `handoff`.
    pub fn pool(&self) -> &str {
        self.pool
    }

    /// Returns name and key of the thread that autoreleased the objects into the pool. Pools stay
    /// on their thread, except for the entries of a handoff pool.
    pub fn thread(&self) -> &str {
        &self.thread
    }

    /// Returns the number of entries.
    pub fn entries(&self) -> usize {
        self.entries
    }
}

/// Writes the pool, the thread and the number of entries.
impl fmt::Display for PoolHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pool, thread) = (self.pool, &self.thread);
        match self.entries {
            1 => write!(f, "pool {pool:?} of thread {thread}"),
            n => {
                let n = Grouped(n);
                write!(f, "pool {pool:?} of thread {thread} ({n} entries)")
            }
        }
    }
}

/// Replaces thread numbers by labels.
pub(super) fn labelled(entries: Vec<PoolEntries>) -> Vec<PoolHolder> {
    let label = |(pool, thread, entries)| PoolHolder {
        pool,
        thread: thread_label(thread),
        entries,
    };
    entries.into_iter().map(label).collect()
}
