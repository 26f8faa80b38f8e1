//! `AutoreleasePool`: a guard that owns a pool.
//!
//! Facts that `SAFETY:` comments here, in `close` and in `scope` cite:
//!
//! 1. A pool's state stays at its address until its guard is dropped and, for the pool of a scope,
//!    until the scope has ended, too (rule 1 of [`pool_life`](crate::pool::stack::pool_life)): only
//!    [`close`](crate::pool::drain::close) and the fast paths here and in `scope` recycle it.
//! 2. While a pool is open, its `stack` points to the `PoolStack` that opened it, which lives as
//!    long as any pool of it is open.

use super::pool_ref::PoolRef;
use crate::ledger;
use crate::macros::debug_fields;
use crate::object::strong::Ref;
use crate::pool::drain::close::{can_just_pop, close};
use crate::pool::drain::{drain_span, duties, engine, this_thread};
use crate::pool::stack::budget::{Budget, Drained, Limit, Meter};
use crate::pool::stack::pool_life::PoolKind;
use crate::pool::stack::pool_stack::{PoolDump, PoolStack, PoolState};
use crate::pool::stack::thread_pools::ThreadPools;
use crate::unwind::resume_or_report;
use std::borrow::Cow;
use std::panic::Location;
use std::ptr::{self, NonNull};

/// A pool of references that are released together, newest first, when it is drained or dropped.
///
/// [`autorelease`](Self::autorelease) moves a reference into *this* pool, and
/// [`create`](Self::create) makes an object there; both lend the object until the pool is drained.
/// The innermost pool that is open on a thread is its *current* pool, into which the function
/// [`autorelease`](crate::autorelease) moves references. Pools may be dropped in any order, and
/// take each other's place, as by `pool = AutoreleasePool::new()`: a drop drains the pool's own
/// entries only. [Which pool is current](crate::guide#which-pool-is-current) has the rest.
///
/// # When not to use it
/// If you know where an object is last used, let the `Ref` go out of scope there. Pools are for
/// code that returns objects without knowing how long its callers need them, and for releasing many
/// objects at a convenient time. Never forget a pool (`mem::forget`): its entries leak, as
/// references that it has lent may live for ever, and it stays current until the scope around it
/// ends.
///
/// # Threads
/// Neither `Send` nor `Sync`. Pools may be opened at any time, even while the thread's
/// thread-locals are torn down.
///
/// # Cost
/// Opening and closing an empty pool takes a few nanoseconds and no allocation. An entry costs one
/// store; its release costs one load if the pool holds the only reference, else one
/// read-modify-write. Every 254 entries take 2 KiB, from the thread's cache of at most 8 MiB, which
/// gradually frees what stays unused.
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
    pub(super) state: NonNull<PoolState>,
}

impl AutoreleasePool {
    /// Opens a pool of the [global](crate::PoolManager::global) manager.
    #[inline]
    #[must_use = "a pool that is not kept is closed at once"]
    pub fn new() -> Self {
        Self::open(|pools| &pools.first)
    }

    /// Opens a pool with a name, which dumps and events include.
    #[must_use = "a pool that is not kept is closed at once"]
    pub fn named(name: impl Into<Cow<'static, str>>) -> Self {
        Self::new().with_name(name.into())
    }

    pub(crate) fn with_name(self, name: Cow<'static, str>) -> Self {
        self.state().set_name(Some(name));
        self
    }

    /// Opens a pool on the stack that `stack` selects.
    #[inline]
    pub(crate) fn open(stack: impl FnOnce(&ThreadPools) -> &PoolStack) -> Self {
        let state = this_thread::with(|pools| match pools {
            Some(pools) => pools.open(stack(pools), PoolKind::Guard),
            None => this_thread::late_or_new(|pools| {
                pools.count_open(1);
                pools.open(stack(pools), PoolKind::Guard)
            }),
        });
        Self { state }
    }

    #[inline]
    pub(crate) fn state(&self) -> &PoolState {
        // SAFETY: this guard has not been dropped (fact 1).
        unsafe { self.state.as_ref() }
    }

