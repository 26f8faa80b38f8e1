//! `AutoreleasePool`: a pool that a guard owns.

use super::budget::{Budget, Drained, Meter};
use super::budgeted_drain;
use super::drain;
use super::dump::PoolDump;
use super::manager_shared::ManagerShared;
use super::pool_ref::PoolRef;
use super::pool_stack::{PoolKind, PoolStack, PoolState};
use super::this_thread;
use super::thread_pools::ThreadPools;
use crate::object::strong::Ref;
use crate::unwind::resume_or_report;
use std::borrow::Cow;
use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::sync::Arc;

/// A pool of references that are released together: when it is drained or
/// dropped, newest first.
///
/// A pool owns its entries. [`autorelease`](Self::autorelease) hands a reference to
/// *this* pool and lends the object back for as long as the pool is not drained.
/// Dropping a pool out of order drains its own entries and no others.
///
/// While it is open, and no other has been opened on this thread since, a pool is
/// also the *current* one, which the function [`autorelease`](crate::autorelease)
/// hands references to. Closing a pool makes current again what was current before
/// it was opened, even if pools inside it were forgotten.
///
/// # When not to use it
/// If you know where the last use of an object is, let the `Ref` go out of scope
/// there. Pools are for code that returns objects without knowing who will use
/// them for how long, and for releasing many at a convenient time.
///
/// # Threads
/// A pool stays on its thread; it is neither `Send` nor `Sync`. All it does
/// touches only memory of this thread, except the counts of shared objects. Pools
/// may be opened at any time, even while the thread's thread-locals are torn down.
///
/// # Cost
/// Opening and closing an empty pool: a few nanoseconds, no allocation. Closing one out of
/// order: amortized constant time, plus a step for each scope and drain above it. An entry:
/// one store; its release: one load if the pool has the only reference, else one
/// read-modify-write. 2 KiB for every 254 entries, from a cache of the thread's, which
/// keeps as many as were needed at once, up to 8 MiB, and gives back by and by what is not.
///
/// # Leaks
/// A forgotten pool (`mem::forget`) leaks its entries, and nothing ever drains it:
/// references that it lent may live for ever.
///
/// ```
/// use releasepool::AutoreleasePool;
/// let mut pool = AutoreleasePool::new();
/// for frame in 0..3 {
///     let name = pool.create(format!("frame {frame}"));
///     assert_eq!(name.len(), 7);
///     pool.drain();
/// }
/// ```
pub struct AutoreleasePool {
    head: NonNull<PoolState>,
}

impl AutoreleasePool {
    /// Opens a pool of the process's own manager.
    #[inline]
    #[must_use = "a pool that is not kept is closed at once"]
    pub fn new() -> Self {
        Self::open(|local| &local.first, ManagerShared::global)
    }

    /// Opens a pool with a name, which dumps and events give.
    #[must_use = "a pool that is not kept is closed at once"]
    pub fn named(name: impl Into<Cow<'static, str>>) -> Self {
        Self::new().with_name(name.into())
    }

    pub(crate) fn with_name(self, name: Cow<'static, str>) -> Self {
        self.head().set_name(Some(name));
        self
    }

    #[inline]
    pub(crate) fn open(
        stack: impl FnOnce(&ThreadPools) -> &PoolStack,
        namespace: impl FnOnce() -> Arc<ManagerShared>,
    ) -> Self {
        let head = this_thread::with(|local| match local {
            Some(local) => local.open(stack(local), PoolKind::Guard),
            None => ThreadPools::open_detached(namespace()),
        });
        Self { head }
    }

    #[inline]
    pub(super) fn head(&self) -> &PoolState {
        // SAFETY: a head stays as long as its pool is open.
        unsafe { self.head.as_ref() }
    }

    /// Keeps what slots hold from now on, until the next drain.
    #[inline]
    pub(crate) fn pin(&self) {
        self.head().pin();
    }

    #[inline]
    fn local(&self) -> &ThreadPools {
        // SAFETY: an open pool's stack is there.
        unsafe { &*self.head().stack.get() }.thread_pools()
    }

