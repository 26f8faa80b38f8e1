//! `PoolState`, one pool, and `PoolStack`, the pools of one manager on one thread.
//!
//! A pool points to its stack. A stack owns its root pool, and points to the `ThreadPools`, which
//! owns the stacks. All of these stay at their addresses and belong to one thread.
//! [`chain`](super::chain) keeps the order of a stack's pools.
//! `PoolDump` shows a pool's entries.

use super::backlog::Backlog;
use super::manager_shared::{ManagerShared, PoolStackStats};
use super::pool_life::{ChainFrame, PoolKind, PoolLife};
use super::strays::Strays;
use super::thread_pools::ThreadPools;
use crate::epoch::PoolPin;
use crate::layout::Name;
use crate::ledger::PoolLabel;
use crate::memory::block::block_allocator::BlockAllocator;
use crate::object::header::{header, name_of};
use crate::object::object_memory::BlockSource;
use crate::pool::entries::Entries;
use crate::sync::cell::{Cell, UnsafeCell};
use crate::sync::{const_fn, described};
use crate::thread::current::current_label;
use crate::thread::key::ThreadKey;
use std::borrow::Cow;
use std::panic::{Location, RefUnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::{fmt, iter, mem};

/// One pool. Owner only. A pool stays at its address as long as its `ThreadPools` exists: guards
/// hold the address, tokens the index and generation.
// The fields are in this order so that the chain's frame has the pool's address, and those that
// opening and closing an empty pool need are together.
#[repr(C)]
pub(crate) struct PoolState {
    pub(crate) life: PoolLife,
    pub(crate) entries: Entries,
    /// The stack that the pool belongs to while it is open.
    pub(crate) stack: Cell<*const PoolStack>,
    /// The next pool in the list that the pool is in: the thread's free pools, or the stack's open
    /// token pools.
    pub(super) next_in_list: Cell<*const PoolState>,
    /// The call that pushed the pool, if it is a token pool and that call is known.
    pub(in crate::pool) pushed_at: Cell<Option<&'static Location<'static>>>,
    pub(crate) index: u32,
    /// Written only while the pool is being opened or closed.
    name: UnsafeCell<Name>,
    /// Holds the epoch from the pool's first load from a slot to its next drain.
    pin: PoolPin,
}

impl PoolState {
    const_fn! {
        pub(crate) fn new(index: u32, kind: PoolKind) -> Self {
            Self {
                life: PoolLife::new(kind),
                entries: Entries::new(),
                stack: Cell::new(ptr::null()),
                index,
                next_in_list: Cell::new(ptr::null()),
                pushed_at: Cell::new(None),
                name: UnsafeCell::new(Name::NONE),
                pin: PoolPin::new(),
            }
        }
    }

    /// Returns the pool's address for a chain frame.
    #[inline]
    pub(in crate::pool) fn as_life(&self) -> *const PoolLife {
        ptr::from_ref(self).cast()
    }

    #[inline]
    pub(crate) fn set_name(&self, name: Option<Cow<'static, str>>) {
        if name.is_some() {
            self.life.gain_extra();
        }
        let label = name.as_deref().map_or(PoolLabel::UNNAMED, PoolLabel::of);
        self.entries.set_label(label);
        let name = Name::new(name);
        // SAFETY: owner only (invariant 1 of `pool`), and nothing borrows the name: `name` is
        // called only on open pools, and `set_name` only while a pool is being opened or closed.
        let former = self
            .name
            .with_mut(|place| unsafe { mem::replace(&mut *place, name) });
        drop(former);
    }

    /// Clears the extras, which closing has to clear besides entries.
    #[inline]
    pub(crate) fn clear_extras(&self) {
        if self.life.has_extras() {
            self.unpin();
            self.pin.close();
            self.set_name(None);
            self.life.lose_extras();
        }
    }

    /// Keeps alive, until the pool is drained, the objects that slots hold now or later.
    #[inline]
    pub(crate) fn pin(&self) {
        if !self.pin.is_pinned() {
            self.pin_now();
        }
    }

    #[cold]
    #[inline(never)]
    fn pin_now(&self) {
        if !self.pin.pin() {
            self.pin_first();
        }
    }

    /// Pins a pool that has not loaded from a slot since it was opened.
    #[cold]
    #[inline(never)]
    fn pin_first(&self) {
        // SAFETY: owner only (invariant 1 of `pool`), and the name changes only while the pool is
        // being opened or closed.
        let name = self.name.with(|name| unsafe { &*name }).to_cow();
        self.pin.open(&self.thread_pools().participant, name);
        // The pin is an extra, so that closing the pool closes the pin, too.
        self.life.gain_extra();
        self.pin();
    }

    /// Ends the pin, which no longer keeps alive the objects that slots held.
    #[inline]
    pub(crate) fn unpin(&self) {
        if self.pin.is_pinned() {
            self.unpin_now();
        }
    }

    #[cold]
    #[inline(never)]
    fn unpin_now(&self) {
        self.pin.unpin();
        self.thread_pools().take_turn();
    }

    fn thread_pools(&self) -> &ThreadPools {
        // SAFETY: the pool is open, so its stack exists (invariant 3 of `pool`).
        unsafe { &*self.stack.get() }.thread_pools()
    }

    /// Returns the name that the pool was given, or the default name of its kind.
    pub(crate) fn name(&self) -> &str {
        // SAFETY: owner only (invariant 1 of `pool`), and the name changes only while the pool is
        // being opened or closed.
        match self.name.with(|name| unsafe { &*name }).get() {
            Some(name) => name,
            None => self.life.default_name(),
        }
    }
}

/// The pools of one manager on one thread. Owner only; stays at its address.
pub(crate) struct PoolStack {
    thread_pools: Cell<*const ThreadPools>,
    pub(crate) manager: Arc<ManagerShared>,
    pub(crate) stats: Arc<PoolStackStats>,
    /// The manager's allocator, if it has one of its own.
    allocator: Option<BlockAllocator>,
    /// The topmost frame of the [chain](super::chain).
    pub(super) current: Cell<*const ChainFrame>,
    pub(crate) root: PoolState,
    /// The newest open token pool, which begins the list of all; or null.
    pub(super) tokens: Cell<*const PoolState>,
    /// The token pool that is being drained to be popped; or null.
    popping: Cell<*const PoolState>,
    /// Releases that budgeted drains have left.
    pub(crate) backlog: Backlog,
    /// Counts objects that went to the root pool because no pool was open.
    pub(crate) strays: Strays,
    /// The number of root entries below which no further event is due; 0 if there has been none
    /// since the root pool was last drained.
    pub(crate) next_mark: Cell<usize>,
}

impl PoolStack {
    pub(crate) fn new(manager: Arc<ManagerShared>) -> Self {
        Self {
            thread_pools: Cell::new(ptr::null()),
            next_mark: Cell::new(0),
            backlog: Backlog::new(),
            allocator: manager.memory.clone(),
            manager,
            stats: Arc::default(),
            current: Cell::new(ptr::null()),
            root: PoolState::new(u32::MAX, PoolKind::Root),
            tokens: Cell::new(ptr::null()),
            popping: Cell::new(ptr::null()),
            strays: Strays::new(),
        }
    }

    /// Sets the self-referential pointers; call once the address is final.
    pub(crate) fn settle_in(&self, thread_pools: NonNull<ThreadPools>) {
        self.thread_pools.set(thread_pools.as_ptr());
        self.root.entries.set_label(PoolLabel::ROOT);
        self.root.stack.set(self);
        self.root.life.frame.own(self.root.as_life());
        self.current.set(&self.root.life.frame);
    }

    /// Records that a drain begins to work off the backlog.
    pub(in crate::pool) fn begin_work(&self) {
        self.backlog.drains.set(self.backlog.drains.get() + 1);
    }

    /// Records that a drain that works off the backlog has ended, and sets the figure that other
    /// threads see. While an outer drain is still making a release that it has taken out of the
    /// backlog, the figure only rises.
    pub(in crate::pool) fn end_work(&self) {
        let (len, outer) = (self.backlog.len(), self.backlog.drains.get() - 1);
        self.backlog.drains.set(outer);
        if outer == 0 || len as u64 > self.stats.backlog() {
            self.stats.backlog_is(len);
        }
    }

    /// Adds the thread with this key to the manager's list.
    pub(super) fn enlist(&self, key: ThreadKey) {
        self.manager.threads.insert(key, self.stats.clone());
    }

    /// Adds the stack's statistics to the manager's, and takes the thread off the manager's list.
    pub(crate) fn retire(&self, key: ThreadKey) {
        self.strays.share_all(self.manager.id);
        self.manager.forget(key, &self.stats);
    }

    /// Returns the thread's pools, as a pointer by which they may be freed.
    pub(crate) fn thread_pools_ptr(&self) -> NonNull<ThreadPools> {
        // SAFETY: `settle_in` has set the pointer.
        unsafe { NonNull::new_unchecked(self.thread_pools.get().cast_mut()) }
    }

    #[inline]
    pub(crate) fn thread_pools(&self) -> &ThreadPools {
        // SAFETY: a `ThreadPools` outlives its stacks (invariant 3 of `pool`).
        unsafe { &*self.thread_pools.get() }
    }

    /// Returns the allocator for objects that a pool makes.
    #[inline]
    pub(crate) fn memory(&self) -> BlockSource<'_> {
        match &self.allocator {
            None => BlockSource::Process,
            Some(blocks) => BlockSource::Own(blocks),
        }
    }

    pub(in crate::pool) fn push_token(&self, pool: &PoolState) {
        pool.next_in_list.set(self.tokens.replace(pool));
    }

    /// Returns the open token pools, newest first. None may be pushed or popped during the walk.
    pub(in crate::pool) fn tokens(&self) -> impl Iterator<Item = &PoolState> {
        // SAFETY: `pool` is null, or an open pool, which exists (invariant 3 of `pool`).
        let at = |pool: *const PoolState| unsafe { pool.as_ref() };
        iter::successors(at(self.tokens.get()), move |pool| {
            at(pool.next_in_list.get())
        })
    }

    pub(in crate::pool) fn last_token(&self) -> Option<&PoolState> {
        self.tokens().next()
    }

    /// Calls `drain`, which drains the token pool `pool`; the caller then pops `pool` and the token
    /// pools above it. `drain` must not unwind.
    pub(in crate::pool) fn popping<R>(&self, pool: &PoolState, drain: impl FnOnce() -> R) -> R {
        let outer = self.popping.replace(pool);
        let result = drain();
        self.popping.set(outer);
        result
    }

    /// Returns whether this pool is the one that is being drained to be popped.
    pub(in crate::pool) fn is_popping(&self, pool: &PoolState) -> bool {
        ptr::eq(self.popping.get(), pool)
    }

    /// Returns whether this token pool, or one above it, is being drained.
    pub(in crate::pool) fn token_is_draining(&self, pool: &PoolState) -> bool {
        let mut above = self.tokens().take_while(|token| !ptr::eq(*token, pool));
        pool.life.is_draining() || above.any(|token| token.life.is_draining())
    }

    /// Returns whether the root pool is the only open pool, and no drain is in progress: a drain's
    /// frame would be on top.
    pub(crate) fn is_idle(&self) -> bool {
        self.stats.opened() == self.stats.closed() && self.is_topmost(&self.root.life.frame)
    }
}

