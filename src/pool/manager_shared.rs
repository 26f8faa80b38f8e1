//! What a manager is to its pools: an identity, settings, and statistics.

use crate::block::block_allocator::BlockAllocator;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Counter, Map, Numbers, Setting, Sleeper, lazy};
use crate::thread::key::ThreadKey;
use crate::thread::record::lock_figures;
use std::sync::Arc;

/// What happens when a root pool has grown beyond its watermark.
///
/// Set by [`PoolManagerBuilder::root_policy`](crate::PoolManagerBuilder::root_policy) and
/// [`PoolManager::set_root_policy`](crate::PoolManager::set_root_policy).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RootPolicy {
    /// An event, and again at each doubling.
    Report,
    /// An event, and the root pool is drained at the next boundary that the
    /// host marks ([`PoolManager::boundary`](crate::PoolManager::boundary)).
    DrainAtBoundary,
}

/// What can be set when a manager is made.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) name: Option<String>,
    pub(crate) root_watermark: usize,
    pub(crate) root_policy: RootPolicy,
    pub(crate) backlog_watermark: usize,
    pub(crate) memory: Option<BlockAllocator>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: None,
            root_watermark: 10_000,
            root_policy: RootPolicy::Report,
            backlog_watermark: 100_000,
            memory: None,
        }
    }
}

/// Settings that may change at any time, read by all threads of the manager. A change orders
/// nothing: each thread takes up the new value when it next looks.
#[derive(Debug)]
pub(crate) struct Watermarks {
    /// Entries in a root pool that make it worth an event.
    root: Setting,
    /// 1 for [`RootPolicy::DrainAtBoundary`].
    drains_root: Setting,
    /// Releases in a backlog that make it worth an event.
    backlog: Setting,
}

impl Watermarks {
    fn new(settings: &Settings) -> Self {
        let this = Self {
            root: Setting::new(0),
            drains_root: Setting::new(0),
            backlog: Setting::new(0),
        };
        this.set_root(settings.root_watermark);
        this.set_root_policy(settings.root_policy);
        this.set_backlog(settings.backlog_watermark);
        this
    }

    pub(crate) fn root(&self) -> usize {
        self.root.get() as usize
    }

    /// 0 counts as 1.
    pub(crate) fn set_root(&self, entries: usize) {
        self.root.set(entries.max(1) as u64);
    }

    pub(crate) fn root_policy(&self) -> RootPolicy {
        match self.drains_root.get() {
            0 => RootPolicy::Report,
            _ => RootPolicy::DrainAtBoundary,
        }
    }

    pub(crate) fn set_root_policy(&self, policy: RootPolicy) {
        let drains = policy == RootPolicy::DrainAtBoundary;
        self.drains_root.set(u64::from(drains));
    }

    pub(crate) fn backlog(&self) -> usize {
        self.backlog.get() as usize
    }

    /// 0 counts as 1.
    pub(crate) fn set_backlog(&self, releases: usize) {
        self.backlog.set(releases.max(1) as u64);
    }
}

/// State of a manager that its pools share.
#[derive(Debug)]
pub(crate) struct ManagerShared {
    /// Never that of another manager.
    pub(crate) id: u64,
    /// Name for dumps, reports and events.
    pub(crate) name: Option<String>,
    /// Where pools get the memory of the objects that they make, if not from the process's
    /// own allocator.
    pub(crate) memory: Option<BlockAllocator>,
    pub(crate) watermarks: Watermarks,
    /// 1 when the last handle of a manager is gone: stacks may be retired.
    abandoned: AtomicU64,
    /// The threads that use this manager.
    pub(crate) threads: Map<ThreadKey, Arc<PoolStackStats>>,
    /// What threads that have ended did.
    pub(crate) departed: Departed,
    /// Woken when a thread has done what `shutdown` asked for.
    pub(crate) changed: Sleeper,
}

/// What one thread does with the pools of one manager; written by that thread.
/// `shutdown` waits by what is atomic here.
#[derive(Debug)]
pub(crate) struct PoolStackStats {
    /// Pools opened, the root not counted.
    opened: AtomicU64,
    /// Pools closed; those that were forgotten never are.
    closed: AtomicU64,
    /// Entries that have been released.
    pub(crate) released: Counter,
    /// Entries in the root pool.
    root: AtomicU64,
    /// Releases that budgeted drains have left.
    backlog: AtomicU64,
    /// 1 by `shutdown`: please drain your root pool. Cleared by the thread.
    asked: AtomicU64,
    /// 1 once what the thread did has been added to what ended threads did.
    departed: Counter,
}

impl PoolStackStats {
    pub(crate) fn new() -> Self {
        Self {
            opened: AtomicU64::new(0),
            closed: AtomicU64::new(0),
            released: Counter::new(),
            root: AtomicU64::new(0),
            backlog: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            departed: Counter::new(),
        }
    }

    #[inline]
    pub(crate) fn count_opened(&self) {
        // Relaxed: whoever sees that a pool was closed later sees this, too, by the Release in
        // `count_closed`.
        self.opened.store(self.opened() + 1, Ordering::Relaxed);
    }

