//! `PoolState`, one pool, and `PoolStack`, the pools of one manager on one thread.
//!
//! A pool points to its stack, a stack owns its root pool and points to the thread's pools, and
//! those own the stacks: all of it stays at its address and belongs to one thread. How the pools
//! of a stack follow each other is in [`chain`](super::chain).

use super::backlog::Backlog;
use super::entries::Entries;
use super::epoch::{Participants, PoolPin};
use super::manager_shared::{ManagerShared, PoolStackStats};
use super::pin;
use super::strays::Strays;
use super::thread_pools::ThreadPools;
use crate::block::block_allocator::BlockAllocator;
use crate::layout::fixed::Name;
use crate::ledger::PoolLabel;
use crate::object::block_allocated::ObjectMemory;
use crate::sync::cell::{Cell, UnsafeCell};
use crate::sync::{const_fn, described};
use crate::thread::key::ThreadKey;
use std::borrow::Cow;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// A link of the chain that says which pool is current; see [`chain`](super::chain).
///
/// A pool's frame is part of its `PoolState`; a drain's frame is on the machine's stack.
pub(crate) struct ChainFrame {
    /// The frame below. Null in the root pool's frame, and in the frame of an open pool that has
    /// left the chain.
    pub(crate) prev: Cell<*const ChainFrame>,
    /// The pool that is current while this is the topmost frame with a pool.
    pub(crate) pool: Cell<*const PoolState>,
    /// True if the frame is a barrier even if its pool does not belong to a scope.
    barrier: Cell<bool>,
}

impl ChainFrame {
    const_fn! {
        pub(crate) fn new(barrier: bool) -> Self {
            Self {
                prev: Cell::new(ptr::null()),
                pool: Cell::new(ptr::null()),
                barrier: Cell::new(barrier),
            }
        }
    }

    pub(crate) fn is_barrier(&self) -> bool {
        // SAFETY: a frame's pool is null or open (invariant 4 of `pool`).
        let is_scope = || unsafe { self.pool.get().as_ref() }.is_some_and(PoolState::is_scope);
        self.barrier.get() || is_scope()
    }

    /// Returns whether the frame is in the chain. Not for the root pool's frame.
    pub(super) fn is_in_chain(&self) -> bool {
        !self.prev.get().is_null()
    }

    /// Records that the frame has left the chain; returns the frame that was below it.
    pub(super) fn leave_chain(&self) -> *const Self {
        self.prev.replace(ptr::null())
    }

    /// Returns the pool that the frame is part of; `None` for the frames of drains and of scopes
    /// whose guard has been dropped. The frame must be in the chain.
    fn own_pool(&self) -> Option<&PoolState> {
        let pool = self.pool.get();
        // SAFETY: not null, so an open pool (invariant 4 of `pool`).
        ptr::addr_eq(pool, self).then(|| unsafe { &*pool })
    }

    /// Returns the next barrier below the frame, if an earlier walk has stored it; else null. The
    /// frame must be in the chain.
    pub(super) fn next_barrier(&self) -> *const Self {
        self.own_pool()
            .map_or(ptr::null(), |pool| pool.next_barrier.get())
    }

    /// Stores the next barrier below a frame that is in the chain and is not a barrier itself.
    pub(super) fn remember_barrier(&self, barrier: *const Self) {
        debug_assert!(!self.is_barrier());
        if let Some(pool) = self.own_pool() {
            pool.next_barrier.set(barrier);
            // So that closing the pool clears it, even if the pool is empty.
            pool.add_extra(HAS_EXTRAS);
        }
    }
}

/// The pool belongs to a scope.
const SCOPE: u8 = 1;
/// The pool has a name, has loaded from a slot, was drained within a budget, knows its next barrier, or
/// gives its pages back when it is closed.
const HAS_EXTRAS: u8 = 2;
/// The guard of a scope's pool was dropped before the scope ended.
const GUARD_DROPPED: u8 = 4;

/// Who closes a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PoolKind {
    /// Nobody: it is closed and may be opened again.
    Free,
    /// The `AutoreleasePool` that owns it.
    Guard,
    /// `PoolManager::pop`, by its `PoolToken`.
    Token,
    /// Nobody: it is the root pool of its stack.
    Root,
}