    /// Hands the reference to this pool, and lends the object back until the pool
    /// is drained: *autorelease*. An object that is handed over n times is released
    /// n times.
    ///
    /// A store; now and then a page from the thread's cache. Aborts when memory
    /// for a page is exhausted.
    #[inline]
    pub fn autorelease<T: ?Sized>(&self, r: Ref<T>) -> PoolRef<'_, T> {
        let payload = Ref::into_payload(r);
        self.head()
            .entries
            .push(payload.cast(), &self.local().pages);
        // SAFETY: the pool holds the reference until it is drained, for which it
        // must not be borrowed.
        unsafe { PoolRef::lend(payload) }
    }

    /// A new object that the pool owns: what `create()` gives in Cocos2d-x.
    ///
    /// Its memory is a block of the process's own [`BlockAllocator`](crate::BlockAllocator), or
    /// of its manager's, if that [has one](crate::PoolManagerBuilder::memory): some two and a
    /// half times as fast as [`Ref::new`](crate::Ref::new) and
    /// [`autorelease`](Self::autorelease), for objects that die with the pool. One that is
    /// retained keeps its block, and so a chunk of 64 KiB. Objects of more than 640 bytes,
    /// header included, or aligned to more than 16, come from the global allocator.
    ///
    /// Aborts when memory is exhausted, or the allocator's hard cap is reached
    /// (`handle_alloc_error`).
    ///
    /// ```
    /// use releasepool::{AutoreleasePool, PoolRef};
    /// let pool = AutoreleasePool::new();
    /// let name = pool.create(String::from("player 1"));
    /// let kept = PoolRef::retain(name);
    /// drop(pool);
    /// assert_eq!(*kept, "player 1");
    /// ```
    // Inlined, always: a value that is handed over goes through memory, which costs more than
    // all the rest.
    #[inline(always)]
    pub fn create<T>(&self, value: T) -> PoolRef<'_, T> {
        // SAFETY: an open pool's stack is there.
        let stack = unsafe { &*self.head().stack.get() };
        self.autorelease(Ref::new_from(value, stack.memory()))
    }

    /// A new object that the pool owns, if its making succeeds: the two phases of
    /// Cocos2d-x's `create()`, allocation and `init()`.
    ///
    /// # Errors
    /// That of `init`. Nothing is left behind then, nor if it panics.
    ///
    /// ```
    /// use releasepool::AutoreleasePool;
    /// let pool = AutoreleasePool::new();
    /// let port = pool.try_create(|| "8080".parse::<u16>())?;
    /// assert_eq!(*port, 8080);
    /// assert!(pool.try_create(|| "http".parse::<u16>()).is_err());
    /// assert_eq!(pool.len(), 1);
    /// # Ok::<(), std::num::ParseIntError>(())
    /// ```
    #[inline]
    pub fn try_create<T, E>(
        &self,
        init: impl FnOnce() -> Result<T, E>,
    ) -> Result<PoolRef<'_, T>, E> {
        Ok(self.create(init()?))
    }

    /// Releases all entries, newest first, and returns how many. The pool stays
    /// open. (The memory of objects that have no destructor is freed in any order.)
    ///
    /// What destructors autorelease meanwhile (the pool is current while it is
    /// drained) is released in the same drain, until the pool is empty; after 1,000
    /// generations of that an [event](crate::event) names the type. An *outermost*
    /// drain, that is one that no destructor called, also releases what other threads
    /// sent to this thread, by [`ThreadHandle::release`](crate::ThreadHandle::release),
    /// say. The pool need not be the outermost one for that.
    ///
    /// # Panics
    /// With the first panic of a destructor, after all entries are released. If the
    /// thread is unwinding already, the panic is reported as an event instead.
    pub fn drain(&mut self) -> usize {
        let head = self.head();
        head.set_budgeted(false);
        if drain::is_idle(head) {
            head.unpin();
            return 0;
        }
        drain::drain(head, None).resume()
    }

    /// Releases what the budget allows. The rest goes to the thread's *backlog* for this
    /// manager: the pool itself is empty afterwards, and open.
    ///
    /// For threads that must not stall, such as one that draws: a
    /// [`FrameLoop`](crate::FrameLoop) calls this at the end of each frame. What destructors
    /// release in their turn counts, too: it waits for its turn instead of being destroyed
    /// inside them. A single destructor cannot be divided: if its own work takes longer than
    /// the budget, so does the drain, and [`Drained::slowest`](crate::Drained) names its type.
    ///
    /// The backlog is worked at, oldest first, by later calls of this function, on whichever
    /// of the manager's pools on this thread, and by
    /// [`PoolManager::drain_backlog`](crate::PoolManager::drain_backlog). Ordinary drains leave
    /// it alone. A [`callback_scope`](crate::callback_scope) with no pool around it, loops,
    /// [`shutdown`](crate::PoolManager::shutdown) and the thread's end empty it when they are
    /// done. If it grows beyond the manager's
    /// [watermark](crate::PoolManagerBuilder::backlog_watermark), an [event](crate::event) says
    /// so.
    ///
    /// What other threads have sent here takes turns with the backlog, and so does what any thread
    /// may release; taking it in is part of the budget, too. Closing this pool right afterwards
    /// releases nothing that others have sent. An ordinary drain or close of another pool on this
    /// thread releases what is still in the inbox, unless a loop holds it back for the end of its
    /// frame or command, but not what this call took out of it.
    ///
    /// Inside a destructor, what destructors release is not part of the budget. On a thread
    /// whose thread-locals are torn down there is no later, and so no budget.
    ///
    /// Some 30 nanoseconds for each destructor more than [`drain`](Self::drain), for the clock.
    ///
    /// # Panics
    /// With the first panic of a destructor, when the budget is spent.
    ///
    /// ```
    /// use releasepool::{AutoreleasePool, Budget, PoolManager};
    /// let mut pool = AutoreleasePool::new();
    /// for n in 0..100 {
    ///     pool.create(vec![n]);
    /// }
    /// let drained = pool.drain_within(Budget::Count(60));
    /// assert_eq!((drained.released, drained.remaining), (60, 40));
    /// let drained = PoolManager::global().drain_backlog(Budget::All);
    /// assert_eq!((drained.released, drained.remaining), (40, 0));
    /// ```
    pub fn drain_within(&mut self, budget: Budget) -> Drained {
        let local = self.local();
        self.drain_by(Meter::new(local.allowed(budget)))
    }

    /// The same, where nobody looks at what took longest.
    pub(crate) fn drain_coarsely(&mut self, budget: Budget) -> Drained {
        self.drain_by(Meter::coarse(self.local().allowed(budget)))
    }

    fn drain_by(&mut self, meter: Meter) -> Drained {
        let (drained, panic) = budgeted_drain::drain_pool(self.head(), meter);
        if let Some(payload) = panic {
            resume_or_report(payload);
        }
        drained
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.head().entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.head().entries.is_empty()
    }

    /// The name given by [`named`](Self::named), or `"unnamed"`.
    pub fn name(&self) -> &str {
        self.head().name()
    }

    /// Whether the pool has an entry for this object. Linear in the entries.
    pub fn contains<T: ?Sized>(&self, r: &Ref<T>) -> bool {
        self.head().entries.contains(Ref::thin(r))
    }

    /// What is in the pool, to be displayed.
    ///
    /// ```
    /// let pool = releasepool::AutoreleasePool::named("loading");
    /// pool.create(1.5f32);
    /// let dump = pool.dump().to_string();
    /// assert!(dump.starts_with("pool \"loading\", thread "));
    /// assert!(dump.ends_with("f32 count 1"));
    /// ```
    pub fn dump(&self) -> PoolDump<'_> {
        PoolDump(self.head())
    }
}