described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    pub(crate) const NOTE: &[Entry] = entries! {
        pool {
            size = size_of::<PoolState>(),
            entries = offset_of!(PoolState, entries),
            stack = offset_of!(PoolState, stack),
            kind = offset_of!(PoolState, life) + PoolLife::KIND,
            name = offset_of!(PoolState, name),
        }
        pool_kind {
            free = PoolKind::Free,
            guard = PoolKind::Guard,
            token = PoolKind::Token,
            root = PoolKind::Root,
        }
        stack {
            size = size_of::<PoolStack>(),
            root = offset_of!(PoolStack, root),
            backlog = offset_of!(PoolStack, backlog) + Backlog::LISTS,
        }
    };
}

/// The entries of a pool, for display; made by [`AutoreleasePool::dump`](crate::AutoreleasePool::dump).
///
/// Displays a line with the pool's name, its thread and the number of entries, then a line for each
/// entry with its address, type, and strong count at the time of writing. The entries are listed
/// newest first, which is the order in which they will be released.
///
/// # Example
/// ```
/// let pool = releasepool::AutoreleasePool::named("frame");
/// pool.create(5);
/// let text = pool.dump().to_string();
/// assert!(text.contains("frame") && text.contains("i32"), "{text}");
/// ```
pub struct PoolDump<'p>(pub(in crate::pool) &'p PoolState);

// A panic leaves no pool in a broken state: drains catch the panics of destructors.
impl RefUnwindSafe for PoolState {}

impl fmt::Display for PoolDump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pool = self.0;
        let len = pool.entries.len();
        let entries = if len == 1 { "entry" } else { "entries" };
        write!(
            f,
            "pool \"{}\", thread {}: {len} {entries}",
            pool.name(),
            current_label()
        )?;
        // SAFETY: the pool is borrowed, so the formatter, which is foreign code, can add entries,
        // but not drain the pool.
        for thin in unsafe { pool.entries.newest_first() } {
            // SAFETY: the entry's reference keeps the object alive while the pool is borrowed.
            let (name, count) = unsafe { (name_of(thin).get(), header(thin).count.strong()) };
            write!(f, "\n  {thin:p} {name} count {count}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for PoolDump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
