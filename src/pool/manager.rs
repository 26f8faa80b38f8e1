//! `PoolManager` and its settings, and the functions that use the calling thread's pools.
//!
//! `InboxHook` wakes a foreign event loop when something is sent to its thread.
//!
//! ```text
//!  PoolManager (clones) ──> ManagerHandle ─┐ the drop of the last handle abandons the manager
//!                                          ▼
//!                          ┌─────────────────────────────────┐
//!                          │ ManagerShared                   │
//!                          │  id, name, allocator            │ constant
//!                          │  watermarks                     │ read anew at each use
//!                          │  threads: key -> PoolStackStats │ one per thread that uses the manager
//!                          │  departed                       │ sums of threads that have ended
//!                          │  changed                        │ wakes `shutdown`
//!                          └─────────────────────────────────┘
//!                             ▲            ▲           ▲ counted references
//!                        PoolStack    PoolStack    PoolStack
//!                        (thread 1)   (thread 2)   (thread 3): root pool, open pools, backlog
//! ```
//!
//! 1. Only its own thread touches a `PoolStack`; other threads read its `PoolStackStats`.
//! 2. A thread is in `threads` from its first use of the manager until it exits or frees its stack
//!    of the manager; then its figures move to `departed`.
//! 3. Once a manager is abandoned, each thread frees its stack of that manager when the thread next
//!    uses a manager that is new to it, or exits. A stack with an open pool stays.

use crate::macros::{debug_fields, setters};
use crate::memory::block::block_allocator::BlockAllocator;
use crate::object::destroy::in_destructor;
use crate::object::strong::Ref;
use crate::pool::api::guard::AutoreleasePool;
use crate::pool::api::implicit::autorelease_to;
use crate::pool::api::token::{self, PoolToken, PopError};
use crate::pool::drain::this_thread::{self, find_or_add, rearm};
use crate::pool::drain::{drain_span, engine, watch};
use crate::pool::stack::budget::{Budget, Drained, Limit, Meter};
use crate::pool::stack::manager_shared::{MANAGERS, ManagerSettings, ManagerShared, RootPolicy};
use crate::sync::lazy;
use crate::sync::thread::ThreadId;
use crate::thread::current::{self, current};
use crate::thread::inbox::Message;
use crate::thread::key::ThreadKey;
use crate::thread::record::Record;
use crate::thread::registry::REGISTRY;
use crate::thread::thread_handle::ThreadHandle;
use crate::thread::waker::HookPlace;
use crate::unwind::FirstPanic;
use std::borrow::Cow;
use std::marker::PhantomData;
use std::panic::{Location, RefUnwindSafe};
use std::sync::Arc;

/// The pools of all threads, one stack of pools for each thread: what Cocos2d-x's
/// `PoolManager::getInstance()` is for one thread.
///
/// The process has one [global](Self::global) manager, which [`AutoreleasePool::new`],
/// [`autoreleasepool`](crate::autoreleasepool()) and [`autorelease`](crate::autorelease) use; most
/// programs need no other. No entry moves from one manager to another, or from one thread to
/// another. Threads are registered when they first use the crate, for all managers, under a
/// [`ThreadKey`] that is never reused, and removed when they end.
///
/// # When not to use it
/// In Rust code that opens and closes its own pools, use [`AutoreleasePool`] or
/// [`autoreleasepool`](crate::autoreleasepool()). Tokens and root pools are for foreign code, and
/// for hosts that run it. A manager of your own is for a library that must not mix its pools with
/// those of its host.
///
/// # Handles
/// Clones are handles to the same manager. After the last handle is dropped, open pools stay valid;
/// each thread releases the entries of its root pool of this manager when the thread next uses a
/// manager that is new to it, or ends.
///
/// ```
/// use releasepool::{PoolManager, Ref};
/// let manager = PoolManager::new();
/// let token = manager.push();
/// manager.autorelease(Ref::new("temporary"));
/// assert_eq!(manager.pop(token).ok(), Some(1));
/// ```
#[derive(Clone)]
pub struct PoolManager {
    handle: Arc<ManagerHandle>,
}

/// A handle of a `PoolManager` and its clones. Dropping a manager's last handle abandons it.
struct ManagerHandle {
    shared: Arc<ManagerShared>,
}

impl Drop for ManagerHandle {
    fn drop(&mut self) {
        self.shared.drop_handle();
    }
}