    /// Pins the pool: objects that slots hold from now on stay alive until the next drain.
    #[inline]
    pub(crate) fn pin(&self) {
        self.state().pin();
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.state().life.is_draining()
    }

    pub(crate) fn is_current(&self) -> bool {
        // SAFETY: the pool is open (fact 2).
        let stack = unsafe { &*self.state().stack.get() };
        ptr::eq(stack.current_pool(), self.state())
    }

    #[inline]
    pub(crate) fn thread_pools(&self) -> &ThreadPools {
        // SAFETY: the pool is open (fact 2).
        unsafe { &*self.state().stack.get() }.thread_pools()
    }

    /// Moves the reference into this pool and lends the object back until the pool is drained:
    /// *autorelease*. An object that is autoreleased n times is released n times.
    ///
    /// Costs one store, and for every 254th entry a page from the thread's cache. Aborts when
    /// memory for a page is exhausted.
    ///
    /// ```
    /// use releasepool::{AutoreleasePool, Ref};
    /// let mut pool = AutoreleasePool::new();
    /// let kept = Ref::new(String::from("kept"));
    /// let lent = pool.autorelease(kept.clone());
    /// assert_eq!((lent.len(), Ref::strong_count(&kept)), (4, 2));
    /// pool.drain(); // ends the borrow `lent`
    /// assert_eq!(Ref::strong_count(&kept), 1);
    /// ```
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn autorelease<T: ?Sized>(&self, r: Ref<T>) -> PoolRef<'_, T> {
        let payload = Ref::into_payload(r);
        let label = || self.state().entries.label();
        ledger::autoreleased(payload.cast(), Location::caller(), label);
        self.state().push(payload.cast());
        // SAFETY: the pool holds the reference until it is drained, which takes `&mut self` and so
        // ends the borrow that the returned reference carries.
        unsafe { PoolRef::lend(payload) }
    }

    /// Creates an object that the pool owns, as `create()` does in Cocos2d-x.
    ///
    /// The object's memory is a block of the process-wide
    /// [`BlockAllocator`](crate::memory::BlockAllocator::process), or of the own allocator of the
    /// pool's manager, if it [has one](crate::pool::PoolManagerBuilder::memory). This is some two
    /// and a half times as fast as [`Ref::new`](crate::Ref::new) and
    /// [`autorelease`](Self::autorelease), for objects that are destroyed with the pool. A retained
    /// object keeps its block, and so a chunk of 64 KiB. Objects of more than 64,768 bytes, header
    /// included, or aligned to more than 64, come from the global allocator, and count for the caps
    /// of the manager's own allocator.
    ///
    /// # Panics
    /// If the [hard cap](crate::memory::BlockAllocatorBuilder::hard_cap) of the manager's own allocator is
    /// reached; the value is then dropped, and the pool unchanged. For an error instead, use
    /// [`Ref::try_new_in`] and [`autorelease`](Self::autorelease). Aborts when memory is exhausted.
    ///
    /// ```
    /// use releasepool::{AutoreleasePool, PoolRef};
    /// let pool = AutoreleasePool::new();
    /// let name = pool.create(String::from("player 1"));
    /// let kept = PoolRef::retain(name);
    /// drop(pool);
    /// assert_eq!(*kept, "player 1");
    /// ```
    // Always inlined: a large argument is passed in memory, which costs more than everything else
    // here.
    #[inline(always)]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn create<T>(&self, value: T) -> PoolRef<'_, T> {
        // SAFETY: the pool is open (fact 2).
        let stack = unsafe { &*self.state().stack.get() };
        self.autorelease(Ref::new_from(value, stack.memory()))
    }

    /// Creates a text that the pool owns: a copy of `text`, in a block like other [created
    /// objects](Self::create).
    ///
    /// The object has 24 bytes before the text, so texts of up to 64,744 bytes fit into blocks.
    ///
    /// # Panics
    /// As [`create`](Self::create) does.
    ///
    /// ```
    /// use releasepool::{AutoreleasePool, PoolRef};
    /// let pool = AutoreleasePool::new();
    /// let words: Vec<PoolRef<'_, str>> =
    ///     "to be or not".split(' ').map(|word| pool.create_str(word)).collect();
    /// assert_eq!(&*words[2], "or");
    /// ```
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn create_str(&self, text: &str) -> PoolRef<'_, str> {
        // SAFETY: the pool is open (fact 2).
        let stack = unsafe { &*self.state().stack.get() };
        self.autorelease(Ref::str_from(text, stack.memory()))
    }

    /// Creates a slice that the pool owns: clones of the values, in a block like other [created
    /// objects](Self::create). The values come after 24 bytes, rounded up to the values' alignment.
    ///
    /// # Panics
    /// If cloning panics, and as [`create`](Self::create) does. The pool is then unchanged.
    ///
    /// ```
    /// use releasepool::AutoreleasePool;
    /// let pool = AutoreleasePool::new();
    /// let primes = pool.create_slice(&[2, 3, 5]);
    /// assert_eq!(primes.len(), 3);
    /// ```
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn create_slice<T: Clone>(&self, values: &[T]) -> PoolRef<'_, [T]> {
        // SAFETY: the pool is open (fact 2).
        let stack = unsafe { &*self.state().stack.get() };
        self.autorelease(Ref::slice_from(values, stack.memory()))
    }

    /// Creates an object that the pool owns, if `init` succeeds: the two phases of Cocos2d-x's
    /// `create()`, allocation and `init()`.
    ///
    /// # Errors
    /// The error of `init`. The pool is unchanged if `init` fails or panics.
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
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn try_create<T, E>(
        &self,
        init: impl FnOnce() -> Result<T, E>,
    ) -> Result<PoolRef<'_, T>, E> {
        Ok(self.create(init()?))
    }

    /// Releases all entries, newest first, and returns how many. The pool stays open. (The memory
    /// of objects that have no destructor is freed in any order.)
    ///
    /// The pool is current while it is drained. Objects that destructors autorelease into it
    /// meanwhile are released in the same drain, until the pool is empty; after 1,000 generations
    /// an [event](crate::event) names a type that feeds it. An *outermost* drain, which no
    /// destructor called, also makes the releases that other threads have sent to this thread, such
    /// as those of [`ThreadHandle::release`](crate::ThreadHandle::release), and releases
    /// [hot](crate::Hot#when-the-object-dies) objects to which this thread has dropped the last
    /// reference. It does so whether it drains the outermost pool or an inner one. The result
    /// counts neither kind of release. In a frame or a command of a loop, an outermost drain makes
    /// at most 16 releases of each kind, and leaves the rest to the loop's own drain; once the
    /// frame or command has held releases back for 100 ms, an outermost drain makes all.
    ///
    /// # Panics
    /// Resumes the first panic of a destructor, after all entries are released. If the thread is
    /// already unwinding, the panic is reported as an event instead.
    pub fn drain(&mut self) -> usize {
        let state = self.state();
        state.life.set_budgeted(false);
        if duties::is_idle(state) {
            state.unpin();
            return 0;
        }
        drain_span::around(state, || engine::drain(state, Limit::NONE)).resume()
    }

    /// Releases as many entries as the budget allows. The rest moves to the thread's *backlog* for
    /// the pool's manager: the pool itself is empty afterwards, and open.
    ///
    /// Meant for threads that must not stall, such as a thread that draws: a
    /// [`FrameLoop`](crate::FrameLoop) calls this at the end of each frame. Objects that
    /// destructors release are part of the budget: they wait for their turn instead of being
    /// destroyed inside those destructors. A single destructor cannot be divided: if it takes
    /// longer than the budget, the drain takes longer, too, and
    /// [`Drained::slowest`](crate::Drained) names its type.
    ///
    /// Later calls of this function on any of the manager's pools on this thread, and calls of
    /// [`PoolManager::drain_backlog`](crate::PoolManager::drain_backlog), work off the backlog, oldest
    /// first. Ordinary drains leave it alone. The end of a loop or of a
    /// [`callback_scope`](crate::callback_scope) with no pool around it, the thread's exit and
    /// [`shutdown`](crate::PoolManager::shutdown) empty it. With [`Budget::All`], a drain that
    /// destructors feed for 100,000 generations ends, too: an
    /// [event](crate::event::EventKind::EndlessDrain) reports that, and the rest stays in the
    /// backlog. An [event](crate::event) also reports a backlog that grows beyond the manager's
    /// [watermark](crate::PoolManager::set_backlog_watermark).
    ///
    /// Releases that other threads have sent to this thread, and releases that any thread may make,
    /// take turns with the backlog; taking them out of the inbox is part of the budget, too.
    /// Closing this pool right afterwards releases nothing that other threads have sent. An
    /// ordinary drain or close of another pool on this thread makes the releases that are still in
    /// the inbox, but not those that this call took out of it.
    ///
    /// If a destructor calls this function, objects that destructors release are not part of the
    /// budget. Once the thread-locals of the thread are torn down, the budget is ignored, because
    /// no later call would work off the rest.
    ///
    /// Takes some 30 nanoseconds more than [`drain`](Self::drain) for each destructor, to read the
    /// clock.
    ///
    /// # Panics
    /// Resumes the first panic of a destructor, at the end of the drain.
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
        let pools = self.thread_pools();
        self.drain_by(Meter::new(pools.allowed(budget)))
    }

    /// Drains within a budget, without measuring which destructor took longest.
    pub(crate) fn drain_coarsely(&mut self, budget: Budget) -> Drained {
        self.drain_by(Meter::coarse(self.thread_pools().allowed(budget)))
    }

    /// Drains like [`drain`](Self::drain), but leaves the rest in the backlog if destructors feed the
    /// drain for ever.
    pub(crate) fn drain_to_an_end(&mut self) {
        let state = self.state();
        if state.entries.is_empty() {
            return;
        }
        let outcome = drain_span::around(state, || engine::drain(state, Limit::SOME));
        if outcome.is_cut {
            self.drain_coarsely(Budget::Count(0));
        }
        outcome.resume();
    }

    fn drain_by(&mut self, meter: Meter) -> Drained {
        let state = self.state();
        let drain = || engine::drain_within(state, meter);
        let (drained, panic) = drain_span::around(state, drain);
        if let Some(payload) = panic {
            resume_or_report(payload);
        }
        drained
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.state().entries.len()
    }

    /// Returns whether the pool has no entries.
    pub fn is_empty(&self) -> bool {
        self.state().entries.is_empty()
    }

    /// Returns the name given by [`named`](Self::named), or `"unnamed"`.
    pub fn name(&self) -> &str {
        self.state().name()
    }

    /// Returns whether the pool has an entry for this object. Linear in the number of entries.
    pub fn contains<T: ?Sized>(&self, r: &Ref<T>) -> bool {
        self.state().entries.contains(Ref::thin(r))
    }

    /// Returns a displayable list of the pool's entries.
    ///
    /// ```
    /// let pool = releasepool::AutoreleasePool::named("loading");
    /// pool.create(1.5f32);
    /// let dump = pool.dump().to_string();
    /// assert!(dump.starts_with("pool \"loading\", thread "));
    /// assert!(dump.ends_with("f32 count 1"));
    /// ```
    pub fn dump(&self) -> PoolDump<'_> {
        PoolDump(self.state())
    }
}

impl Default for AutoreleasePool {
    fn default() -> Self {
        Self::new()
    }
}

debug_fields! { AutoreleasePool: |this| name = this.name(), len = this.len(), .. }

/// Drains the pool, as [`AutoreleasePool::drain`] does, and closes it.
impl Drop for AutoreleasePool {
    #[inline]
    fn drop(&mut self) {
        let state = self.state();
        // SAFETY: the pool is open (fact 2).
        let stack = unsafe { &*state.stack.get() };
        if can_just_pop(state, stack, state.life.is_plain_guard()) {
            stack.pop(state);
        } else {
            close(self.state);
        }
    }
}
