//! Which pool is current.
//!
//! Each manager has, on each thread, a chain of [`ChainFrame`]s that ends in the root pool's.
//! Opening a pool puts its frame on top. A drain puts a frame on top, too, so that the drained pool
//! is current meanwhile. The topmost frame that has a pool says which pool is current.
//!
//! Closing a pool removes its frame and, up to the next *barrier*, all frames above it, which
//! belong to pools that were forgotten or that will be dropped out of order. These pools keep their
//! entries but are no longer current. Barriers are the frames of drains, and of pools of scopes
//! such as `autoreleasepool`: a barrier, and the frames above it, stay until the drain or the scope
//! ends.
//!
//! A scope's closure may replace the scope's guard by another one and drop the first: until the
//! scope ends, the scope's frame is then a barrier without a pool.
//!
//! Closing costs amortized constant time for each pool, plus a step for each barrier above it. A
//! frame that is removed from the chain is marked, so that nothing searches the chain for it again.
//! A walk that passes frames above a barrier, which stay, caches that barrier in each of them;
//! later walks skip these frames.

use super::pool_life::{ChainFrame, Then};
use super::pool_stack::{PoolStack, PoolState};
use std::ptr;

impl PoolStack {
    /// Returns the pool that implicit releases go to.
    #[inline]
    pub(crate) fn current_pool(&self) -> &PoolState {
        let mut frame = self.current.get();
        loop {
            // SAFETY: frames in the chain exist, and the last one, the root pool's, has a pool
            // (invariant 4 of `pool`).
            let (pool, prev) = unsafe { ((*frame).pool.get(), (*frame).prev.get()) };
            if !pool.is_null() {
                // SAFETY: a frame's pool is open (invariant 4 of `pool`), and this is its address.
                return unsafe { &*pool.cast() };
            }
            frame = prev;
        }
    }

    /// Returns whether the root pool is the current one: no other pool is open, though the root
    /// pool itself may be draining.
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

    /// Closes a plain pool, whose frame is known to be the topmost, and which has no entries.
    #[inline]
    pub(in crate::pool) fn pop(&self, pool: &PoolState) {
        self.pop_frame(&pool.life.frame);
        self.stats.count_closed();
        self.thread_pools().recycle(pool);
    }

    /// Makes the root pool current, whichever pools are still open. For the thread's exit.
    pub(in crate::pool) fn fall_back_to_root(&self) {
        let root = &self.root.life.frame;
        remove(self.current.replace(root), root);
    }

    /// Removes a frame and those above it, up to the next barrier. Does nothing if the frame is
    /// not in the chain any more.
    #[inline]
    pub(crate) fn close_frame(&self, frame: &ChainFrame) {
        if self.is_topmost(frame) {
            self.pop_frame(frame);
        } else {
            self.cut(frame, frame.prev.get());
        }
    }

    /// Removes the frames above `frame`, up to the next barrier.
    pub(crate) fn close_above(&self, frame: &ChainFrame) {
        self.cut(frame, frame);
    }

    /// Removes the frames above `frame` up to the next barrier, and puts `rest` in their place:
    /// either `frame` itself or, to remove it too, the one below it.
    #[cold]
    fn cut(&self, frame: &ChainFrame, rest: *const ChainFrame) {
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
    fn lowest_barrier_above(&self, frame: &ChainFrame) -> Option<&ChainFrame> {
        let mut lowest = None;
        let mut at = self.current.get();
        // SAFETY: both frames are in the chain, and `at` is not below `frame`.
        while let Some(next) = unsafe { next_barrier(at, frame) } {
            // SAFETY: frames in the chain exist (invariant 4 of `pool`).
            let next = unsafe { &*next };
            at = next;
            // The cached frame may no longer be a barrier.
            if next.is_barrier() {
                lowest = Some(next);
                at = next.prev.get();
            }
        }
        lowest
    }

    /// Closes the last token pool, whose entries have been released.
    pub(in crate::pool) fn close_token(&self, pool: &PoolState) {
        self.pop_token();
        self.close_frame(&pool.life.frame);
        let pools = self.thread_pools();
        pool.entries.clear(&pools.pages);
        pool.clear_extras();
        if pool.life.end_generation() == Then::Recycle {
            pools.recycle(pool);
        }
        self.stats.count_closed();
    }
}

/// Returns the first frame from `top` down that is a barrier, or is cached as one; `None` if
/// `frame` is `top` or lies between the two. Caches the barrier in the frames that it passes.
///
/// # Safety
/// Both frames are in the chain, and `top` is not below `frame`.
unsafe fn next_barrier(top: *const ChainFrame, frame: &ChainFrame) -> Option<*const ChainFrame> {
    let mut at = top;
    let barrier = loop {
        if ptr::eq(at, frame) {
            return None;
        }
        count_step();
        // SAFETY: `at` is not below `frame`, so it is in the chain, and exists (invariant 4 of
        // `pool`).
        let here = unsafe { &*at };
        if here.is_barrier() {
            break at;
        }
        let known = here.next_barrier();
        if !known.is_null() {
            // All frames directly above a known barrier have cached that barrier.
            if ptr::eq(known, frame) || ptr::eq(known, frame.next_barrier()) {
                return None;
            }
            break known;
        }
        at = here.prev.get();
    };
    // The frames from `top` to the barrier stay in the chain.
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

/// Marks the frames from `top` down to `end`, excluding `end`, as removed from the chain.
fn remove(top: *const ChainFrame, end: &ChainFrame) {
    let mut at = top;
    while !ptr::eq(at, end) {
        count_step();
        // SAFETY: the frame was in the chain until now, and no frame is freed before it is removed
        // (invariant 4 of `pool`).
        at = unsafe { &*at }.leave_chain();
    }
}

/// A drain's frame, which is in the chain as long as the `Barrier` lives.
pub(crate) struct Barrier<'s> {
    stack: &'s PoolStack,
    frame: &'s ChainFrame,
}

impl<'s> Barrier<'s> {
    /// Puts `frame` on top of the chain. The frame stays in its place, on the caller's stack.
    #[inline]
    pub(crate) fn raise(stack: &'s PoolStack, frame: &'s ChainFrame, pool: &PoolState) -> Self {
        frame.pool.set(pool.as_life());
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

/// Counts a frame that a walk has visited, in the crate's own tests.
#[cfg(not(test))]
fn count_step() {}

#[cfg(test)]
use steps::count_step;

/// The frames that walks have visited, counted for tests.
#[cfg(test)]
pub(super) mod steps {
    use crate::sync::cell::Cell;
    use crate::sync::local;

    local! {
        static STEPS: Cell<usize> = Cell::new(0);
    }

    pub(super) fn count_step() {
        STEPS.with(|steps| steps.set(steps.get() + 1));
    }

    /// Returns how many frames `f` visits on this thread.
    pub(in crate::pool) fn steps_of(f: impl FnOnce()) -> usize {
        let before = STEPS.with(|steps| steps.get());
        f();
        STEPS.with(|steps| steps.get()) - before
    }
}