lazy! {
    static GLOBAL: PoolManager = PoolManager::of(ManagerShared::global());
}

impl PoolManager {
    /// Returns the global manager. The first call, on any thread, makes it.
    pub fn global() -> &'static Self {
        &GLOBAL
    }

    /// Makes a manager with the default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Returns a builder for a manager with other settings.
    pub fn builder() -> PoolManagerBuilder {
        PoolManagerBuilder(ManagerSettings::default())
    }

    fn of(shared: Arc<ManagerShared>) -> Self {
        shared.add_handle();
        Self {
            handle: Arc::new(ManagerHandle { shared }),
        }
    }

    /// Returns all managers of the process, the global one last.
    pub(crate) fn all() -> Vec<Self> {
        let others = MANAGERS.all().into_iter().map(Self::of);
        others.chain([Self::global().clone()]).collect()
    }

    pub(crate) fn shared(&self) -> &Arc<ManagerShared> {
        &self.handle.shared
    }

    pub(crate) fn is_global(&self) -> bool {
        Arc::ptr_eq(&self.handle, &Self::global().handle)
    }

    /// Returns the manager's name for metrics and reports.
    pub(crate) fn label(&self) -> &str {
        let unnamed = || match self.is_global() {
            true => "global",
            false => "unnamed",
        };
        self.name().unwrap_or_else(unnamed)
    }

    /// Returns the allocator of the manager's pools, if it is not the process-wide one.
    #[cfg(feature = "metrics")]
    pub(crate) fn memory(&self) -> Option<&crate::memory::block::block_allocator::BlockAllocator> {
        self.shared().memory.as_ref()
    }

    /// Returns the name given to the [builder](Self::builder).
    pub fn name(&self) -> Option<&str> {
        self.shared().name.as_deref()
    }

    /// Sets the watermark of root pools: the number of entries at which an
    /// [event](crate::event::EventKind::RootWatermark) is emitted, and again at each doubling.
    /// 10,000 unless set; 0 counts as 1.
    ///
    /// May be called at any time, by any thread. Every thread compares its root pool with the new
    /// value when it next autoreleases while no pool is open, or calls
    /// [`drain_root_beyond_watermark`](Self::drain_root_beyond_watermark). A thread that has
    /// already reported its root pool reports again only when the pool has doubled, or after the
    /// pool has been drained, even if the watermark is lower now.
    ///
    /// ```
    /// use releasepool::pool::RootPolicy;
    /// use releasepool::PoolManager;
    /// let manager = PoolManager::global();
    /// manager.set_root_watermark(1_000);
    /// manager.set_root_policy(RootPolicy::Drain);
    /// ```
    pub fn set_root_watermark(&self, entries: usize) {
        self.shared().watermarks.root.set(entries);
    }

    /// Sets what happens when a root pool grows beyond its watermark: see [`RootPolicy`].
    /// [`RootPolicy::Report`] unless set.
    ///
    /// May be called at any time, by any thread. Every thread applies the new policy when it next
    /// calls [`drain_root_beyond_watermark`](Self::drain_root_beyond_watermark).
    pub fn set_root_policy(&self, policy: RootPolicy) {
        self.shared().watermarks.set_root_policy(policy);
    }

    /// Sets the watermark of backlogs: the number of releases left by drains [within a
    /// budget](AutoreleasePool::drain_within) at which an
    /// [event](crate::event::EventKind::BacklogWatermark) is emitted if the backlog grows, and
    /// again at each doubling. 100,000 unless set; 0 counts as 1.
    ///
    /// May be called at any time, by any thread. Every thread compares its backlog with the new
    /// value at the end of its next budgeted drain. A thread that has already reported its backlog
    /// reports again only when the backlog has doubled, or after the backlog has been below half of
    /// the watermark, even if the watermark is lower now.
    pub fn set_backlog_watermark(&self, releases: usize) {
        self.shared().watermarks.backlog.set(releases);
    }

    /// Sets the watermark of guard and token pools: the number of entries at which an
    /// [event](crate::event::EventKind::PoolWatermark) is emitted, and again at each doubling.
    /// 100,000 unless set; 0 counts as 1.
    ///
    /// May be called at any time, by any thread. A pool is compared with the new value when it next
    /// takes a page, that is within 254 entries. A pool that is past the watermark by more than 254
    /// entries is reported only when its length passes the next doubling.
    pub fn set_pool_watermark(&self, entries: usize) {
        self.shared().watermarks.pool.set(entries);
    }

    /// Opens a pool on the calling thread. See [`AutoreleasePool`].
    #[must_use = "a pool that is not kept is closed at once"]
    pub fn pool(&self) -> AutoreleasePool {
        let shared = self.shared();
        AutoreleasePool::open(|pools| find_or_add(pools, shared))
    }

    /// Opens a pool with a name, which dumps and events include, on the calling thread.
    #[must_use = "a pool that is not kept is closed at once"]
    pub fn named_pool(&self, name: impl Into<Cow<'static, str>>) -> AutoreleasePool {
        self.pool().with_name(name.into())
    }

    /// Opens a pool on the calling thread and returns a token for it: for foreign code, which
    /// cannot hold a guard. In Rust use [`pool`](Self::pool).
    ///
    /// A pool that is not popped is drained, with an [event](crate::event::EventKind::TokenLeft),
    /// at the end of the scope in which it was pushed: a closure of
    /// [`autoreleasepool`](crate::autoreleasepool()), a frame, a command of a looper, a poll, a
    /// callback, a drain, or an outer token. The end of a guard's pool leaves it open. At the
    /// latest, the thread's end drains it; but pools that are pushed in the destructor of a static,
    /// in a thread's last destructors or, where there are no pthread keys, in any destructor of a
    /// thread-local must be popped.
    #[must_use = "the pool stays open until the token is popped"]
    #[track_caller]
    pub fn push(&self) -> PoolToken {
        token::push(self.shared(), Location::caller())
    }

    /// Opens a pool with a name, which dumps and events include, and returns a token for it.
    ///
    /// ```
    /// let manager = releasepool::PoolManager::global();
    /// let token = manager.push_named("loading");
    /// assert_eq!(manager.pop(token), Ok(0));
    /// ```
    #[must_use = "the pool stays open until the token is popped"]
    #[track_caller]
    pub fn push_named(&self, name: impl Into<Cow<'static, str>>) -> PoolToken {
        token::push_named(self.shared(), name.into(), Location::caller())
    }

    /// Drains and closes the pool of `token`, after all token pools that were opened inside it.
    /// Guard pools inside it stay open and keep their entries, but the pool becomes current that was
    /// current before the token was pushed. Returns the number of entries released.
    ///
    /// # Errors
    /// If the token is stale, or of another thread or manager, or if its pool or a token pool
    /// inside it is being drained further up the call stack: see [`PopError`]. Then does nothing.
    ///
    /// # Panics
    /// As [`AutoreleasePool::drain`] does; the pools are still closed.
    pub fn pop(&self, token: PoolToken) -> Result<usize, PopError> {
        token::pop(self.shared(), token)
    }

    /// Moves the reference into this manager's current pool on this thread, or into its root pool
    /// if none is open. See [`autorelease`](crate::autorelease()).
    #[inline]
    #[track_caller]
    pub fn autorelease<T: ?Sized>(&self, r: Ref<T>) {
        let shared = self.shared();
        autorelease_to(Ref::into_payload(r).cast(), Location::caller(), |pools| {
            find_or_add(pools, shared)
        });
    }

    /// Drains this thread's root pool in the way of [`AutoreleasePool::drain`], and returns the
    /// number of entries released.
    ///
    /// # Panics
    /// As [`AutoreleasePool::drain`] does.
    pub fn drain_root(&self) -> usize {
        this_thread::with(|pools| {
            let Some(pools) = pools else { return 0 };
            let root = &find_or_add(pools, self.shared()).root;
            drain_span::around(root, || engine::drain(root, Limit::NONE)).resume()
        })
    }

    /// Makes the releases of this thread's backlog, oldest first, as far as the budget allows. The
    /// backlog is what drains [within a budget](AutoreleasePool::drain_within) of this manager's
    /// pools have left.
    ///
    /// # Panics
    /// As [`AutoreleasePool::drain_within`] does.
    pub fn drain_backlog(&self, budget: Budget) -> Drained {
        // The new pool takes the objects that destructors autorelease during the drain.
        self.named_pool("backlog").drain_within(budget)
    }

    /// Drains this thread's root pool if the manager's policy is [`RootPolicy::Drain`] and the root
    /// pool has at least as many entries as its watermark. Returns the number of entries released.
    ///
    /// Releases nothing if the root pool has fewer entries, and leaves the backlog alone: so it
    /// does not clean up after a callback from a foreign host. For that, use
    /// [`callback_scope`](crate::callback_scope), which releases everything. This function is for a
    /// host whose code autoreleases without a pool now and then: call it where nothing on the stack
    /// uses the autoreleased objects, such as in the host's event loop.
    ///
    /// Does nothing inside a pool of this manager or inside a destructor. Costs a few loads if
    /// there is nothing to do.
    ///
    /// # Panics
    /// As [`AutoreleasePool::drain`] does.
    pub fn drain_root_beyond_watermark(&self) -> usize {
        let shared = self.shared();
        if shared.watermarks.root_policy() != RootPolicy::Drain || in_destructor() {
            return 0;
        }
        this_thread::with(|pools| {
            let Some(stack) = pools.and_then(|pools| pools.find(shared)) else {
                return 0;
            };
            if stack.root.entries.len() < shared.watermarks.root.get() || !stack.at_root() {
                return 0;
            }
            drain_span::around(&stack.root, || engine::drain(&stack.root, Limit::NONE)).resume()
        })
    }

    /// Runs the closures that were [posted](ThreadHandle::post) to this thread, in order, and
    /// returns their number. Closures that they post in turn wait for the next call. Also makes the
    /// releases that other threads have sent to this one.
    ///
    /// Inside a destructor or drain, does nothing and returns 0, so that closures never run in the
    /// middle of a release. The inbox belongs to the thread, and all managers share it.
    /// [`run_inbox_within`](Self::run_inbox_within) takes a budget.
    ///
    /// # Panics
    /// Resumes the first panic of a closure or destructor, after all have run.
    pub fn run_inbox(&self) -> usize {
        let mut meter = Meter::unlimited(Limit::SOME);
        serve_inbox(&mut meter, |panics| {
            this_thread::serve(Meter::unlimited(Limit::SOME), panics);
        });
        meter.released()
    }

    /// Does what [`run_inbox`](Self::run_inbox) and [`drain_backlog`](Self::drain_backlog) do,
    /// within a budget: for the event loop of a foreign host that must not stall.
    ///
    /// First makes releases within the budget. Then runs closures in order: at most as many as
    /// [`Budget::Count`] says, or until the time since the call began exceeds [`Budget::Time`], but
    /// at least one, even if the releases took all the time. So a closure may run before a release
    /// that was sent earlier, unlike in `run_inbox`. A closure counts as a release in the result.
    ///
    /// If [`remaining`](Drained::remaining) is not 0, call this again when the host has time. An
    /// [inbox hook](Self::set_inbox_hook) is called for messages left, but not for the backlog.
    ///
    /// Inside a destructor or drain, does nothing. `remaining` then counts the releases sent by
    /// other threads, and of the closures only those that an outer call has taken out of the inbox.
    ///
    /// # Panics
    /// Resumes the first panic of a closure or destructor, after the budget is spent.
    ///
    /// ```
    /// use releasepool::{Budget, PoolManager};
    /// let manager = PoolManager::global();
    /// let here = manager.current_thread().unwrap();
    /// (0..3).for_each(|n| here.post(move || println!("{n}")).unwrap());
    /// assert_eq!(manager.run_inbox_within(Budget::Count(2)).remaining, 1);
    /// assert_eq!(manager.run_inbox_within(Budget::All).released, 1);
    /// ```
    pub fn run_inbox_within(&self, budget: Budget) -> Drained {
        let mut meter = Meter::new(budget);
        let mut drained = Drained::default();
        let left = serve_inbox(&mut meter, |panics| {
            panics.guard(|| drained = self.drain_backlog(budget));
        });
        let ran = meter.report(left);
        Drained {
            released: drained.released + ran.released,
            remaining: drained.remaining + ran.remaining,
            elapsed: ran.elapsed,
            ..drained
        }
    }

    /// Returns a handle by which other threads can send to the calling thread. `None` while its
    /// thread-locals are torn down.
    ///
    /// The first call on a thread makes its pools, like the first [`AutoreleasePool`]: so the
    /// thread can be the [home](crate::HomeRef::new_on) of values once others have the handle.
    pub fn current_thread(&self) -> Option<ThreadHandle> {
        let record = current::current()?;
        this_thread::with(|_| ());
        Some(ThreadHandle(record))
    }

    /// Returns the thread with this key, if it is alive. Wait-free.
    pub fn thread(&self, key: ThreadKey) -> Option<ThreadHandle> {
        REGISTRY.get(key).map(ThreadHandle)
    }

    /// Returns the thread that the standard library identifies by `id`, if it is alive and has used
    /// this crate.
    pub fn thread_by_id(&self, id: ThreadId) -> Option<ThreadHandle> {
        current::by_id(id).map(ThreadHandle)
    }

    /// Returns all live threads that have used this crate, in no particular order. Threads that
    /// start or end during the call may be missing.
    pub fn threads(&self) -> Vec<ThreadHandle> {
        REGISTRY.all().into_iter().map(ThreadHandle).collect()
    }

    /// Returns whether one of this manager's pools on the calling thread, or the backlog, has an
    /// entry for this object. Linear in the number of entries.
    pub fn contains<T: ?Sized>(&self, r: &Ref<T>) -> bool {
        this_thread::with_any(|pools| {
            let Some(pools) = pools else { return false };
            let Some(stack) = pools.find(self.shared()) else {
                return false;
            };
            let thin = Ref::thin(r);
            stack.root.entries.contains(thin)
                || watch::is_left(stack, thin)
                || pools.pools(stack).any(|pool| pool.entries.contains(thin))
        })
    }

    /// Calls `hook` when another thread sends something to the calling thread, whose event loop is
    /// foreign: GLib's main context, winit, a `LocalSet` of tokio. The hook wakes that loop, which
    /// then calls [`run_inbox`](Self::run_inbox).
    ///
    /// So the thread can be a home for [`HomeRef`](crate::HomeRef)s and a target for
    /// [`ThreadHandle::post`](crate::ThreadHandle::post) and
    /// [`release`](crate::ThreadHandle::release), though it sleeps in a loop that knows nothing of
    /// them. The inbox belongs to the thread, and all managers share it.
    ///
    /// The hook is called for the first message after each `run_inbox`, and at once if something
    /// waits when the hook is set or when `run_inbox` ends; the [backlog](Self::drain_backlog) does
    /// not count. The hook may be called once too often, never too seldom, as long as each call
    /// leads to a later `run_inbox` on this thread, outside of destructors.
    ///
    /// # Threads
    /// The hook runs on the sending thread, perhaps on several at once, under no lock. It must only
    /// wake the loop: it must not wait for this thread, and should not drain pools, as it may run in
    /// the middle of the sender's drain. Its panic is reported as an [event](crate::event).
    ///
    /// # Several hooks on one thread
    /// The one that was set last is called: this one, or that of a
    /// [`FrameLoop`](crate::FrameLoop::set_wake_hook). When it is removed, the one before it is
    /// called again, in whatever order they are removed. A [`FrameLoop`](crate::FrameLoop) needs no
    /// inbox hook: its wake hook hears of all messages, too.
    ///
    /// # Panics
    /// While the thread's thread-locals are destroyed.
    ///
    /// ```
    /// use releasepool::{HomeRef, PoolManager};
    /// use std::{cell::RefCell, sync::mpsc, thread};
    ///
    /// // This thread's event loop, which knows nothing of releasepool, and can be woken.
    /// let (wake, events) = mpsc::channel();
    /// let manager = PoolManager::global();
    /// let _hook = manager.set_inbox_hook(move || _ = wake.send("look at the inbox"));
    ///
    /// let window = HomeRef::new(RefCell::new("window"));
    /// thread::spawn(move || drop(window)); // its last reference: comes home to be destroyed
    /// events.recv().unwrap();
    /// manager.run_inbox(); // destroys the window
    /// ```
    pub fn set_inbox_hook(&self, hook: impl Fn() + Send + Sync + 'static) -> InboxHook {
        let Some(record) = current() else {
            panic!("a hook cannot be set while its thread ends");
        };
        let mut place = HookPlace::default();
        place.set(&record.waker, Some(Arc::new(hook)));
        rearm(&record);
        InboxHook {
            record,
            place,
            _thread: PhantomData,
        }
    }
}

