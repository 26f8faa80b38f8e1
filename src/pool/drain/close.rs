//! Closing a pool, on behalf of its guard.
//!
//! From the quickest way to the slowest: a pool without entries is popped; a pool with few entries
//! is released here, with no more precautions than its objects need; any other pool is drained.

use super::drain_span;
use super::engine::{FEW, Progress, drain, release_few};
use super::this_thread;
use crate::event::span::wants_drains;
use crate::pool::stack::budget::{Limit, Outcome};
use crate::pool::stack::pool_life::Then;
use crate::pool::stack::pool_stack::{PoolStack, PoolState};
use crate::unwind::FirstPanic;
use std::ptr::NonNull;

/// Returns whether the pool `state` can be closed by popping its frame: it has no entries, its
/// frame is the topmost one, and the thread has nothing else to do. `plain` is the result of
/// `is_plain_guard` or `is_plain_scope`.
#[inline(always)]
pub(in crate::pool) fn can_just_pop(state: &PoolState, stack: &PoolStack, plain: bool) -> bool {
    let pools = stack.thread_pools();
    let simple = state.entries.is_empty() && stack.is_topmost(&state.life.frame) && plain;
    simple && !pools.has_duties(stack)
}

/// Releases all entries of a pool and closes it, on behalf of its guard, which is not used again.
///
/// # Panics
/// With the first panic of a destructor, at the end.
#[inline(never)]
pub(in crate::pool) fn close(pool: NonNull<PoolState>) {
    if wants_drains() {
        return close_in_span(pool);
    }
    // SAFETY: the pool's guard is being dropped and has not freed the pool yet (fact 1 of `guard`).
    let state = unsafe { pool.as_ref() };
    let mut panics = FirstPanic::default();
    let mut is_over = false;
    if state.life.is_plain_guard() && state.entries.are_few(FEW) {
        // SAFETY: the pool is open (fact 2 of `guard`).
        let stack = unsafe { &*state.stack.get() };
        let (_, progress) = release_few(state, stack, &mut panics);
        is_over = progress != Progress::Begun;
        // Tests the pool after the releases: foreign code, which is destructors or the global
        // allocator, may have changed it. It is still plain, as no code has its guard.
        let is_idle = progress == Progress::Idle && state.entries.is_empty();
        if is_idle && stack.is_topmost(&state.life.frame) {
            stack.pop_frame(&state.life.frame);
            stack.stats.count_closed();
            panics.expect_none();
            return stack.thread_pools().recycle_with_page(state);
        }
    }
    close_rest(pool, is_over, panics);
}

/// Closes a pool. Drains it first, unless the caller has done so (`is_over`) and the pool is still
/// empty. `panics` has the first panic of the caller's releases.
#[inline(never)]
fn close_rest(pool: NonNull<PoolState>, is_over: bool, mut panics: FirstPanic) {
    // SAFETY: the pool's guard is being dropped and has not freed the pool yet (fact 1 of `guard`).
    if is_over && unsafe { pool.as_ref() }.entries.is_empty() {
        close_drained(pool);
    } else {
        drain_and_close(pool).keep(&mut panics);
    }
    panics.resume();
}

#[cold]
#[inline(never)]
fn close_in_span(pool: NonNull<PoolState>) {
    // SAFETY: the pool's guard is being dropped and has not freed the pool yet (fact 1 of `guard`).
    unsafe { drain_span::around_close(pool, || drain_and_close(pool)) }.resume();
}

fn drain_and_close(pool: NonNull<PoolState>) -> Outcome {
    // SAFETY: the pool's guard is being dropped and has not freed the pool yet (fact 1 of `guard`).
    let state = unsafe { pool.as_ref() };
    // A pool with entries that were added after its last drain closes like any other, even if that
    // drain was within a budget.
    if !state.entries.is_empty() {
        state.life.set_budgeted(false);
    }
    let outcome = drain(state, Limit::NONE);
    close_drained(pool);
    outcome
}

/// Closes a pool that has been drained, on behalf of its guard, which is not used again.
fn close_drained(pool: NonNull<PoolState>) {
    let then;
    {
        // SAFETY: the pool's guard is being dropped and has not freed the pool yet (fact 1 of
        // `guard`).
        let state = unsafe { pool.as_ref() };
        // SAFETY: the pool is open (fact 2 of `guard`).
        let stack = unsafe { &*state.stack.get() };
        then = state.life.drop_guard();
        match then {
            // The frame stays until the scope ends.
            Then::Keep => {}
            Then::Recycle => stack.close_frame(&state.life.frame),
        }
        debug_assert!(state.entries.is_empty(), "they would leak");
        state.entries.clear(&stack.thread_pools().pages);
        state.clear_extras();
        stack.stats.count_closed();
    }
    if then == Then::Recycle {
        // SAFETY: nothing refers to the pool (rule 1 of `pool_life`); the references above have
        // ended.
        unsafe { free_state(pool) };
    }
}

/// Recycles the state of a closed pool. If its `ThreadPools` is detached and has no other open
/// pool, frees the `ThreadPools`, too.
///
/// # Safety
/// Nothing refers to the pool from here on, nor to its `ThreadPools` by way of this pool.
pub(in crate::pool) unsafe fn free_state(pool: NonNull<PoolState>) {
    let pools;
    {
        // SAFETY: the pool is recycled only below (fact 1 of `guard`).
        let state = unsafe { pool.as_ref() };
        // SAFETY: the stack outlives the recycling of the pool (fact 2 of `guard`).
        let stack = unsafe { &*state.stack.get() };
        stack.thread_pools().recycle(state);
        pools = stack.thread_pools_ptr();
    }
    // SAFETY: the references above have ended, and the caller has none.
    unsafe { this_thread::pool_closed(pools) };
}
