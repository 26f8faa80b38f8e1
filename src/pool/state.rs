//! One pool: its entries, and its place among the pools of its thread.
//!
//! # Which pool is current
//!
//! Each manager has, on each thread, a chain of [`Frame`]s; its end is the root
//! pool's. A pool that is opened puts its frame on top. So does a drain, whose pool
//! is current meanwhile. The topmost frame that has a pool says which one is current.
//!
//! Closing a pool takes away its frame and, as far as the next *barrier*, all
//! above it: they are pools that were forgotten, or that will be dropped out of
//! order. Those keep their entries; they are merely not current any more. Drains are
//! barriers, and so is the pool of a scope such as `autoreleasepool`: they, and what was
//! opened inside them, are left alone, until they end themselves.
//!
//! A scope's closure may put another pool in the place of its own, and close that: what is
//! left is a barrier without a pool, until the scope ends.
//!
//! Closing costs amortized constant time for each pool, plus a step for each barrier above it.
//! A frame that is removed from the chain is marked, so that nobody looks for it there again.
//! A walk past frames that stay, as a barrier is below them, leaves in each where that barrier
//! is; later walks skip them.

use super::entries::Entries;
use super::epoch::Participant;
use super::pool_stack::PoolStack;
use crate::sync::cell::{Cell, UnsafeCell};
use crate::sync::const_fn;
use std::borrow::Cow;
use std::ptr;

/// See the module. Frames of pools stand in their heads, those of drains on
/// the machine's stack; both are there as long as they are in the chain.
pub(crate) struct Frame {
    /// The frame below. Null in the root's frame, and in the frame of an open pool that has
    /// left the chain.
    pub(crate) prev: Cell<*const Frame>,
    /// The pool that is current while this is the topmost frame with one.
    pub(crate) pool: Cell<*const PoolState>,
    /// Whether it is one even if its pool is not a scope's.
    barrier: Cell<bool>,
}

impl Frame {
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
        // SAFETY: pools of frames in a chain are open.
        let is_scope = || unsafe { self.pool.get().as_ref() }.is_some_and(PoolState::is_scope);
        self.barrier.get() || is_scope()
    }

    /// Returns whether the frame, of an open pool other than the root or of a drain, is in the
    /// chain.
    pub(super) fn is_in_chain(&self) -> bool {
        !self.prev.get().is_null()
    }

    /// Records that the frame has left the chain; returns the frame that was below it.
    pub(super) fn leave_chain(&self) -> *const Self {
        self.prev.replace(ptr::null())
    }

    /// Returns the head that the frame is part of; `None` for drains and for ended scopes. The
    /// frame must be in the chain.
    fn head(&self) -> Option<&PoolState> {
        let pool = self.pool.get();
        // SAFETY: pools of frames in a chain are open.
        ptr::addr_eq(pool, self).then(|| unsafe { &*pool })
    }

    /// Returns the barrier that the frame was found to stand on; null if that is unknown. The
    /// frame must be in the chain.
    pub(super) fn next_barrier(&self) -> *const Self {
        self.head()
            .map_or(ptr::null(), |head| head.next_barrier.get())
    }

    /// Remembers the next barrier below a frame that is in the chain and no barrier itself.
    pub(super) fn remember_barrier(&self, barrier: *const Self) {
        debug_assert!(!self.is_barrier());
        if let Some(head) = self.head() {
            head.next_barrier.set(barrier);
            // Without this, a pool that is closed as an empty one would keep it.
            head.add_extra(TIDY);
        }
    }
}

/// The pool of a scope.
const SCOPE: u8 = 1;
/// It has a name, is pinned, was drained within a budget, or knows its next barrier.
const TIDY: u8 = 2;
/// Its guard went before its scope.
const ENDED: u8 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Not in use.
    Free,
    /// Owned by an `AutoreleasePool`.
    Guard,
    /// Named by a `PoolToken`.
    Token,
    /// The one at the bottom.
    Root,
}

/// One pool. It stays at its address as long as its thread's block lives;
/// guards hold that address, tokens its index and generation.
// In this order, so that the frame has the head's address, and what an empty pool needs is
// together.
#[repr(C)]
pub(crate) struct PoolState {
    pub(crate) frame: Frame,
    pub(crate) entries: Entries,
    /// The stack that the pool belongs to while it is open.
    pub(crate) stack: Cell<*const PoolStack>,
    /// The next free head.
    pub(crate) next_free: Cell<*const PoolState>,
    pub(crate) kind: Cell<Kind>,
    /// [`SCOPE`], [`TIDY`], [`ENDED`]: why closing it is more than taking it off.
    extra: Cell<u8>,
    /// How many drains of this pool are going on: more than one only for root
    /// pools.
    pub(crate) draining: Cell<u32>,
    /// Goes up whenever a token pool is closed.
    pub(crate) generation: Cell<u32>,
    pub(crate) index: u32,
    /// Whether the last drain was one within a budget: closing the pool then does no more
    /// than that.
    budgeted: Cell<bool>,
    /// Set and taken, never borrowed, while the pool is open.
    name: UnsafeCell<Option<Cow<'static, str>>>,
    /// The pool's part in the epoch, from its first load from a slot to its next drain. Set and
    /// taken, never borrowed.
    participant: Cell<Option<Box<Participant>>>,
    pinned: Cell<bool>,
    /// A barrier below the pool, with no other in between, if a walk of the chain has found
    /// it. All frames in between then name the same barrier. It remains in the chain as long as
    /// this pool does, but may end being a barrier. Only in pools that are no barriers.
    next_barrier: Cell<*const Frame>,
}

