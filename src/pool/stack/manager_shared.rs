//! `ManagerShared`: a manager's identity, settings and statistics, shared by its pools.

use crate::memory::block::block_allocator::BlockAllocator;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Counter, Living, Map, Numbers, Setting, Sleeper, global, lazy};
use crate::thread::key::ThreadKey;
use crate::thread::record::with_figures_locked;
use std::sync::Arc;

/// The reaction to a root pool that has grown beyond its watermark.
///
/// Set by [`PoolManager::set_root_policy`](crate::PoolManager::set_root_policy).
///
/// # Example
/// ```
/// use releasepool::pool::RootPolicy;
/// use releasepool::{PoolManager, Ref};
///
/// let manager = PoolManager::new();
/// manager.set_root_policy(RootPolicy::Drain);
/// manager.autorelease(Ref::new(5));
/// assert_eq!(manager.drain_root_beyond_watermark(), 0); // 10,000 unless set
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RootPolicy {
    /// An event reports the pool, and reports it again at each doubling.
    Report,
    /// An event reports the pool, and the host's next call of
    /// [`PoolManager::drain_root_beyond_watermark`](crate::PoolManager::drain_root_beyond_watermark)
    /// drains it.
    Drain,
}

/// The settings with which a manager is made.
#[derive(Clone, Debug, Default)]
pub(crate) struct ManagerSettings {
    pub(crate) name: Option<String>,
    pub(crate) memory: Option<BlockAllocator>,
}

/// The number, at least 1, at which an event is due; setting 0 sets 1.
#[derive(Debug)]
pub(crate) struct Watermark(Setting);

impl Watermark {
    fn new(n: u64) -> Self {
        Self(Setting::new(n))
    }

    pub(crate) fn get(&self) -> usize {
        self.0.get() as usize
    }

    pub(crate) fn set(&self, n: usize) {
        self.0.set(n.max(1) as u64);
    }
}

/// Settings that may change at any time, read by all threads of the manager. A change publishes
/// nothing else: each thread uses the new value when it next reads it.
#[derive(Debug)]
pub(crate) struct Watermarks {
    /// The watermark of root pools, in entries.
    pub(crate) root: Watermark,
    /// The [`RootPolicy`], as a number.
    root_policy: Setting,
    /// The watermark of backlogs, in releases.
    pub(crate) backlog: Watermark,
    /// The watermark of guard and token pools, in entries.
    pub(crate) pool: Watermark,
}

impl Watermarks {
    fn new() -> Self {
        Self {
            root: Watermark::new(10_000),
            root_policy: Setting::new(RootPolicy::Report as u64),
            backlog: Watermark::new(100_000),
            pool: Watermark::new(100_000),
        }
    }

    pub(crate) fn root_policy(&self) -> RootPolicy {
        if self.root_policy.get() == RootPolicy::Report as u64 {
            RootPolicy::Report
        } else {
            RootPolicy::Drain
        }
    }

    pub(crate) fn set_root_policy(&self, policy: RootPolicy) {
        self.root_policy.set(policy as u64);
    }
}

/// State of a manager that its pools share.
#[derive(Debug)]
pub(crate) struct ManagerShared {
    /// A number that no other manager has.
    pub(crate) id: u64,
    /// The name for dumps, reports and events.
    pub(crate) name: Option<String>,
    /// The allocator for objects that pools make; `None` for the process-wide one.
    pub(crate) memory: Option<BlockAllocator>,
    pub(crate) watermarks: Watermarks,
    /// Number of handles; those of the global manager are never all dropped.
    handles: AtomicU64,
    /// The threads that use this manager.
    pub(crate) threads: Map<ThreadKey, Arc<PoolStackStats>>,
    /// Statistics of threads that have ended, or have freed their stack of this manager.
    pub(crate) departed: Departed,
    /// Woken when a thread has done what `shutdown` asked it for.
    pub(crate) changed: Sleeper,
}