/// One pool. It stays at its address as long as its `ThreadPools` exists: guards hold the
/// address, tokens the index and generation.
// In this order, so that the frame has the pool's address, and the fields that opening and
// closing an empty pool need are together.
#[repr(C)]
pub(crate) struct PoolState {
    pub(crate) frame: ChainFrame,
    pub(crate) entries: Entries,
    /// The stack that the pool belongs to while it is open.
    pub(crate) stack: Cell<*const PoolStack>,
    /// The next free pool.
    pub(crate) next_free: Cell<*const PoolState>,
    pub(crate) kind: Cell<PoolKind>,
    /// The bits [`SCOPE`], [`HAS_EXTRAS`] and [`GUARD_DROPPED`]. If any is set, closing the pool
    /// takes more than removing its frame. Independent of each other, so no enum.
    extra: Cell<u8>,
    /// How many drains of this pool are in progress: more than one only for root pools.
    pub(crate) draining: Cell<u32>,
    /// Incremented whenever a token pool is closed.
    pub(crate) generation: Cell<u32>,
    pub(crate) index: u32,
    /// True if the last drain was within a budget: closing the pool then releases only its own
    /// entries.
    budgeted: Cell<bool>,
    /// Set and taken, never borrowed, while the pool is open.
    name: UnsafeCell<Name>,
    /// Holds the epoch from the pool's first load from a slot to its next drain.
    pin: PoolPin,
    /// The next barrier below the pool, if a walk of the chain has found it. All frames in
    /// between then store the same barrier. It remains in the chain as long as this pool does, but
    /// may stop being a barrier. Only in pools that are not barriers.
    next_barrier: Cell<*const ChainFrame>,
}

impl PoolState {
    const_fn! {
        pub(crate) fn new(index: u32, kind: PoolKind) -> Self {
            Self {
                frame: ChainFrame::new(false),
                entries: Entries::new(),
                stack: Cell::new(ptr::null()),
                kind: Cell::new(kind),
                draining: Cell::new(0),
                generation: Cell::new(0),
                index,
                next_free: Cell::new(ptr::null()),
                extra: Cell::new(0),
                budgeted: Cell::new(false),
                name: UnsafeCell::new(Name::NONE),
                pin: PoolPin::new(),
                next_barrier: Cell::new(ptr::null()),
            }
        }
    }

    #[inline]
    pub(crate) fn set_name(&self, name: Option<Cow<'static, str>>) {
        let label = name.as_deref().map_or(PoolLabel::UNNAMED, PoolLabel::of);
        self.entries.set_label(label);
        // SAFETY: owner only (invariant 1 of `pool`), and nothing borrows it: `name` is called only
        // on open pools, this function only while a pool is being opened or closed.
        self.name
            .with_mut(|place| unsafe { *place = Name::new(name) });
        self.add_extra(HAS_EXTRAS);
    }

    /// Returns whether the pool has nothing to clean up but its entries.
    #[inline]
    pub(crate) fn has_no_extras(&self) -> bool {
        self.extra.get() == 0
    }

    pub(crate) fn is_guard(&self) -> bool {
        self.kind.get() == PoolKind::Guard
    }

    #[inline]
    fn add_extra(&self, extra: u8) {
        self.extra.set(self.extra.get() | extra);
    }

    /// Makes the pool, which has just been opened, the pool of a scope: a barrier.
    // Not part of opening: reading what has just been written would stall.
    #[inline]
    pub(crate) fn enter_scope(&self) {
        self.extra.set(SCOPE);
    }

    pub(crate) fn is_scope(&self) -> bool {
        self.extra.get() & SCOPE != 0
    }

    /// Returns whether the pool belongs to a scope and has nothing to clean up but its entries.
    #[inline]
    pub(crate) fn is_plain_scope(&self) -> bool {
        self.extra.get() == SCOPE
    }

    /// Ends the scope; returns whether the pool's guard was dropped before.
    #[inline]
    pub(crate) fn leave_scope(&self) -> bool {
        let extra = self.extra.get();
        self.extra.set(extra & HAS_EXTRAS);
        extra & GUARD_DROPPED != 0
    }

