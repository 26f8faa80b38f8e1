//! Which pool is current.
//!
//! Each manager has, on each thread, a chain of [`ChainFrame`]s that ends in the root pool's.
//! Opening a pool puts its frame on top. A drain puts a frame on top, too, which makes the drained
//! pool current until the drain ends. The topmost frame that has a pool says which pool is current.
//!
//! Closing a guard's pool removes its frame alone: the innermost pool that is still open stays
//! current. The end of a *scope* makes the pool current that was current before the scope: it
//! removes all frames above the scope's own, up to the next *barrier*. The pools of these frames,
//! which were forgotten or will be dropped later, keep their entries, but are not current any more.
//! (If the pool that was current before the scope was closed in it, guard pools stay in the chain:
//! one of them has most likely replaced that pool.) Scopes are drains, closures of
//! `autoreleasepool` and the like, and token pools; barriers are the frames of the first two.
//!
//! An open token pool is in the chain until its thread exits, as the end of a scope pops the token
//! pools above the scope's frame.
//!
//! A scope's closure may replace the scope's guard by another one and drop the first: until the
//! scope ends, the scope's frame is then a barrier without a pool.
//!
//! Frames are linked in both directions, so closing a guard's pool takes constant time, and the end
//! of a scope takes a step for each frame that it removes. A frame that such an end removes is
//! marked, so that closing its pool later does not search the chain for it.

use super::pool_life::{ChainFrame, PoolKind, Then};
use super::pool_stack::{PoolStack, PoolState};
use std::{mem, ptr};

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

    /// Returns whether the root pool is the current one. A drain of the root pool makes it so, too,
    /// even if other pools are open.
    pub(crate) fn at_root(&self) -> bool {
        ptr::eq(self.current_pool(), &self.root)
    }

    #[inline]
    pub(crate) fn push_frame(&self, frame: &ChainFrame) {
        let below = self.current.get();
        frame.prev.set(below);
        // SAFETY: frames in the chain exist (invariant 4 of `pool`).
        unsafe { &*below }.next.set(frame);
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
        let mut at = self.current.replace(root);
        while !ptr::eq(at, root) {
            count_step();
            // SAFETY: the frame was in the chain until now, and no frame is freed before it is
            // removed (invariant 4 of `pool`).
            at = unsafe { &*at }.leave_chain();
        }
    }

    /// Removes a frame, and no other. Does nothing if it is not in the chain any more.
    #[inline]
    pub(crate) fn close_frame(&self, frame: &ChainFrame) {
        if self.is_topmost(frame) {
            self.pop_frame(frame);
        } else {
            self.unlink(frame);
        }
    }

    /// Removes a frame that is not the topmost.
    #[cold]
    fn unlink(&self, frame: &ChainFrame) {
        if frame.is_in_chain() {
            count_step();
            // SAFETY: `frame` is in the chain and is not the topmost, so both frames next to it are in
            // the chain, and exist (invariant 4 of `pool`).
            let (below, above) = unsafe { (&*frame.leave_chain(), &*frame.next.get()) };
            below.next.set(above);
            above.prev.set(below);
            above.note_former_closed();
        }
    }

    /// Removes the frames of guard pools above `frame` up to the next barrier or token pool.
    /// Returns that token pool; `None` if a barrier comes first, if there is neither, or if `frame`
    /// has left the chain. Guard pools stay if the pool that was current before the scope of
    /// `frame` is closed.
    pub(in crate::pool) fn cut_guards_above(&self, frame: &ChainFrame) -> Option<&PoolState> {
        let stay = frame.is_former_closed();
        let mut at = frame;
        while frame.is_in_chain() && !self.is_topmost(at) {
            count_step();
            // SAFETY: `at` is in the chain and is not the topmost, so `next` is in the chain, and
            // exists (invariant 4 of `pool`).
            let next = unsafe { &*at.next.get() };
            if next.is_barrier() {
                return None;
            }
            // SAFETY: a frame that is no barrier names the open pool that it is part of (rule 2 of
            // `pool_life`), and this is that pool's address.
            let pool: &PoolState = unsafe { &*next.pool.get().cast() };
            if pool.life.is(PoolKind::Token) {
                return Some(pool);
            }
            if stay {
                at = next;
                continue;
            }
            self.close_frame(next);
            next.leave_chain();
        }
        None
    }

    /// Gives up `pool`, the newest token pool, in the exit of a thread on whose call stack a drain
    /// of `pool` is in progress: the process ends in a destructor, and that drain never goes on.
    pub(in crate::pool) fn abandon_token(&self, pool: &PoolState) {
        self.tokens.set(pool.next_in_list.get());
        pool.life.abandon();
    }

    /// Closes a token pool, whose entries have been released. If `ends_scope`, the pool that was
    /// current before the push is current again. Takes a step for each token pool above `pool`.
    pub(in crate::pool) fn close_token(&self, pool: &PoolState, ends_scope: bool) {
        if ends_scope {
            self.cut_guards_above(&pool.life.frame);
        }
        let mut list = &self.tokens;
        while !ptr::eq(list.get(), pool) {
            count_step();
            // SAFETY: the pool is in the list, so this is an open pool above it (invariant 3 of `pool`).
            list = unsafe { &(*list.get()).next_in_list };
        }
        list.set(pool.next_in_list.get());
        self.close_frame(&pool.life.frame);
        let pools = self.thread_pools();
        pool.entries.clear(&pools.pages);
        pool.clear_extras();
        if pool.life.end_generation() == Then::Recycle {
            pools.recycle(pool);
        }
        self.stats.count_closed();
        if pools.is_detached() {
            // The caller keeps another pool of `pools` open, so this was not the last.
            pools.count_closed();
        }
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

    /// Removes the frame if it is the topmost one; otherwise returns the barrier.
    #[inline]
    pub(in crate::pool) fn lower(self) -> Result<(), Self> {
        if !self.stack.is_topmost(self.frame) {
            return Err(self);
        }
        self.stack.pop_frame(self.frame);
        mem::forget(self);
        Ok(())
    }

    pub(in crate::pool) fn frame(&self) -> &'s ChainFrame {
        self.frame
    }
}