/// Statistics of one thread's pools of one manager, written by that thread, except `asked`. From
/// the fields that are not counters, `shutdown` learns whether the thread still holds something.
#[derive(Debug, Default)]
pub(crate) struct PoolStackStats {
    /// Pools opened, not counting the root.
    opened: AtomicU64,
    /// Pools closed. A forgotten pool is never closed.
    closed: AtomicU64,
    /// Entries that have been released.
    pub(crate) released: Counter,
    /// Entries in the root pool.
    root: AtomicU64,
    /// Releases that budgeted drains have left.
    backlog: AtomicU64,
    /// How often entries may have moved between root pool, backlog and open pools; each move counts
    /// twice.
    moved: AtomicU64,
    /// Set to 1 by `shutdown`, to ask the thread to drain its root pool and its backlog; set to 0 by
    /// the thread.
    asked: AtomicU64,
    /// 1 once these figures have been added to [`Departed`].
    ended: Counter,
}

impl PoolStackStats {
    #[inline]
    pub(crate) fn count_opened(&self) {
        // Relaxed: a thread that sees that the pool was closed also sees that it was opened, by the
        // Release in `count_closed`.
        self.opened.store(self.opened() + 1, Ordering::Relaxed);
    }

    /// Returns the number of pools opened so far.
    #[inline]
    pub(crate) fn opened(&self) -> u64 {
        // Relaxed: the reader is the thread that writes the figure, or a report; or `open`, after
        // an Acquire.
        self.opened.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn count_closed(&self) {
        // Release: pairs with the Acquire in `open`. Model: shutdown_waits.
        self.closed.store(self.closed() + 1, Ordering::Release);
    }

    /// Returns the number of pools closed so far. For the thread itself.
    pub(crate) fn closed(&self) -> u64 {
        // Relaxed: the reader is the thread that writes the figure.
        self.closed.load(Ordering::Relaxed)
    }

    /// Returns the number of open pools. Everything done before the closed pools were closed
    /// happens-before the return.
    pub(crate) fn open(&self) -> u64 {
        // `closed` is read first: a thread that opens one pool and then closes another must not seem
        // to have no open pool.
        // Acquire: pairs with the Release in `count_closed`, so that `opened`, which is read next, is
        // not older than `closed`, and a caller that finds no open pool sees all that was done in the
        // closed ones. Model: snapshot_pools.
        let closed = self.closed.load(Ordering::Acquire);
        self.opened().saturating_sub(closed)
    }

    /// Records that the root pool has grown to `len` entries.
    pub(crate) fn root_has_grown(&self, len: usize) {
        // Relaxed: no thread waits for this figure to grow.
        self.root.store(len as u64, Ordering::Relaxed);
    }

    /// Records that the root pool has been drained, down to `len` entries.
    pub(crate) fn root_was_drained(&self, len: usize) {
        self.move_to(&self.root, len);
    }

    /// Sets `figure`, the length of the root pool or the backlog, as a drain may have moved entries
    /// into or out of it. Increments `moved` before and after: a thread that reads the new length
    /// of what was emptied, but the old length of what was filled, then sees `moved` change.
    fn move_to(&self, figure: &AtomicU64, len: usize) {
        // Relaxed: only this thread writes the count.
        let moved = self.moved.load(Ordering::Relaxed) + 1;
        // Release: pairs with the Acquire in `moved`, so that a thread that has seen this count sees
        // the earlier moves. Model: shutdown_pool_to_backlog.
        self.moved.store(moved, Ordering::Release);
        // Release: pairs with the fence of `hot::review::unreleased`, which follows in `shutdown`'s look at
        // all figures. Model: shutdown_root.
        figure.store(len as u64, Ordering::Release);
        // Release: pairs with the Acquire in `moved`, so that a thread that has seen this count
        // sees the new figure. Model: shutdown_sent_to_backlog.
        self.moved.store(moved + 1, Ordering::Release);
    }

    /// Returns how often entries may have moved: if two calls return the same count, all figures
    /// that were read between them belong together.
    pub(crate) fn moved(&self) -> u64 {
        // Acquire: pairs with the Release in `move_to`. Model: shutdown_pool_to_backlog.
        self.moved.load(Ordering::Acquire)
    }

    /// Returns the number of entries in the root pool. If the caller makes a fence afterwards, the
    /// pool's last drain happens before the fence.
    pub(crate) fn root_entries(&self) -> u64 {
        // Relaxed: the later fence pairs with the Release in `move_to`.
        self.root.load(Ordering::Relaxed)
    }

    /// Records that a budgeted drain has left `len` releases.
    pub(crate) fn backlog_is(&self, len: usize) {
        self.move_to(&self.backlog, len);
    }

    /// Returns how many releases budgeted drains have left. If the caller makes a fence afterwards,
    /// the last of these drains happens before the fence.
    pub(crate) fn backlog(&self) -> u64 {
        // Relaxed: the later fence pairs with the Release in `move_to`.
        self.backlog.load(Ordering::Relaxed)
    }

    /// Asks the thread to drain its root pool and its backlog.
    pub(crate) fn ask(&self) {
        // Relaxed: the figures that `shutdown` reads afterwards carry their own ordering. A swap, as
        // loom does not order two threads' stores to one atomic.
        self.asked.swap(1, Ordering::Relaxed);
    }

    /// Returns whether `shutdown` has asked the thread for anything.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) != 0
    }

