//! One pool: its entries, and its place among the pools of its thread.
//!
//! # Which pool is current
//!
//! Each manager has, on each thread, a chain of [`Frame`]s; its end is the root
//! pool's. A pool that is opened puts its frame on top. So does a *barrier*: a
//! drain (whose pool is current meanwhile) or a scope such as `autoreleasepool`.
//! The topmost frame that has a pool says which one is current.
//!
//! Closing a pool takes away its frame and, as far as the next barrier, all
//! above it: they are pools that were forgotten, or that will be dropped out of
//! order. Those keep their entries; they are merely not current any more. What
//! is above a barrier was opened inside the drain or scope, and is left alone.

use super::entries::Entries;
use super::stack::Stack;
use crossbeam_epoch::Guard;
use std::borrow::Cow;
use std::cell::{Cell, UnsafeCell};
use std::ptr;

/// See the module. Frames of pools stand in their heads, those of barriers on
/// the machine's stack; both are there as long as they are in the chain.
pub(crate) struct Frame {
    pub(crate) prev: Cell<*const Frame>,
    /// The pool that is current while this is the topmost frame with one.
    pub(crate) pool: Cell<*const Head>,
    pub(crate) barrier: bool,
}

impl Frame {
    pub(crate) const fn new(barrier: bool) -> Self {
        Self {
            prev: Cell::new(ptr::null()),
            pool: Cell::new(ptr::null()),
            barrier,
        }
    }
}

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
pub(crate) struct Head {
    pub(crate) frame: Frame,
    pub(crate) entries: Entries,
    /// The stack that the pool belongs to while it is open.
    pub(crate) stack: Cell<*const Stack>,
    pub(crate) kind: Cell<Kind>,
    /// How many drains of this pool are going on: more than one only for root
    /// pools.
    pub(crate) draining: Cell<u32>,
    /// Goes up whenever a token pool is closed.
    pub(crate) generation: Cell<u32>,
    pub(crate) index: u32,
    /// The next free head.
    pub(crate) next_free: Cell<*const Head>,
    /// Whether the pool has a name or is pinned: closing it then is more than
    /// taking it off.
    plain: Cell<bool>,
    /// Whether the last drain was one within a budget: closing the pool then does no more
    /// than that.
    frugal: Cell<bool>,
    /// Set and taken, never borrowed, while the pool is open.
    name: UnsafeCell<Option<Cow<'static, str>>>,
    /// From the first load from a slot to the next drain. Set and taken, never
    /// borrowed.
    guard: UnsafeCell<Option<Guard>>,
    pinned: Cell<bool>,
}

impl Head {
    pub(crate) const fn new(index: u32, kind: Kind) -> Self {
        Self {
            frame: Frame::new(false),
            entries: Entries::new(),
            stack: Cell::new(ptr::null()),
            kind: Cell::new(kind),
            draining: Cell::new(0),
            generation: Cell::new(0),
            index,
            next_free: Cell::new(ptr::null()),
            plain: Cell::new(true),
            frugal: Cell::new(false),
            name: UnsafeCell::new(None),
            guard: UnsafeCell::new(None),
            pinned: Cell::new(false),
        }
    }

    pub(crate) fn set_name(&self, name: Option<Cow<'static, str>>) {
        // SAFETY: the thread's own, and nobody has borrowed it: `name` is only
        // called on open pools, this on one that is being opened or closed.
        unsafe { *self.name.get() = name };
        self.plain.set(false);
    }

    /// Whether there is nothing to tidy up but entries.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.plain.get()
    }

    /// A drain within a budget, or another, begins.
    pub(crate) fn set_frugal(&self, frugal: bool) {
        self.frugal.set(frugal);
        if frugal {
            self.plain.set(false);
        }
    }

    /// Whether the last drain was one within a budget, and nothing has come in since.
    #[inline]
    pub(crate) fn is_frugal(&self) -> bool {
        self.frugal.get() && self.entries.is_empty()
    }

    /// Tidies up the rest; the pool is being closed.
    pub(crate) fn make_plain(&self) {
        self.unpin();
        self.set_name(None);
        self.frugal.set(false);
        self.plain.set(true);
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
        let guard = local.epoch.pin(local, self.given_name());
        // SAFETY: the thread's own, and nobody has borrowed it.
        unsafe { *self.guard.get() = Some(guard) };
        self.pinned.set(true);
        self.plain.set(false);
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
        // SAFETY: the thread's own, and nobody has borrowed it.
        let guard = unsafe { (*self.guard.get()).take() };
        drop(guard);
        // SAFETY: an open pool's stack is there.
        let local = unsafe { &*self.stack.get() }.local();
        local.epoch.unpinned(local);
    }

    fn given_name(&self) -> Option<&str> {
        // SAFETY: as above; the name changes only when the pool is closed.
        unsafe { &*self.name.get() }.as_deref()
    }

    /// The name that the pool was given, or one for its kind.
    pub(crate) fn name(&self) -> &str {
        match self.given_name() {
            Some(name) => name,
            None => match self.kind.get() {
                Kind::Root => "root",
                Kind::Token => "token",
                Kind::Guard | Kind::Free => "unnamed",
            },
        }
    }
}