    /// Records that the guard was dropped before the scope ends: the frame stays as a barrier
    /// without a pool.
    pub(crate) fn end_in_scope(&self) {
        self.add_extra(GUARD_DROPPED);
        self.frame.pool.set(ptr::null());
        self.frame.barrier.set(true);
    }

    /// Makes the frame that of an ordinary pool again, as free pools have it.
    pub(crate) fn restore_frame(&self) {
        self.frame.pool.set(self);
        self.frame.barrier.set(false);
    }

    /// Has the pool give its pages back when it is closed, even if it is empty then.
    pub(super) fn give_page_back(&self) {
        self.add_extra(HAS_EXTRAS);
    }

    /// Records whether the drain that begins is within a budget.
    pub(crate) fn set_budgeted(&self, budgeted: bool) {
        self.budgeted.set(budgeted);
        if budgeted {
            self.add_extra(HAS_EXTRAS);
        }
    }

    /// Returns whether the last drain was within a budget and nothing has been added since.
    #[inline]
    pub(crate) fn last_drain_was_budgeted(&self) -> bool {
        self.budgeted.get() && self.entries.is_empty()
    }

    /// Clears everything but entries and the scope's bits. Part of closing the pool.
    pub(crate) fn clear_extras(&self) {
        self.unpin();
        self.pin.close(self.participants());
        self.set_name(None);
        self.budgeted.set(false);
        self.next_barrier.set(ptr::null());
        self.extra.set(self.extra.get() & !HAS_EXTRAS);
    }

    /// Keeps everything alive that slots hold from now on, until the pool is drained.
    #[inline]
    pub(crate) fn pin(&self) {
        if !self.pin.is_pinned() {
            self.pin_now();
        }
    }

    #[cold]
    #[inline(never)]
    fn pin_now(&self) {
        if !self.pin.pin(self.participants()) {
            self.pin_first();
        }
    }

    /// Pins a pool that has not loaded from a slot since it was opened.
    #[cold]
    #[inline(never)]
    fn pin_first(&self) {
        // SAFETY: as in `name`.
        let name = self.name.with(|name| unsafe { &*name }).to_cow();
        self.pin.open(self.participants(), name.as_ref());
        // So that closing the pool closes its pin, too.
        self.add_extra(HAS_EXTRAS);
        self.pin();
    }

    /// Stops keeping alive what slots held.
    #[inline]
    pub(crate) fn unpin(&self) {
        if self.pin.is_pinned() {
            self.unpin_now();
        }
    }

    #[cold]
    #[inline(never)]
    fn unpin_now(&self) {
        self.pin.unpin(self.participants());
        // SAFETY: the pool is open, so its stack exists (invariant 3 of `pool`).
        pin::take_turn(unsafe { &*self.stack.get() }.thread_pools());
    }

    #[inline(always)]
    fn participants(&self) -> &Participants {
        // SAFETY: the pool is open, so its stack exists (invariant 3 of `pool`).
        &unsafe { &*self.stack.get() }.thread_pools().participants
    }

    /// Returns the name that the pool was given, or one for its kind.
    pub(crate) fn name(&self) -> &str {
        // SAFETY: owner only (invariant 1 of `pool`), and the name changes only while the pool is
        // being opened or closed.
        match self.name.with(|name| unsafe { &*name }).get() {
            Some(name) => name,
            None => match self.kind.get() {
                PoolKind::Root => "root",
                PoolKind::Token => "token",
                PoolKind::Guard | PoolKind::Free => "unnamed",
            },
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
    /// Open token pools, oldest first. Never borrowed while other code runs.
    tokens: UnsafeCell<Vec<*const PoolState>>,
    /// Releases that budgeted drains have left.
    pub(crate) backlog: Backlog,
    /// Counts what went to the root pool because no pool was open.
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
            stats: Arc::new(PoolStackStats::new()),
            current: Cell::new(ptr::null()),
            root: PoolState::new(u32::MAX, PoolKind::Root),
            tokens: UnsafeCell::new(Vec::new()),
            strays: Strays::new(),
        }
    }

    /// Sets the self-referential pointers; call once the address is final.
    pub(crate) fn settle_in(&self, thread_pools: NonNull<ThreadPools>, key: Option<ThreadKey>) {
        self.thread_pools.set(thread_pools.as_ptr());
        self.root.entries.set_label(PoolLabel::ROOT);
        self.root.stack.set(self);
        self.root.frame.pool.set(&self.root);
        self.current.set(&self.root.frame);
        if let Some(key) = key {
            self.manager.threads.insert(key, self.stats.clone());
        }
    }