/// Calls `release`, which makes the releases that were sent to this thread; then, as far as `meter`
/// allows, runs the closures that were posted before this call. Returns how many collected closures
/// are left. Inside a destructor, only rearms, and adds the waiting remote releases to the result.
fn serve_inbox(meter: &mut Meter, release: impl FnOnce(&mut FirstPanic)) -> usize {
    this_thread::with(|pools| {
        let Some(pools) = pools else { return 0 };
        let rearm = || pools.record().into_iter().for_each(rearm);
        if in_destructor() {
            // This call does nothing, so the hook is called again for what waits.
            rearm();
            return pools.posted() + pools.remote_releases();
        }
        let mut panics = FirstPanic::default();
        // Collects the closures before `release` runs: an object that a sender released before it
        // posted a closure is then destroyed before that closure runs.
        pools.collect_posted();
        release(&mut panics);
        for _ in 0..pools.posted() {
            if meter.is_spent() {
                break;
            }
            let run = |call: Message| meter.run(|| panics.guard(|| call.run()));
            if pools.run_posted(run).is_none() {
                break;
            }
        }
        rearm();
        panics.resume();
        pools.posted()
    })
}

// A panic leaves no pool or manager in a broken state: drains catch the panics of destructors.
impl RefUnwindSafe for ManagerHandle {}