// Whatever panics, pools are left in order.
impl UnwindSafe for AutoreleasePool {}
impl RefUnwindSafe for AutoreleasePool {}

impl Default for AutoreleasePool {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for AutoreleasePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AutoreleasePool")
            .field("name", &self.name())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// Drains the pool, as [`AutoreleasePool::drain`], and closes it.
impl Drop for AutoreleasePool {
    #[inline]
    fn drop(&mut self) {
        let head = self.head();
        // SAFETY: an open pool's stack is there.
        let stack = unsafe { &*head.stack.get() };
        if is_simple(head, stack, head.has_no_extras()) {
            stack.pop_frame(&head.frame);
            stack.stats.count_closed();
            stack.thread_pools().recycle(head);
        } else {
            close(self.head);
        }
    }
}

/// Whether taking it off is all.
#[inline(always)]
fn is_simple(head: &PoolState, stack: &PoolStack, plain: bool) -> bool {
    let local = stack.thread_pools();
    let simple = head.entries.is_untouched() && stack.is_topmost(&head.frame) && plain;
    simple && !local.has_duties(stack)
}

#[inline(never)]
fn close(pool: NonNull<PoolState>) {
    let outcome;
    let in_scope;
    {
        // SAFETY: a head stays as long as its pool is open.
        let head = unsafe { pool.as_ref() };
        // SAFETY: an open pool's stack is there.
        let stack = unsafe { &*head.stack.get() };
        outcome = drain::drain(head, None);
        in_scope = head.is_scope();
        if in_scope {
            head.end_in_scope();
            stack.close_above(&head.frame);
        } else {
            stack.close_frame(&head.frame);
        }
        head.entries.clear(&stack.thread_pools().pages);
        if !head.has_no_extras() {
            head.clear_extras();
        }
        stack.stats.count_closed();
    }
    if !in_scope {
        // SAFETY: its guard goes, and nothing of it is used from here on.
        unsafe { give_back(pool) };
    }
    outcome.resume();
}

/// Takes back the head of a closed pool, and with it, perhaps, a detached block.
///
/// # Safety
/// Nothing of the pool is used from here on, nor of its block on its account.
unsafe fn give_back(pool: NonNull<PoolState>) {
    let local;
    {
        // SAFETY: not given back yet.
        let head = unsafe { pool.as_ref() };
        // SAFETY: its stack is there.
        let stack = unsafe { &*head.stack.get() };
        stack.thread_pools().recycle(head);
        local = stack.thread_pools_ptr();
    }
    // SAFETY: nothing of the block is used from here on.
    unsafe { ThreadPools::guard_closed(local) };
}

/// Runs `f` with a new pool, which is drained when `f` is done: `@autoreleasepool`.
///
/// Afterwards the pool is current that was so before, whatever `f` did with the
/// guard.
///
/// Inside a destructor, what the pool releases may be destroyed only after the end of this, as
/// [`settle`](crate::settle) says. Jobs of a work-stealing runtime such as rayon, which may run
/// inside a destructor that waits, take a [`callback_scope`](crate::callback_scope) or a
/// [`settle_scope`](crate::settle_scope) instead, or around it.
///
/// # Panics
/// As `f`, and as [`AutoreleasePool::drain`].
///
/// ```
/// use releasepool::{PoolRef, autoreleasepool};
/// let kept = autoreleasepool(|pool| {
///     let sum = pool.create(1 + 1);
///     PoolRef::retain(sum)
/// });
/// assert_eq!(*kept, 2);
/// ```
pub fn autoreleasepool<R>(f: impl FnOnce(&mut AutoreleasePool) -> R) -> R {
    scoped(None, f)
}

/// [`autoreleasepool`] with a name.
pub(crate) fn named_scope<R>(name: &'static str, f: impl FnOnce(&mut AutoreleasePool) -> R) -> R {
    scoped(Some(name), f)
}

#[inline]
fn scoped<R>(name: Option<&'static str>, f: impl FnOnce(&mut AutoreleasePool) -> R) -> R {
    let mut pool = ManuallyDrop::new(AutoreleasePool::new());
    let own = pool.head;
    pool.head().enter_scope();
    if let Some(name) = name {
        pool.head().set_name(Some(name.into()));
    }
    let pool = &raw mut *pool;
    let _scope = ReleaseScope { own, pool };
    // SAFETY: a local of this function, which `_scope` does not touch until `f` is done.
    f(unsafe { &mut *pool })
}

/// A pool whose end makes current again what was so before it was opened.
struct ReleaseScope {
    /// Stays until the scope ends, even if its guard goes before.
    own: NonNull<PoolState>,
    /// `f` may have put another guard there. By a pointer, so that the compiler sees that
    /// nobody changes `own`, and keeps it in a register.
    pool: *mut AutoreleasePool,
}

impl Drop for ReleaseScope {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: by `scoped`. Nobody else drops it.
        let pool = unsafe { (*self.pool).head };
        // SAFETY: it stays until here.
        let head = unsafe { self.own.as_ref() };
        // SAFETY: its stack is there.
        let stack = unsafe { &*head.stack.get() };
        if pool == self.own && is_simple(head, stack, head.is_plain_scope()) {
            head.leave_scope();
            stack.pop_frame(&head.frame);
            stack.stats.count_closed();
            stack.thread_pools().recycle(head);
        } else {
            end_scope(pool, self.own);
        }
    }
}

/// Drops the guard that the scope has at its end, and ends the scope.
#[inline(never)]
fn end_scope(pool: NonNull<PoolState>, own: NonNull<PoolState>) {
    if pool == own {
        // SAFETY: its guard is here.
        unsafe { own.as_ref() }.leave_scope();
        close(own);
    } else {
        // Whether that panics or not.
        let _left = Left(own);
        drop(AutoreleasePool { head: pool });
    }
}

/// The pool of a scope that another one was put in the place of.
struct Left(NonNull<PoolState>);

impl Drop for Left {
    fn drop(&mut self) {
        let ended;
        {
            // SAFETY: the head of a scope's pool stays until here.
            let head = unsafe { self.0.as_ref() };
            // SAFETY: its stack is there.
            let stack = unsafe { &*head.stack.get() };
            ended = head.leave_scope();
            stack.close_frame(&head.frame);
            if ended {
                head.restore_frame();
            } else {
                // Its guard is elsewhere, and closes it later.
                head.frame.leave_chain();
            }
        }
        if ended {
            // SAFETY: its guard has gone.
            unsafe { give_back(self.0) };
        }
    }
}