    /// Pools opened so far.
    #[inline]
    pub(crate) fn opened(&self) -> u64 {
        // Relaxed: the thread's own, or a figure for people; else as in `open`.
        self.opened.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn count_closed(&self) {
        // Release: pairs with the Acquire in `open`. Model: shutdown_waits.
        self.closed.store(self.closed() + 1, Ordering::Release);
    }

    /// For the thread itself.
    pub(crate) fn closed(&self) -> u64 {
        // Relaxed: the thread's own.
        self.closed.load(Ordering::Relaxed)
    }

    /// Pools that are open. What was done before the others were closed is seen.
    pub(crate) fn open(&self) -> u64 {
        // In this order: a thread that opens one pool and then closes another must
        // not seem to have none.
        // Acquire: pairs with the Release in `count_closed`, so that who finds none
        // open sees what was done in them. Model: shutdown_waits.
        let closed = self.closed.load(Ordering::Acquire);
        self.opened().saturating_sub(closed)
    }

    /// The root pool has more entries than before.
    pub(crate) fn root_has_grown(&self, len: usize) {
        // Relaxed: nobody waits for this.
        self.root.store(len as u64, Ordering::Relaxed);
    }

    /// The root pool has been drained, down to `len` entries.
    pub(crate) fn root_was_drained(&self, len: usize) {
        // Release: pairs with the Acquire in `root_entries`. Model: shutdown_root.
        self.root.store(len as u64, Ordering::Release);
    }

    /// Entries in the root pool. What was done in its last drain is seen.
    pub(crate) fn root_entries(&self) -> u64 {
        // Acquire: pairs with the Release in `root_was_drained`, so that who finds
        // no entry sees what their destructors did. Model: shutdown_root.
        self.root.load(Ordering::Acquire)
    }

    /// A budgeted drain has left `len` releases.
    pub(crate) fn backlog_is(&self, len: usize) {
        // Release: pairs with the Acquire in `backlog`. Model: shutdown_backlog.
        self.backlog.store(len as u64, Ordering::Release);
    }

    /// Releases that budgeted drains have left. What was done in the last of them is seen.
    pub(crate) fn backlog(&self) -> u64 {
        // Acquire: pairs with the Release in `backlog_is`, as for the root pool.
        // Model: shutdown_backlog.
        self.backlog.load(Ordering::Acquire)
    }

    /// Asks the thread to drain its root pool and its backlog.
    pub(crate) fn ask(&self) {
        // Relaxed: what the answer is worth, `root_entries` says. A swap, as loom does not
        // order two threads' stores to one atomic.
        self.asked.swap(1, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) != 0
    }

    /// The thread is about to do what it was asked for.
    pub(crate) fn answer(&self) {
        // Relaxed: as in `ask`; the answer is told by a lock.
        self.asked.swap(0, Ordering::Relaxed);
    }

    /// Returns whether it was asked for anything since it last answered; asks are answered by this.
    /// For a thread that ends, once the manager does not list it any more.
    pub(crate) fn was_asked(&self) -> bool {
        // Relaxed: whoever has found the thread listed asked before it was taken off the list,
        // which the lock of that orders. Model: shutdown_woken.
        self.asked.swap(0, Ordering::Relaxed) != 0
    }

    /// Returns whether what the thread did counts as that of ended threads. To be called while
    /// [figures stay](lock_figures).
    pub(crate) fn has_departed(&self) -> bool {
        self.departed.get() != 0
    }
}

/// What threads that have ended did with the pools of one manager.
#[derive(Debug, Default)]
pub(crate) struct Departed {
    pub(crate) opened: Counter,
    pub(crate) released: Counter,
}

impl Departed {
    /// Adds what a thread did that has ended, which does not count for the thread any more.
    pub(crate) fn add(&self, thread: &PoolStackStats) {
        let opened = thread.opened();
        let _moving = lock_figures();
        self.opened.add_shared(opened);
        self.released.add_shared(thread.released.get());
        thread.departed.set(1);
    }
}

lazy! {
    static GLOBAL: Arc<ManagerShared> = Arc::new(ManagerShared::new(Settings::default()));
}

impl ManagerShared {
    pub(crate) fn new(settings: Settings) -> Self {
        static NEXT: Numbers = Numbers::new();
        Self {
            id: NEXT.next(),
            watermarks: Watermarks::new(&settings),
            name: settings.name,
            memory: settings.memory,
            abandoned: AtomicU64::new(0),
            threads: Map::new(),
            departed: Departed::default(),
            changed: Sleeper::default(),
        }
    }

    /// The last handle is gone.
    pub(crate) fn abandon(&self) {
        // Relaxed: each thread gives up what is its own, whenever it sees this.
        self.abandoned.store(1, Ordering::Relaxed);
    }

    /// Returns whether no handle is left: threads may give up what they have for this manager.
    pub(crate) fn is_abandoned(&self) -> bool {
        // Relaxed: as in `abandon`.
        self.abandoned.load(Ordering::Relaxed) != 0
    }

    /// That of the process's own manager, made by the first use.
    pub(crate) fn global() -> Arc<ManagerShared> {
        GLOBAL.clone()
    }
}