    /// Clears the request, because the thread is about to serve it.
    pub(crate) fn answer(&self) {
        // Relaxed: the lock of `changed` publishes that the request has been served. A swap, as
        // loom does not order two threads' stores to one atomic.
        self.asked.swap(0, Ordering::Relaxed);
    }

    /// Clears the request; returns whether there was one. For a thread that the manager does not
    /// list any more.
    pub(crate) fn was_asked(&self) -> bool {
        // Relaxed: publishes nothing. `shutdown` walks a copy of the list, so it may ask after this
        // swap. Then nothing wakes `shutdown`; after a nap it finds only orphans of the thread.
        self.asked.swap(0, Ordering::Relaxed) != 0
    }

    /// Returns whether these figures have been added to [`Departed`]. Call it in
    /// [`with_figures_locked`].
    pub(crate) fn has_departed(&self) -> bool {
        self.ended.get() != 0
    }
}

/// Statistics of one manager's pools on threads that have ended or have freed their stack of it.
#[derive(Debug, Default)]
pub(crate) struct Departed {
    pub(crate) opened: Counter,
    pub(crate) released: Counter,
}

impl Departed {
    /// Adds the figures of a thread that ends or frees its stack. From then on the figures no
    /// longer count as the thread's.
    pub(crate) fn add(&self, thread: &PoolStackStats) {
        // Reads the figure before taking the lock: loom may switch threads at this load, and
        // nothing may yield under the lock.
        let opened = thread.opened();
        with_figures_locked(|| {
            self.opened.add_shared(opened);
            self.released.add_shared(thread.released.get());
            thread.ended.set(1);
        });
    }
}

lazy! {
    static GLOBAL: Arc<ManagerShared> = Arc::new(ManagerShared::new(ManagerSettings::default()));
}

global! {
    /// The managers of the process, without the global one. A manager that has no handle left is in
    /// the list as long as a thread has a stack of it.
    pub(crate) static MANAGERS: Living<ManagerShared> = Living::new();
}

impl ManagerShared {
    pub(crate) fn new(settings: ManagerSettings) -> Self {
        static NEXT: Numbers = Numbers::new();
        Self {
            id: NEXT.next(),
            watermarks: Watermarks::new(),
            name: settings.name,
            memory: settings.memory,
            handles: AtomicU64::new(0),
            threads: Map::new(),
            departed: Departed::default(),
            changed: Sleeper::default(),
        }
    }

    /// Makes a manager other than the global one.
    pub(crate) fn register(settings: ManagerSettings) -> Arc<Self> {
        let manager = Arc::new(Self::new(settings));
        MANAGERS.add(&manager);
        manager
    }

    /// Takes off the list a thread that ends or frees its stack; adds its figures to `departed`.
    pub(crate) fn forget(&self, key: ThreadKey, thread: &PoolStackStats) {
        self.departed.add(thread);
        self.threads.remove(&key);
        // If the thread was asked, a `shutdown` waits for its answer.
        if thread.was_asked() {
            self.changed.wake();
        }
    }

    /// Counts a handle, which keeps the calling thread's stack of the manager where it is.
    pub(crate) fn add_handle(&self) {
        // Relaxed: each thread frees only its own stacks, and any value that it can read counts the
        // handles that the thread itself has.
        self.handles.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn drop_handle(&self) {
        // Relaxed: for the reason given in `add_handle`.
        self.handles.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns whether no handle is left, so that threads may free their stacks of this manager.
    pub(crate) fn is_abandoned(&self) -> bool {
        // Relaxed: for the reason given in `add_handle`.
        self.handles.load(Ordering::Relaxed) == 0
    }

    /// Returns the shared state of the global manager, which the first use makes.
    pub(crate) fn global() -> Arc<ManagerShared> {
        GLOBAL.clone()
    }
}
