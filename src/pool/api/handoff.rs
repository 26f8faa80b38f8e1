//! `HandoffPool`: a pool that is drained on another thread.

use super::pool_ref::PoolRef;
use crate::ledger::{self, PoolLabel};
use crate::macros::debug_fields;
use crate::object::object_memory::BlockSource;
use crate::object::strong::Ref;
use crate::pool::drain::{engine, this_thread};
use crate::pool::entries::Entries;
use crate::pool::entries::page::PageChain;
use crate::sync::const_fn;
use crate::thread::current::tally_handed_over;
use crate::thread::orphans::ORPHANS;
use crate::thread::thread_handle::ThreadHandle;
use std::mem;
use std::panic::Location;

/// A pool of references for another thread to release; one message hands over all of them.
///
/// For a loader that must not spend its time on destructors, or a render thread that leaves a scene
/// to a [`Reclaimer`](crate::Reclaimer). The pool takes only objects that any thread may destroy,
/// and is never the current pool. The other thread can be any that opens and closes pools now and
/// then; that thread gets its handle from [`current_thread`](crate::PoolManager::current_thread).
///
/// # When not to use it
/// For single objects, use [`ThreadHandle::release`]; for a value with one owner,
/// [`drop_later`](crate::drop_later); for a value that only one thread may destroy, a
/// [`HomeRef`](crate::HomeRef), whose last drop sends the value there ([`create`](Self::create)
/// puts a `HomeRef` into a pool); on one thread, an [`AutoreleasePool`](crate::AutoreleasePool).
///
/// # Threads
/// The pool itself stays on its thread; it is neither `Send` nor `Sync`.
///
/// # Cost
/// Adding an entry costs one store. [`drain_on`](Self::drain_on) costs one allocation and two
/// read-modify-writes for any number of entries, because it hands their pages over as they are.
///
/// ```
/// use releasepool::{HandoffPool, Reclaimer, Ref};
///
/// let reclaimer = Reclaimer::new("reclaimer")?;
/// let mut old = HandoffPool::new();
/// for node in 0..1_000 {
///     old.autorelease(Ref::new(format!("node {node}")));
/// }
/// assert_eq!(old.drain_on(reclaimer.thread()), 1_000);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Default)]
pub struct HandoffPool {
    entries: Entries,
}

impl HandoffPool {
    const_fn! {
        /// Makes an empty pool. Allocates nothing.
        #[must_use]
        pub fn new() -> Self {
            Self {
                entries: Entries::new(),
            }
        }
    }

    /// Moves the reference into this pool and lends the object back until the pool is drained.
    ///
    /// Aborts when memory for a page is exhausted.
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn autorelease<T: ?Sized + Send + Sync>(&self, r: Ref<T>) -> PoolRef<'_, T> {
        let payload = Ref::into_payload(r);
        let entry = payload.cast();
        ledger::autoreleased(entry, Location::caller(), || PoolLabel::HANDOFF);
        self.entries.set_label(PoolLabel::HANDOFF);
        self.entries.push_or_grow(entry, grow);
        // SAFETY: the pool holds the reference until it is drained, which takes `&mut self` and so
        // ends the borrow that the returned reference carries.
        unsafe { PoolRef::lend(payload) }
    }

    /// Creates an object that the pool owns. Its memory is a block of the process-wide
    /// [allocator](crate::memory::BlockAllocator::process); whichever thread destroys the object, the block
    /// returns to this thread.
    ///
    /// `value` may be a [`HomeRef`](crate::HomeRef). The thread that destroys the object then only
    /// drops the `HomeRef`; if that was the last one, its value goes on to the value's home, which
    /// [destroys](crate::HomeRef#where-it-is-destroyed) it. So a graph whose nodes refer to values
    /// of several threads can go to a reclaimer as it is.
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn create<T: Send + Sync>(&self, value: T) -> PoolRef<'_, T> {
        self.autorelease(Ref::new_from(value, BlockSource::Process))
    }

    /// Makes the thread `to` release all entries, newest first, in its next outermost drain, and
    /// returns their number. This pool is empty afterwards and can be used again.
    ///
    /// If `to` has ended, the next outermost drain of any thread releases the entries. If `to` is a
    /// [reclaimer](crate::Reclaimer#bounds-and-deadlocks) that has no room, the calling thread
    /// releases them at once.
    ///
    /// Lock-free, unless `to` sleeps in a loop and must be woken. If the entries arrive while `to`
    /// drains [within a budget](crate::AutoreleasePool::drain_within), that drain and later ones
    /// release them within their budgets.
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
        // SAFETY: all objects are Send and Sync.
        let message = unsafe { PageChain::message(entries, n as u64, to.key()) };
        if let Err(back) = to.0.send_admitted(message) {
            ORPHANS.adopt(back);
        }
        n
    }

    /// Releases all entries on this thread, newest first, and returns their number. An outermost drain
    /// also makes the other releases that are due on this thread, as [`AutoreleasePool::drain`] does.
    ///
    /// [`AutoreleasePool::drain`]: crate::AutoreleasePool::drain
    ///
    /// # Panics
    /// Resumes the first panic of a destructor, after all entries are released. If the thread is
    /// already unwinding, the panic is reported as an event instead.
    pub fn drain(&mut self) -> usize {
        release_here(mem::take(&mut self.entries))
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the pool has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Drains the pool on this thread.
///
/// # Panics
/// As [`HandoffPool::drain`] does.
impl Drop for HandoffPool {
    #[inline]
    fn drop(&mut self) {
        if !self.entries.is_untouched() {
            release_here(mem::take(&mut self.entries));
        }
    }
}

/// Adds a page from the calling thread's cache or, once the thread has exited, a new one.
#[cold]
#[inline(never)]
fn grow(entries: &Entries) {
    this_thread::with(|pools| entries.grow(pools.map(|pools| &pools.pages)));
}

#[inline(never)]
fn release_here(entries: Entries) -> usize {
    this_thread::with(|thread| engine::release_all(&entries, thread))
}

debug_fields! { HandoffPool: |this| len = this.len(), .. }
