//! What a manager is to its pools: an identity, settings, and statistics.

use crate::sync::{Counter, Sleeper, lazy};
use crate::thread::key::ThreadKey;
use dashmap::DashMap;
use std::sync::Arc;

/// What happens when a root pool has grown beyond its watermark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RootPolicy {
    /// An event, and again at each doubling.
    Report,
    /// An event, and the root pool is drained at the next boundary that the
    /// host marks ([`PoolManager::boundary`](crate::PoolManager::boundary)).
    DrainAtBoundary,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Namespace {
    /// Never that of another manager.
    pub(crate) id: u64,
    pub(crate) name: Option<String>,
    /// Entries in a root pool that make it worth an event.
    pub(crate) watermark: usize,
    pub(crate) policy: RootPolicy,
    /// Set when the last handle of a manager is gone: stacks may be retired.
    pub(crate) abandoned: Counter,
    /// The threads that use this manager. No guard is held while user code runs.
    pub(crate) threads: DashMap<ThreadKey, Arc<StackStats>>,
    /// What threads that have ended did.
    pub(crate) departed: StackStats,
    /// Woken when a thread has done what `shutdown` asked for.
    pub(crate) changed: Sleeper,
}

/// What one thread does with the pools of one manager; written by that thread.
#[derive(Debug, Default)]
pub(crate) struct StackStats {
    /// Pools opened, the root not counted.
    pub(crate) opened: Counter,
    /// Pools closed; those that were forgotten never are.
    pub(crate) closed: Counter,
    /// Entries that have been released.
    pub(crate) released: Counter,
    /// Entries in the root pool.
    pub(crate) root: Counter,
    /// Set by `shutdown`: please drain your root pool. Cleared by the thread.
    pub(crate) asked: Counter,
}

impl StackStats {
    #[inline]
    pub(crate) fn count_closed(&self) {
        self.closed.publish(self.closed.get() + 1);
    }

    /// Pools that are open. What was done before the others were closed is seen.
    pub(crate) fn open(&self) -> u64 {
        // In this order: a thread that opens one pool and then closes another must
        // not seem to have none.
        let closed = self.closed.get_published();
        self.opened.get().saturating_sub(closed)
    }
}

/// The watermark unless another is chosen.
pub(crate) const WATERMARK: usize = 10_000;

lazy! {
    static GLOBAL: Arc<Namespace> = Arc::new(Namespace::new(None, WATERMARK, RootPolicy::Report));
}

impl Namespace {
    pub(crate) fn new(name: Option<String>, watermark: usize, policy: RootPolicy) -> Self {
        static NEXT: Counter = Counter::new();
        Self {
            id: NEXT.add_shared(1),
            name,
            watermark,
            policy,
            abandoned: Counter::new(),
            threads: DashMap::new(),
            departed: StackStats::default(),
            changed: Sleeper::default(),
        }
    }

    /// That of the process's own manager, made by the first use.
    pub(crate) fn global() -> Arc<Namespace> {
        GLOBAL.clone()
    }
}
