//! The pools of one manager on one thread.

use super::backlog::Backlog;
use super::head::{Frame, Head, Kind};
use super::local::Local;
use super::namespace::{Namespace, StackStats};
use crate::memory::block::BlockAllocator;
use crate::object::in_block::Source;
use crate::thread::key::ThreadKey;
use std::cell::{Cell, UnsafeCell};
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// See the module. Stays at its address; everything in it is its thread's own.
pub(crate) struct Stack {
    local: Cell<*const Local>,
    pub(crate) namespace: Arc<Namespace>,
    pub(crate) stats: Arc<StackStats>,
    /// The manager's, if it is not the process's own.
    memory: Option<BlockAllocator>,
    /// The topmost frame: see [`super::head`].
    current: Cell<*const Frame>,
    pub(crate) root: Head,
    /// Open token pools, oldest first. Never borrowed while other code runs.
    tokens: UnsafeCell<Vec<*const Head>>,
    /// What budgeted drains have left.
    pub(crate) backlog: Backlog,
    /// Whether it has been said that something waits in the root pool.
    pub(crate) warned: Cell<bool>,
    /// The number of root entries at which the next event is due.
    pub(crate) next_mark: Cell<usize>,
}

impl Stack {
    pub(crate) fn new(namespace: Arc<Namespace>) -> Self {
        Self {
            local: Cell::new(ptr::null()),
            next_mark: Cell::new(namespace.settings.root_watermark),
            backlog: Backlog::new(namespace.settings.backlog_watermark),
            memory: namespace.settings.memory.clone(),
            namespace,
            stats: Arc::new(StackStats::new()),
            current: Cell::new(ptr::null()),
            root: Head::new(u32::MAX, Kind::Root),
            tokens: UnsafeCell::new(Vec::new()),
            warned: Cell::new(false),
        }
    }

    /// Ties the knots, once the stack is where it stays.
    pub(crate) fn settle_in(&self, local: NonNull<Local>, key: Option<ThreadKey>) {
        self.local.set(local.as_ptr());
        self.root.stack.set(self);
        self.root.frame.pool.set(&self.root);
        self.current.set(&self.root.frame);
        if let Some(key) = key {
            self.namespace.threads.insert(key, self.stats.clone());
        }
    }

    /// The statistics move to the manager when the thread leaves.
    pub(crate) fn retire(&self, key: ThreadKey) {
        self.namespace.threads.remove(&key);
        self.namespace.departed.add_departed(&self.stats);
        self.namespace.changed.wake();
    }

    /// The block, by the pointer that may free it.
    pub(crate) fn block(&self) -> NonNull<Local> {
        // SAFETY: set by `settle_in`.
        unsafe { NonNull::new_unchecked(self.local.get().cast_mut()) }
    }

    #[inline]
    pub(crate) fn local(&self) -> &Local {
        // SAFETY: a stack lives in its block, which outlives it.
        unsafe { &*self.local.get() }
    }

