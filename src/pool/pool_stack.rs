//! The pools of one manager on one thread.

use super::backlog::Backlog;
use super::manager_shared::{ManagerShared, PoolStackStats};
use super::state::{Frame, Kind, PoolState};
use super::strays::Strays;
use super::thread_pools::ThreadPools;
use crate::block::block_allocator::BlockAllocator;
use crate::object::block_allocated::ObjectMemory;
use crate::sync::cell::{Cell, UnsafeCell};
use crate::thread::key::ThreadKey;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// See the module. Stays at its address; everything in it is its thread's own.
pub(crate) struct PoolStack {
    local: Cell<*const ThreadPools>,
    pub(crate) namespace: Arc<ManagerShared>,
    pub(crate) stats: Arc<PoolStackStats>,
    /// The manager's, if it is not the process's own.
    memory: Option<BlockAllocator>,
    /// The topmost frame: see [`super::state`].
    current: Cell<*const Frame>,
    pub(crate) root: PoolState,
    /// Open token pools, oldest first. Never borrowed while other code runs.
    tokens: UnsafeCell<Vec<*const PoolState>>,
    /// What budgeted drains have left.
    pub(crate) backlog: Backlog,
    /// What went to the root pool as no pool was open.
    pub(crate) strays: Strays,
    /// The number of root entries below which no further event is due; 0 if none has been made
    /// since the root pool was last drained.
    pub(crate) next_mark: Cell<usize>,
}

impl PoolStack {
    pub(crate) fn new(namespace: Arc<ManagerShared>) -> Self {
        Self {
            local: Cell::new(ptr::null()),
            next_mark: Cell::new(0),
            backlog: Backlog::new(),
            memory: namespace.memory.clone(),
            namespace,
            stats: Arc::new(PoolStackStats::new()),
            current: Cell::new(ptr::null()),
            root: PoolState::new(u32::MAX, Kind::Root),
            tokens: UnsafeCell::new(Vec::new()),
            strays: Strays::new(),
        }
    }

    /// Ties the knots, once the stack is where it stays.
    pub(crate) fn settle_in(&self, local: NonNull<ThreadPools>, key: Option<ThreadKey>) {
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
        self.strays.tell_all(self.namespace.id);
        self.namespace.departed.add(&self.stats);
        self.namespace.threads.remove(&key);
        // Whoever waits for what is here has asked.
        if self.stats.was_asked() {
            self.namespace.changed.wake();
        }
    }

    /// The block, by the pointer that may free it.
    pub(crate) fn block(&self) -> NonNull<ThreadPools> {
        // SAFETY: set by `settle_in`.
        unsafe { NonNull::new_unchecked(self.local.get().cast_mut()) }
    }

    #[inline]
    pub(crate) fn local(&self) -> &ThreadPools {
        // SAFETY: a stack lives in its block, which outlives it.
        unsafe { &*self.local.get() }
    }