    /// Adds the statistics to the manager's, and takes the thread off the manager's list.
    pub(crate) fn retire(&self, key: ThreadKey) {
        self.strays.share_all(self.manager.id);
        self.manager.forget(key, &self.stats);
    }

    /// Returns the thread's pools, as the pointer that they may be freed by.
    pub(crate) fn thread_pools_ptr(&self) -> NonNull<ThreadPools> {
        // SAFETY: `settle_in` has set it.
        unsafe { NonNull::new_unchecked(self.thread_pools.get().cast_mut()) }
    }

    #[inline]
    pub(crate) fn thread_pools(&self) -> &ThreadPools {
        // SAFETY: they outlive their stacks (invariant 3 of `pool`).
        unsafe { &*self.thread_pools.get() }
    }

    /// Returns where objects that a pool makes have their memory.
    #[inline]
    pub(crate) fn memory(&self) -> ObjectMemory<'_> {
        match &self.allocator {
            None => ObjectMemory::Process,
            Some(blocks) => ObjectMemory::Own(blocks),
        }
    }

    /// Returns the pool that implicit releases go to.
    #[inline]
    pub(crate) fn current_pool(&self) -> &PoolState {
        let mut frame = self.current.get();
        loop {
            // SAFETY: frames in the chain exist, and the last one, the root pool's, has a pool
            // (invariant 4 of `pool`).
            let (pool, prev) = unsafe { ((*frame).pool.get(), (*frame).prev.get()) };
            if !pool.is_null() {
                // SAFETY: a frame's pool is open (invariant 4 of `pool`).
                return unsafe { &*pool };
            }
            frame = prev;
        }
    }

    /// Returns whether the root pool is the current one: no other is open, though the root pool
    /// may be being drained.
    pub(crate) fn at_root(&self) -> bool {
        ptr::eq(self.current_pool(), &self.root)
    }

    #[inline]
    pub(crate) fn push_frame(&self, frame: &ChainFrame) {
        frame.prev.set(self.current.get());
        self.current.set(frame);
    }

    #[inline]
    pub(crate) fn is_topmost(&self, frame: &ChainFrame) -> bool {
        ptr::eq(self.current.get(), frame)
    }

    /// Removes a frame that is known to be the topmost.
    #[inline]
    pub(crate) fn pop_frame(&self, frame: &ChainFrame) {
        debug_assert!(self.is_topmost(frame));
        self.current.set(frame.prev.get());
    }

    pub(crate) fn push_token(&self, pool: &PoolState) {
        // SAFETY: owner only, and a short borrow (invariants 1 and 2 of `pool`).
        self.tokens
            .with_mut(|tokens| unsafe { (*tokens).push(pool) });
    }

    pub(crate) fn last_token(&self) -> Option<&PoolState> {
        // SAFETY: as in `push_token`; token pools in the list are open.
        self.tokens
            .with(|tokens| unsafe { (*tokens).last().map(|pool| &**pool) })
    }

    pub(crate) fn pop_token(&self) {
        // SAFETY: as in `push_token`.
        self.tokens.with_mut(|tokens| unsafe { (*tokens).pop() });
    }

    /// Returns whether this token pool, or one above it, is being drained.
    pub(crate) fn token_is_draining(&self, pool: &PoolState) -> bool {
        // SAFETY: as in `last_token`.
        let tokens = self.tokens.with(|tokens| unsafe { &*tokens });
        let from_the_top = tokens.iter().rev();
        for &token in from_the_top {
            // SAFETY: as in `last_token`.
            if unsafe { &*token }.draining.get() > 0 {
                return true;
            }
            if ptr::eq(token, pool) {
                break;
            }
        }
        false
    }

    /// Returns whether no pool but the root is open, current or not, and no drain is in progress:
    /// a drain's frame would be on top.
    pub(crate) fn is_idle(&self) -> bool {
        self.stats.opened() == self.stats.closed() && self.is_topmost(&self.root.frame)
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
            kind = offset_of!(PoolState, kind),
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