    /// Where objects that a pool makes have their memory.
    #[inline]
    pub(crate) fn memory(&self) -> Source<'_> {
        match &self.memory {
            None => Source::Process,
            Some(blocks) => Source::Own(blocks),
        }
    }

    /// Whether what other threads send here goes to this backlog, if it is not released at
    /// once: that of the process's own manager, so that it is always found again.
    pub(crate) fn takes_mail(&self) -> bool {
        ptr::eq(self, &self.local().first)
    }

    /// The pool that implicit releases go to.
    #[inline]
    pub(crate) fn current_pool(&self) -> &Head {
        let mut frame = self.current.get();
        loop {
            // SAFETY: frames in the chain are there, and the root's, which has a
            // pool, is at its end.
            let (pool, prev) = unsafe { ((*frame).pool.get(), (*frame).prev.get()) };
            if !pool.is_null() {
                // SAFETY: pools in the chain are open.
                return unsafe { &*pool };
            }
            frame = prev;
        }
    }

    /// Makes the root pool current, whatever is still open: for a thread's end.
    pub(super) fn fall_back_to_root(&self) {
        self.current.set(&self.root.frame);
    }

    /// Whether no pool is open, but perhaps the root is being drained.
    pub(crate) fn at_root(&self) -> bool {
        ptr::eq(self.current_pool(), &self.root)
    }

    #[inline]
    pub(crate) fn push_frame(&self, frame: &Frame) {
        frame.prev.set(self.current.get());
        self.current.set(frame);
    }

    #[inline]
    pub(crate) fn is_topmost(&self, frame: &Frame) -> bool {
        ptr::eq(self.current.get(), frame)
    }

    /// Takes away the frame that is known to be the topmost.
    #[inline]
    pub(crate) fn pop_frame(&self, frame: &Frame) {
        debug_assert!(self.is_topmost(frame));
        self.current.set(frame.prev.get());
    }

    /// Takes away a frame and what is above it, as far as the next barrier. A
    /// frame that is not in the chain any more is left alone.
    #[inline]
    pub(crate) fn close_frame(&self, frame: &Frame) {
        if self.is_topmost(frame) {
            self.pop_frame(frame);
        } else {
            self.cut(frame, frame.prev.get());
        }
    }

    /// Takes away what is above a frame, as far as the next barrier.
    pub(crate) fn close_above(&self, frame: &Frame) {
        self.cut(frame, frame);
    }

    /// Has what is left above `frame` stand on `rest`.
    #[cold]
    fn cut(&self, frame: &Frame, rest: *const Frame) {
        let mut above: *const Frame = ptr::null();
        let mut at = self.current.get();
        while !ptr::eq(at, frame) {
            if at.is_null() {
                return;
            }
            // SAFETY: frames in the chain are there.
            let here = unsafe { &*at };
            if here.is_barrier() {
                above = at;
            }
            at = here.prev.get();
        }
        if above.is_null() {
            self.current.set(rest);
        } else {
            // SAFETY: as above.
            unsafe { &*above }.prev.set(rest);
        }
    }

    pub(crate) fn push_token(&self, head: &Head) {
        // SAFETY: the thread's own; nothing else runs meanwhile.
        unsafe { (*self.tokens.get()).push(head) };
    }

    pub(crate) fn last_token(&self) -> Option<&Head> {
        // SAFETY: as in `push_token`; token pools in the list are open.
        unsafe { (*self.tokens.get()).last().map(|head| &**head) }
    }

    pub(crate) fn pop_token(&self) {
        // SAFETY: as in `push_token`.
        unsafe { (*self.tokens.get()).pop() };
    }

    /// Whether this token pool, or one above it, is being drained.
    pub(crate) fn token_is_draining(&self, head: &Head) -> bool {
        // SAFETY: as in `last_token`.
        let tokens = unsafe { &*self.tokens.get() };
        let from_the_top = tokens.iter().rev();
        for &token in from_the_top {
            // SAFETY: as in `last_token`.
            if unsafe { &*token }.draining.get() > 0 {
                return true;
            }
            if ptr::eq(token, head) {
                break;
            }
        }
        false
    }

    /// Whether nothing is open here, current or not, and nothing is going on: a drain
    /// has its barrier on top.
    pub(crate) fn is_idle(&self) -> bool {
        self.stats.opened.get() == self.stats.closed() && self.is_topmost(&self.root.frame)
    }
}

/// A frame of a drain: in the chain as long as this lives.
pub(crate) struct Barrier<'s> {
    stack: &'s Stack,
    frame: &'s Frame,
}

impl<'s> Barrier<'s> {
    /// `frame` stays where it is, on the caller's stack.
    #[inline]
    pub(crate) fn raise(stack: &'s Stack, frame: &'s Frame, pool: &Head) -> Self {
        frame.pool.set(pool);
        stack.push_frame(frame);
        Self { stack, frame }
    }
}

impl Drop for Barrier<'_> {
    #[inline]
    fn drop(&mut self) {
        self.stack.close_frame(self.frame);
    }
}