impl Default for PoolManager {
    fn default() -> Self {
        Self::new()
    }
}

debug_fields! {
    PoolManager: |this|
        name = this.name(), root_watermark = this.shared().watermarks.root.get(),
        root_policy = this.shared().watermarks.root_policy(),
        backlog_watermark = this.shared().watermarks.backlog.get(),
        pool_watermark = this.shared().watermarks.pool.get(), memory = this.shared().memory, ..
}

/// Settings of a [`PoolManager`]; from [`PoolManager::builder`].
///
/// ```
/// let manager = releasepool::PoolManager::builder().name("physics").build();
/// assert_eq!(manager.name(), Some("physics"));
/// ```
#[derive(Debug)]
#[must_use = "a builder makes nothing until `build`"]
pub struct PoolManagerBuilder(ManagerSettings);

impl PoolManagerBuilder {
    setters! {
        /// Sets a name, which dumps, reports and events include.
        pub name(name: impl Into<String>) => 0.name = Some(name.into());

        /// Sets the allocator for the objects that the manager's pools
        /// [create](crate::AutoreleasePool::create). The [process-wide
        /// allocator](BlockAllocator::process) unless set.
        ///
        /// ```
        /// use releasepool::memory::BlockAllocator;
        /// use releasepool::PoolManager;
        /// let blocks = BlockAllocator::new();
        /// let manager = PoolManager::builder().memory(blocks.clone()).build();
        /// let pool = manager.pool();
        /// pool.create("in a block");
        /// assert_eq!(blocks.stats().live_blocks, 1);
        /// ```
        pub memory(blocks: BlockAllocator) => 0.memory = Some(blocks);
    }

