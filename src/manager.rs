//! `PoolManager`: whose pools, on which threads.
//!
//! * [`builder`]: own managers and their settings
//! * [`snapshot`]: what goes on
//! * [`shutdown`]: getting everything released: `quiesce` and `shutdown`

pub(crate) mod builder;
pub(crate) mod shutdown;
pub(crate) mod snapshot;

use crate::object::destroy::{ReleaseScope, in_destructor};
use crate::object::strong::Ref;
use crate::pool::budget::{Budget, Drained};
use crate::pool::guard::AutoreleasePool;
use crate::pool::implicit::autorelease_to;
use crate::pool::manager_shared::{ManagerShared, RootPolicy};
use crate::pool::remote_release;
use crate::pool::thread_pools;
use crate::pool::token::{self, PoolToken, PopError};
use crate::pool::{backlog, drain};
use crate::sync::lazy;
use crate::sync::thread::ThreadId;
use crate::thread::current;
use crate::thread::handle::ThreadHandle;
use crate::thread::inbox::Message;
use crate::thread::key::ThreadKey;
use crate::thread::registry::REGISTRY;
use crate::unwind::{FirstPanic, resume_or_report};
use builder::PoolManagerBuilder;
use std::borrow::Cow;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

/// Gives every thread a stack of pools of its own: `PoolManager::getInstance()`,
/// made for threads.
///
/// There is one for the process, [`global`](Self::global), which
/// [`AutoreleasePool::new`], [`autoreleasepool`](crate::autoreleasepool()) and
/// [`autorelease`](crate::autorelease) use; most programs need no other. A library
/// that must not mix its pools with those of its host makes its own. No entry
/// crosses from one manager to another, or from one thread to another.
///
/// Threads need not be announced: each is entered when it first uses the crate,
/// under a [`ThreadKey`] that is never reused, and left when it ends. That, too, is
/// shared by all managers.
///
/// Clones are handles to the same manager. When the last handle is gone, pools
/// that are open stay valid, and what waits in root pools is released when the
/// thread next uses a manager for the first time, or ends.
///
/// ```
/// use releasepool::{PoolManager, Ref};
/// let manager = PoolManager::new();
/// let token = manager.push();
/// manager.autorelease(Ref::new("temporary"));
/// assert_eq!(manager.pop(token), Ok(1));
/// ```
#[derive(Clone)]
pub struct PoolManager {
    handle: Arc<Handle>,
}

struct Handle {
    namespace: Arc<ManagerShared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.namespace.abandon();
    }
}

lazy! {
    static GLOBAL: PoolManager = PoolManager::of(ManagerShared::global());
}

