//! Threads and pools as reports name them.

use crate::ledger::record::{self, Record};
use crate::thread::registry::REGISTRY;
use std::fmt;

/// Returns name and key of a thread; the key alone if the thread has ended.
pub(super) fn thread_label(number: u64) -> String {
    match record::key_of(number) {
        None => "without a key".to_owned(),
        Some(key) => match REGISTRY.get(key) {
            Some(record) => record.label(),
            None => format!("{key}, which has ended"),
        },
    }
}

/// A pool, or several of one name on one thread, that hold objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolHolder {
    pub(super) pool: &'static str,
    pub(super) thread: String,
    pub(super) entries: usize,
}

impl PoolHolder {
    /// Returns the name of the pool: that given by
    /// [`AutoreleasePool::named`](crate::AutoreleasePool::named), or `unnamed`, `root`, `token` or
    /// `handoff`.
    pub fn pool(&self) -> &str {
        self.pool
    }

    /// Returns name and key of the thread that autoreleased the objects into the pool. Pools stay on
    /// their thread, except for the entries of a handoff pool.
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
            n => write!(f, "pool {pool:?} of thread {thread} ({n} entries)"),
        }
    }
}

/// Entries for objects: the pool's name, the number of the thread's key, and how many.
pub(super) type Entries = (&'static str, u64, usize);

/// Returns the pools that hold an object.
pub(super) fn holders(record: &Record) -> impl Iterator<Item = Entries> {
    let named = record.holders.iter().filter_map(|holder| {
        let label = holder.label?;
        (holder.entries != 0).then(|| (label.name(), holder.thread, holder.entries as usize))
    });
    let more =
        (record.more != 0).then_some(("(further pools)", record.thread, record.more as usize));
    named.chain(more)
}

/// Names the thread of each.
pub(super) fn labelled(entries: Vec<Entries>) -> Vec<PoolHolder> {
    let label = |(pool, thread, entries)| PoolHolder {
        pool,
        thread: thread_label(thread),
        entries,
    };
    entries.into_iter().map(label).collect()
}