    /// Makes the manager.
    #[must_use]
    pub fn build(self) -> PoolManager {
        PoolManager::of(ManagerShared::register(self.0))
    }
}

/// A guard: as long as it lives, messages to its thread call a hook. Dropping it removes the hook.
///
/// See [`PoolManager::set_inbox_hook`].
///
/// # Example
/// ```
/// use releasepool::PoolManager;
/// use std::sync::mpsc;
///
/// let manager = PoolManager::global();
/// let (wake, woken) = mpsc::channel();
/// let hook = manager.set_inbox_hook(move || _ = wake.send(()));
/// let here = manager.current_thread().unwrap();
/// std::thread::spawn(move || here.post(|| println!("in the UI thread")).is_ok());
/// woken.recv()?; // the foreign loop wakes up
/// manager.run_inbox();
/// drop(hook);
/// # Ok::<_, mpsc::RecvError>(())
/// ```
#[must_use = "dropping it removes the hook"]
pub struct InboxHook {
    record: Arc<Record>,
    place: HookPlace,
    /// The guard stays on its thread.
    _thread: PhantomData<*mut ()>,
}

/// Removes the hook. It may still be running on other threads.
impl Drop for InboxHook {
    fn drop(&mut self) {
        self.place.set(&self.record.waker, None);
        rearm(&self.record);
    }
}

debug_fields! { InboxHook: |this| thread = this.record.label(), .. }