impl PoolState {
    const_fn! {
        pub(crate) fn new(index: u32, kind: Kind) -> Self {
            Self {
                frame: Frame::new(false),
                entries: Entries::new(),
                stack: Cell::new(ptr::null()),
                kind: Cell::new(kind),
                draining: Cell::new(0),
                generation: Cell::new(0),
                index,
                next_free: Cell::new(ptr::null()),
                extra: Cell::new(0),
                budgeted: Cell::new(false),
                name: UnsafeCell::new(None),
                participant: Cell::new(None),
                pinned: Cell::new(false),
                next_barrier: Cell::new(ptr::null()),
            }
        }
    }

    pub(crate) fn set_name(&self, name: Option<Cow<'static, str>>) {
        // SAFETY: the thread's own, and nobody has borrowed it: `name` is only
        // called on open pools, this on one that is being opened or closed.
        self.name.with_mut(|place| unsafe { *place = name });
        self.add_extra(TIDY);
    }

    /// Whether there is nothing to tidy up but entries.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.extra.get() == 0
    }

    pub(crate) fn is_guard(&self) -> bool {
        self.kind.get() == Kind::Guard
    }

    #[inline]
    fn add_extra(&self, extra: u8) {
        self.extra.set(self.extra.get() | extra);
    }

    /// The pool, which has just been opened, is a scope's; see the module.
    // Not part of its opening: what has just been written is read with a delay.
    #[inline]
    pub(crate) fn enter_scope(&self) {
        self.extra.set(SCOPE);
    }

    pub(crate) fn is_scope(&self) -> bool {
        self.extra.get() & SCOPE != 0
    }

    /// Whether there is nothing to tidy up but entries and the scope.
    #[inline]
    pub(crate) fn is_plain_scope(&self) -> bool {
        self.extra.get() == SCOPE
    }

    /// The scope ends: whether the pool's guard went before.
    #[inline]
    pub(crate) fn leave_scope(&self) -> bool {
        let extra = self.extra.get();
        self.extra.set(extra & TIDY);
        extra & ENDED != 0
    }

    /// The guard of a scope's pool goes before the scope: only the barrier is left.
    pub(crate) fn end_in_scope(&self) {
        self.add_extra(ENDED);
        self.frame.pool.set(ptr::null());
        self.frame.barrier.set(true);
    }

    /// As pools are that have not been used.
    pub(crate) fn restore_frame(&self) {
        self.frame.pool.set(self);
        self.frame.barrier.set(false);
    }

    /// A drain within a budget, or another, begins.
    pub(crate) fn set_frugal(&self, budgeted: bool) {
        self.budgeted.set(budgeted);
        if budgeted {
            self.add_extra(TIDY);
        }
    }

    /// Whether the last drain was one within a budget, and nothing has come in since.
    #[inline]
    pub(crate) fn was_budgeted(&self) -> bool {
        self.budgeted.get() && self.entries.is_empty()
    }

    /// Tidies up the rest; the pool is being closed, and its head given back.
    pub(crate) fn clear_extras(&self) {
        self.unpin();
        self.set_name(None);
        self.budgeted.set(false);
        self.next_barrier.set(ptr::null());
        self.extra.set(self.extra.get() & !TIDY);
    }

    /// Keeps all that slots hold from now on, until the pool is drained.
    #[inline]
    pub(crate) fn pin(&self) {
        if !self.pinned.get() {
            self.pin_now();
        }
    }

    #[cold]
    #[inline(never)]
    fn pin_now(&self) {
        // SAFETY: an open pool's stack is there.
        let local = unsafe { &*self.stack.get() }.local();
        // SAFETY: as in `name`.
        let name = self.name.with(|name| unsafe { &*name }).as_ref();
        self.participant.set(Some(local.epoch.pin(name)));
        self.pinned.set(true);
        self.add_extra(TIDY);
    }

    /// What the pool lent from slots may go.
    #[inline]
    pub(crate) fn unpin(&self) {
        if self.pinned.get() {
            self.unpin_now();
        }
    }

    #[cold]
    #[inline(never)]
    fn unpin_now(&self) {
        self.pinned.set(false);
        if let Some(participant) = self.participant.take() {
            // SAFETY: an open pool's stack is there.
            let local = unsafe { &*self.stack.get() }.local();
            local.epoch.unpin(participant);
        }
    }

    /// The name that the pool was given, or one for its kind.
    pub(crate) fn name(&self) -> &str {
        // SAFETY: the thread's own; the name changes only when the pool is opened or closed.
        match self.name.with(|name| unsafe { &*name }).as_deref() {
            Some(name) => name,
            None => match self.kind.get() {
                Kind::Root => "root",
                Kind::Token => "token",
                Kind::Guard | Kind::Free => "unnamed",
            },
        }
    }
}