    /// Where objects that a pool makes have their memory.
    #[inline]
    pub(crate) fn memory(&self) -> ObjectMemory<'_> {
        match &self.memory {
            None => ObjectMemory::Process,
            Some(blocks) => ObjectMemory::Own(blocks),
        }
    }

    /// The pool that implicit releases go to.
    #[inline]
    pub(crate) fn current_pool(&self) -> &PoolState {
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
        let root = &self.root.frame;
        remove(self.current.replace(root), root);
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

    /// Removes the frames above `frame` as far as the next barrier, and puts `rest` in their
    /// place: either `frame` itself or, to remove it too, the one below it.
    #[cold]
    fn cut(&self, frame: &Frame, rest: *const Frame) {
        if !frame.is_in_chain() {
            return;
        }
        let barrier = self.lowest_barrier_above(frame);
        let top = barrier.map_or(&self.current, |barrier| &barrier.prev);
        remove(top.replace(rest), frame);
        if !ptr::eq(rest, frame) {
            frame.leave_chain();
        }
    }

    /// Returns the lowest barrier above `frame`, which is in the chain.
    fn lowest_barrier_above(&self, frame: &Frame) -> Option<&Frame> {
        let mut lowest = None;
        let mut at = self.current.get();
        // SAFETY: `at` is in the chain, and not below `frame`.
        while let Some(next) = unsafe { next_barrier(at, frame) } {
            // SAFETY: frames in the chain are there.
            let next = unsafe { &*next };
            at = next;
            // A scope that is about to end may have ceased to be one.
            if next.is_barrier() {
                lowest = Some(next);
                at = next.prev.get();
            }
        }
        lowest
    }

    pub(crate) fn push_token(&self, head: &PoolState) {
        // SAFETY: the thread's own; nothing else runs meanwhile.
        self.tokens
            .with_mut(|tokens| unsafe { (*tokens).push(head) });
    }

    pub(crate) fn last_token(&self) -> Option<&PoolState> {
        // SAFETY: as in `push_token`; token pools in the list are open.
        self.tokens
            .with(|tokens| unsafe { (*tokens).last().map(|head| &**head) })
    }

    pub(crate) fn pop_token(&self) {
        // SAFETY: as in `push_token`.
        self.tokens.with_mut(|tokens| unsafe { (*tokens).pop() });
    }

    /// Whether this token pool, or one above it, is being drained.
    pub(crate) fn token_is_draining(&self, head: &PoolState) -> bool {
        // SAFETY: as in `last_token`.
        let tokens = self.tokens.with(|tokens| unsafe { &*tokens });
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
        self.stats.opened() == self.stats.closed() && self.is_topmost(&self.root.frame)
    }
}

/// Returns the first frame from `top` down that is a barrier, or was one when it was last
/// looked for; `None` if `frame` is `top` or stands between the two. Remembers what it finds.
///
/// # Safety
/// Both frames are in the chain, and `top` is not below `frame`.
unsafe fn next_barrier(top: *const Frame, frame: &Frame) -> Option<*const Frame> {
    let mut at = top;
    let barrier = loop {
        if ptr::eq(at, frame) {
            return None;
        }
        count_step();
        // SAFETY: in the chain, as it is not below `frame`.
        let here = unsafe { &*at };
        if here.is_barrier() {
            break at;
        }
        let known = here.next_barrier();
        if !known.is_null() {
            // All frames above a barrier that is known know the same one.
            if ptr::eq(known, frame) || ptr::eq(known, frame.next_barrier()) {
                return None;
            }
            break known;
        }
        at = here.prev.get();
    };
    // The frames from `top` to there stay.
    at = top;
    while !ptr::eq(at, barrier) {
        count_step();
        // SAFETY: as above.
        let here = unsafe { &*at };
        if !here.next_barrier().is_null() {
            break;
        }
        here.remember_barrier(barrier);
        at = here.prev.get();
    }
    Some(barrier)
}

/// Marks the frames from `top` down to `end`, without that one, as removed from the chain.
fn remove(top: *const Frame, end: &Frame) {
    let mut at = top;
    while !ptr::eq(at, end) {
        count_step();
        // SAFETY: it was in the chain until now, and no frame goes before it is removed.
        at = unsafe { &*at }.leave_chain();
    }
}

/// Counts a frame that a walk has visited, in the crate's own tests.
#[cfg(not(test))]
fn count_step() {}

#[cfg(test)]
use super::chain_tests::count_step;

/// A frame of a drain: in the chain as long as this lives.
pub(crate) struct Barrier<'s> {
    stack: &'s PoolStack,
    frame: &'s Frame,
}

impl<'s> Barrier<'s> {
    /// `frame` stays where it is, on the caller's stack.
    #[inline]
    pub(crate) fn raise(stack: &'s PoolStack, frame: &'s Frame, pool: &PoolState) -> Self {
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