impl PoolManager {
    /// The process's own manager, made by the first use, of whichever thread.
    pub fn global() -> &'static Self {
        &GLOBAL
    }

    /// A manager of your own, with the default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A manager of your own, with settings.
    pub fn builder() -> PoolManagerBuilder {
        PoolManagerBuilder::default()
    }

    fn of(namespace: Arc<ManagerShared>) -> Self {
        Self {
            handle: Arc::new(Handle { namespace }),
        }
    }

    fn namespace(&self) -> &Arc<ManagerShared> {
        &self.handle.namespace
    }

    /// The name given to the [builder](Self::builder).
    pub fn name(&self) -> Option<&str> {
        self.namespace().name.as_deref()
    }

    /// Sets how many entries in a root pool are worth an
    /// [event](crate::event::EventKind::RootWatermark), and again at each doubling. 10,000
    /// unless set, also by the [builder](PoolManagerBuilder::root_watermark); 0 counts as 1.
    ///
    /// May be called at any time, by any thread. Every thread compares its root pool with the
    /// new value when it next autoreleases without a pool, or marks a
    /// [boundary](Self::boundary). A thread that has reported its root pool already reports
    /// again when that has doubled, or after it has been drained, even if the watermark is
    /// lower now.
    ///
    /// ```
    /// use releasepool::{PoolManager, RootPolicy};
    /// let manager = PoolManager::global();
    /// manager.set_root_watermark(1_000);
    /// manager.set_root_policy(RootPolicy::DrainAtBoundary);
    /// ```
    pub fn set_root_watermark(&self, entries: usize) {
        self.namespace().watermarks.set_root(entries);
    }

    /// Sets what happens beyond the watermark of a root pool: see [`RootPolicy`].
    /// [`RootPolicy::Report`] unless set, also by the [builder](PoolManagerBuilder::root_policy).
    ///
    /// May be called at any time, by any thread. Every thread obeys the new policy when it
    /// next marks a [boundary](Self::boundary).
    pub fn set_root_policy(&self, policy: RootPolicy) {
        self.namespace().watermarks.set_root_policy(policy);
    }

    /// Sets how many releases that drains [within a budget](AutoreleasePool::drain_within)
    /// leave are worth an [event](crate::event::EventKind::BacklogWatermark) if they grow, and
    /// again at each doubling. 100,000 unless set, also by the
    /// [builder](PoolManagerBuilder::backlog_watermark); 0 counts as 1.
    ///
    /// May be called at any time, by any thread. Every thread compares its backlog with the
    /// new value at the end of its next drain within a budget. A thread that has reported its
    /// backlog already reports again when that has doubled, or when it has been below half of
    /// the watermark, even if the watermark is lower now.
    pub fn set_backlog_watermark(&self, releases: usize) {
        self.namespace().watermarks.set_backlog(releases);
    }

    /// Opens a pool on the calling thread. See [`AutoreleasePool`].
    #[must_use = "a pool that is not kept is closed at once"]
    pub fn pool(&self) -> AutoreleasePool {
        let namespace = self.namespace();
        AutoreleasePool::open(|local| local.stack(namespace), || namespace.clone())
    }

    /// Opens a pool on the calling thread with a name, which dumps and events give.
    #[must_use = "a pool that is not kept is closed at once"]
    pub fn named_pool(&self, name: impl Into<Cow<'static, str>>) -> AutoreleasePool {
        self.pool().with_name(name.into())
    }

    /// Opens a pool on the calling thread that is named by a token: for foreign
    /// code, which cannot hold a guard. In Rust use [`pool`](Self::pool).
    ///
    /// A pool that is never popped is drained when the thread ends.
    #[must_use = "the pool stays open until the token is popped"]
    pub fn push(&self) -> PoolToken {
        token::push(self.namespace())
    }

    /// Drains and closes the pool of `token`, and first all token pools that were
    /// opened inside it. Guard pools inside it stay valid and untouched. Returns how
    /// many entries were released.
    ///
    /// # Errors
    /// If the token is stale, foreign, or its pool is being drained by a caller of
    /// this call: see [`PopError`]. Nothing has happened then.
    ///
    /// # Panics
    /// As [`AutoreleasePool::drain`]; the pools are closed all the same.
    pub fn pop(&self, token: PoolToken) -> Result<usize, PopError> {
        token::pop(self.namespace(), token)
    }

    /// Hands the reference to this manager's current pool on this thread, or to its
    /// root pool. See [`autorelease`](crate::autorelease()).
    pub fn autorelease<T: ?Sized>(&self, r: Ref<T>) {
        let namespace = self.namespace();
        autorelease_to(Ref::into_payload(r).cast(), |local| local.stack(namespace));
    }

    /// Drains this thread's root pool, as [`AutoreleasePool::drain`] does a pool,
    /// and returns how many entries were released.
    ///
    /// # Panics
    /// As [`AutoreleasePool::drain`].
    pub fn drain_root(&self) -> usize {
        thread_pools::with(|local| {
            let Some(local) = local else { return 0 };
            drain::drain(&local.stack(self.namespace()).root, None).resume()
        })
    }

    /// Works at this thread's backlog, that is at what drains
    /// [within a budget](AutoreleasePool::drain_within) of this manager's pools have left,
    /// oldest first; as far as the budget goes.
    ///
    /// # Panics
    /// As [`AutoreleasePool::drain_within`].
    pub fn drain_backlog(&self, budget: Budget) -> Drained {
        // Destructors feed this one.
        self.named_pool("backlog").drain_within(budget)
    }

    /// Marks an outermost boundary of this thread's work: the end of a callback
    /// that a foreign host made, say. If the manager's policy is
    /// [`RootPolicy::DrainAtBoundary`] and the root pool has passed its watermark,
    /// it is drained. Returns how many entries were released.
    ///
    /// Does nothing inside a pool or a destructor, which is no boundary. Costs
    /// a few loads if there is nothing to do.
    ///
    /// # Panics
    /// As [`AutoreleasePool::drain`].
    pub fn boundary(&self) -> usize {
        let namespace = self.namespace();
        if namespace.watermarks.root_policy() != RootPolicy::DrainAtBoundary || in_destructor() {
            return 0;
        }
        thread_pools::with(|local| {
            let Some(stack) = local.and_then(|local| local.find(namespace)) else {
                return 0;
            };
            if stack.root.entries.len() < namespace.watermarks.root() || !stack.at_root() {
                return 0;
            }
            drain::drain(&stack.root, None).resume()
        })
    }

    /// Runs the closures that were [posted](ThreadHandle::post) to this thread, in
    /// order, and returns how many; those that they post in their turn wait for
    /// the next call. Also releases what was sent to this thread.
    ///
    /// Inside a destructor or drain it does nothing and returns 0: closures never
    /// run in the middle of somebody's release. The inbox is the thread's, whichever
    /// manager is asked.
    ///
    /// # Panics
    /// With the first panic of a closure or destructor, after all have run.
    pub fn run_inbox(&self) -> usize {
        if in_destructor() {
            return 0;
        }
        thread_pools::with(|local| {
            let Some(local) = local else { return 0 };
            let mut panics = FirstPanic::default();
            // Before the releases, so that what a sender released before it posted is gone.
            local.collect_posted();
            {
                let scope = ReleaseScope::enter();
                remote_release::deliver_all(local, &scope, &mut panics);
            }
            let mut ran = 0;
            for _ in 0..local.posted() {
                let run = |call: Message| panics.guard(|| call.run());
                if local.run_posted(run).is_none() {
                    break;
                }
                ran += 1;
            }
            if let Some(payload) = panics.into_first() {
                resume_or_report(payload);
            }
            ran
        })
    }

    /// The calling thread, to be sent to by others. `None` while its
    /// thread-locals are torn down.
    pub fn current_thread(&self) -> Option<ThreadHandle> {
        current::current().map(ThreadHandle)
    }

    /// The thread of this key, if it lives. Wait-free.
    pub fn thread(&self, key: ThreadKey) -> Option<ThreadHandle> {
        REGISTRY.get(key).map(ThreadHandle)
    }

    /// The thread that the standard library knows by `id`, if it lives and has used
    /// this crate.
    pub fn thread_by_id(&self, id: ThreadId) -> Option<ThreadHandle> {
        current::by_id(id).map(ThreadHandle)
    }

    /// All threads that live and have used this crate, in no order that matters.
    /// Those that come or go meanwhile may be missing.
    pub fn threads(&self) -> Vec<ThreadHandle> {
        REGISTRY.all().into_iter().map(ThreadHandle).collect()
    }

    /// Whether one of the calling thread's pools, or its backlog, has an entry for this object.
    /// Linear in the entries.
    pub fn contains<T: ?Sized>(&self, r: &Ref<T>) -> bool {
        thread_pools::with(|local| {
            let Some(local) = local else { return false };
            let Some(stack) = local.find(self.namespace()) else {
                return false;
            };
            let thin = Ref::thin(r);
            stack.root.entries.contains(thin)
                || backlog::contains(stack, thin)
                || local.pools(stack).any(|pool| pool.entries.contains(thin))
        })
    }
}

// Whatever panics, pools and managers are left in order.
impl UnwindSafe for PoolManager {}
impl RefUnwindSafe for PoolManager {}

impl Default for PoolManager {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for PoolManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let watermarks = &self.namespace().watermarks;
        f.debug_struct("PoolManager")
            .field("name", &self.namespace().name)
            .field("root_watermark", &watermarks.root())
            .field("root_policy", &watermarks.root_policy())
            .field("backlog_watermark", &watermarks.backlog())
            .field("memory", &self.namespace().memory)
            .finish()
    }
}
