//! `HandoffPool`: a pool that is drained on another thread.

use super::drain;
use super::entries::Entries;
use super::page::PageCache;
use super::page_chain::PageChain;
use super::pool_ref::PoolRef;
use super::this_thread;
use crate::object::block_allocated::ObjectMemory;
use crate::object::strong::Ref;
use crate::sync::const_fn;
use crate::thread::current::tally_handed_over;
use crate::thread::handle::ThreadHandle;
use crate::thread::inbox::Node;
use crate::thread::orphans::ORPHANS;
use std::fmt;
use std::mem;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;

/// A pool whose entries another thread may release. All of them are handed over for the
/// cost of one message.
///
/// For objects that somebody else should destroy: a loader must not spend its time on
/// destructors, or a render thread wants the scene that it no longer shows destroyed by
/// a [reclaimer](crate::Looper::reclaimer). It takes only what any thread may
/// destroy, and is never the current pool: nothing gets in but by its own methods.
///
/// # When not to use it
/// For single objects, [`ThreadHandle::release`]. For what only one thread may destroy,
/// [`HomeRef`](crate::HomeRef). If no other thread is to do it, an
/// [`AutoreleasePool`](crate::AutoreleasePool), whose drains also see to what was sent to this
/// thread; those of a handoff pool do not.
///
/// # Threads
/// The pool itself stays on its thread; it is neither `Send` nor `Sync`.
///
/// # Cost
/// An entry: one store. [`drain_on`](Self::drain_on): one allocation and two
/// read-modify-writes, however many entries there are; their pages go with them.
///
/// ```
/// use releasepool::{HandoffPool, Looper, Ref};
///
/// let reclaimer = Looper::reclaimer("reclaimer")?;
/// let scene: Vec<_> = (0..1_000).map(|n| Ref::new(format!("node {n}"))).collect();
/// let first = Ref::downgrade(&scene[0]);
///
/// let mut old = HandoffPool::new();
/// for node in scene {
///     old.autorelease(node);
/// }
/// assert_eq!(old.drain_on(reclaimer.thread()), 1_000);
/// reclaimer.shutdown().unwrap(); // all is destroyed by now
/// assert!(first.upgrade().is_none());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// The other thread may be any that opens and closes pools now and then: its
/// [`ThreadHandle`] comes from
/// [`PoolManager::current_thread`](crate::PoolManager::current_thread) there.
#[derive(Default)]
pub struct HandoffPool {
    entries: Entries,
}

impl HandoffPool {
    const_fn! {
        /// An empty pool. Allocates nothing.
        #[must_use]
        pub fn new() -> Self {
            Self {
                entries: Entries::new(),
            }
        }
    }

    /// Hands the reference to this pool, and lends the object back until the pool is
    /// drained.
    ///
    /// Aborts when memory for a page is exhausted.
    #[inline]
    pub fn autorelease<T: ?Sized + Send + Sync>(&self, r: Ref<T>) -> PoolRef<'_, T> {
        let payload = Ref::into_payload(r);
        self.entries.push_or_grow(payload.cast(), grow);
        // SAFETY: the pool holds the reference until it is drained, for which it must
        // not be borrowed.
        unsafe { PoolRef::lend(payload) }
    }

    /// A new object that the pool owns. Its memory is a block of the process's own
    /// [allocator](crate::BlockAllocator), and goes back to this thread from wherever the
    /// object dies.
    #[inline]
    pub fn create<T: Send + Sync>(&self, value: T) -> PoolRef<'_, T> {
        self.autorelease(Ref::new_from(value, ObjectMemory::Process))
    }

    /// Has that thread release all entries, newest first, in its next outermost drain,
    /// and returns how many there are. The pool stays as it is, empty.
    ///
    /// If the thread has ended, the next outermost drain of any thread does it. If it is a
    /// [bounded reclaimer](crate::Looper::reclaimer_bounded) that has fallen too far behind,
    /// they are released here, at once.
    ///
    /// Lock-free, unless the thread sleeps in a loop and is to be woken. Entries that come in
    /// while that thread drains
    /// [within a budget](crate::AutoreleasePool::drain_within) are released by and by.
    pub fn drain_on(&mut self, to: &ThreadHandle) -> usize {
        let n = self.len();
        if n == 0 {
            return 0;
        }
        if !to.0.admit(n as u64) {
            return self.drain();
        }
        tally_handed_over(n as u64);
        let entries = mem::take(&mut self.entries);
        // SAFETY: all objects are Send and Sync; `run` takes the entries out.
        let message = unsafe { PageChain::message(entries, n as u64, to.key(), run) };
        if let Err(back) = to.0.send_admitted(message) {
            ORPHANS.adopt(back);
        }
        n
    }

    /// Releases all entries here, newest first, and returns how many.
    ///
    /// # Panics
    /// As [`AutoreleasePool::drain`](crate::AutoreleasePool::drain).
    pub fn drain(&mut self) -> usize {
        release_here(mem::take(&mut self.entries))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the pool has an entry for this object. Linear in the entries.
    pub fn contains<T: ?Sized>(&self, r: &Ref<T>) -> bool {
        self.entries.contains(Ref::thin(r))
    }
}

/// Drains the pool, here.
///
/// # Panics
/// As [`HandoffPool::drain`].
impl Drop for HandoffPool {
    #[inline]
    fn drop(&mut self) {
        if !self.entries.is_untouched() {
            release_here(mem::take(&mut self.entries));
        }
    }
}

/// Hands `f` the calling thread's spare pages, or none once it has exited.
fn with_pages<R>(f: impl FnOnce(&PageCache) -> R) -> R {
    this_thread::with(|local| match local {
        Some(local) => f(&local.pages),
        None => f(&PageCache::new()),
    })
}

#[cold]
#[inline(never)]
fn grow(entries: &Entries) {
    with_pages(|pages| entries.grow(pages));
}

#[inline(never)]
fn release_here(entries: Entries) -> usize {
    with_pages(|pages| drain::release_all(&entries, pages))
}

/// Releases the entries in a message.
///
/// # Safety
/// `node` is the head of an owned `PageChain`.
unsafe fn run(node: NonNull<Node>) {
    // SAFETY: by the caller's promise.
    release_here(unsafe { PageChain::take(node) });
}

// Whatever panics, pools are left in order.
impl UnwindSafe for HandoffPool {}
impl RefUnwindSafe for HandoffPool {}

impl fmt::Debug for HandoffPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandoffPool")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