impl Drop for Barrier<'_> {
    #[inline]
    fn drop(&mut self) {
        self.stack.close_frame(self.frame);
    }
}

/// Does nothing. In the crate's own tests, counts a frame that a walk has visited.
#[cfg(not(test))]
fn count_step() {}

#[cfg(test)]
use steps::count_step;

/// The frames that walks have visited, counted for tests.
#[cfg(test)]
mod steps {
    use crate::sync::cell::Cell;
    use crate::sync::local;

    local! {
        static STEPS: Cell<usize> = Cell::new(0);
    }

    pub(super) fn count_step() {
        STEPS.with(|steps| steps.set(steps.get() + 1));
    }

    /// Returns how many frames `f` visits on this thread.
    pub(super) fn steps_of(f: impl FnOnce()) -> usize {
        let before = STEPS.with(|steps| steps.get());
        f();
        STEPS.with(|steps| steps.get()) - before
    }
}

/// Tests how many frames a walk of the chain visits.
#[cfg(test)]
mod tests {
    use super::steps::steps_of;
    use super::*;
    use crate::pool::api::guard::AutoreleasePool;
    use crate::pool::api::scope::autoreleasepool;
    use crate::pool::api::token;
    use crate::pool::drain::this_thread;
    use crate::pool::stack::manager_shared::ManagerShared;
    use std::panic::Location;
    use std::ptr;

    fn open(n: usize) -> Vec<AutoreleasePool> {
        (0..n).map(|_| AutoreleasePool::new()).collect()
    }

    fn current() -> *const PoolState {
        this_thread::with(|pools| ptr::from_ref(pools.unwrap().first.current_pool()))
    }

    const MANY: usize = if cfg!(miri) { 300 } else { 20_000 };

    #[test]
    fn pools_that_have_left_the_chain_are_closed_without_a_walk() {
        let below = open(MANY);
        let above = open(MANY);
        let last = ptr::from_ref(below.last().unwrap().state());
        // Closes the lowest pool first. Unlinking a pool takes one step, the topmost pool none.
        let steps = steps_of(|| drop(above));
        assert!(steps <= 2 * MANY, "{steps} steps");
        assert_eq!(current(), last);
        let steps = steps_of(|| below.into_iter().rev().for_each(drop));
        assert_eq!(steps, 0, "the topmost each time");
    }

    /// Puts pools into objects that `pool` owns, and drains `pool`: the last of the owned pools is closed
    /// first. Returns the number of frames visited.
    fn drain_owners(pool: &mut AutoreleasePool, owned: Vec<AutoreleasePool>) -> usize {
        for owned in owned {
            pool.create(owned);
        }
        steps_of(|| {
            pool.drain();
        })
    }

    #[test]
    fn objects_that_own_pools_are_released_in_linear_time_in_either_order() {
        let mut pool = AutoreleasePool::new();
        let below = open(MANY);
        let mut owned = open(MANY);
        let steps = drain_owners(&mut pool, owned);
        assert!(steps <= 3 * MANY, "newest first: {steps} steps");
        owned = open(MANY);
        owned.reverse();
        let steps = drain_owners(&mut pool, owned);
        assert!(steps <= 3 * MANY, "oldest first: {steps} steps");
        assert_eq!(current(), ptr::from_ref(below.last().unwrap().state()));
    }

    #[test]
    fn pools_below_a_barrier_are_closed_in_linear_time_whatever_is_above() {
        let mut below = open(MANY);
        autoreleasepool(|scope| {
            let mut above = open(MANY);
            let steps = steps_of(|| {
                while let Some(pool) = below.pop() {
                    drop(pool);
                    // Closes some pools that were visited, and opens others.
                    above.truncate(MANY - 2);
                    above.extend(open(2));
                }
            });
            assert!(steps <= 12 * MANY, "{steps} steps");
            above.into_iter().rev().for_each(drop);
            assert_eq!(current(), ptr::from_ref(scope.state()));
        });
    }

    #[test]
    fn a_scope_leaves_pools_in_linear_time() {
        let mut left = Vec::new();
        let steps = steps_of(|| {
            autoreleasepool(|_| {
                for _ in 0..MANY {
                    left.extend(open(2));
                    let _ = token::push(&ManagerShared::global(), Location::caller());
                }
            });
        });
        assert!(steps <= 7 * MANY, "{steps} steps");
        assert_eq!(steps_of(|| drop(left)), 0, "none is in the chain");
    }
}
