//! Closing a pool, on behalf of its guard.
//!
//! From the quickest to the slowest: a pool without entries is popped; one with few entries is
//! released here, with no more precautions than its objects need; any other is drained.

use super::drain_span;
use super::engine::drain;
use super::few::{self, Progress};
use super::outcome::Outcome;
use crate::event::span::wants_drains;
use crate::pool::stack::budget::Limit;
use crate::pool::stack::pool_life::Then;
use crate::pool::stack::pool_stack::{PoolStack, PoolState};
use crate::pool::stack::thread_pools::ThreadPools;
use crate::unwind::{FirstPanic, resume_or_report};
use std::ptr::NonNull;

/// Returns whether closing a pool takes no more than popping its frame: it has no entries, its
/// frame is the topmost one, and the thread has nothing else to do. `plain`: the pool has no extras
/// but those that the caller handles.
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
    // SAFETY: its guard is being dropped and has not freed it yet (fact 1 of `guard`).
    let state = unsafe { pool.as_ref() };
    let mut panics = FirstPanic::default();
    let mut is_over = false;
    if state.life.is_plain_guard() && state.entries.are_few(few::FEW) {
        // SAFETY: the pool is open (fact 2 of `guard`).
        let stack = unsafe { &*state.stack.get() };
        let (_, progress) = few::release(state, stack, &mut panics);
        is_over = progress != Progress::Begun;
        // All of this only now, as foreign code may have run: destructors, or the global allocator.
        let is_idle = progress == Progress::Idle && state.entries.is_empty();
        if is_idle && stack.is_topmost(&state.life.frame) && state.life.is_plain_guard() {
            stack.pop_frame(&state.life.frame);
            stack.stats.count_closed();
            return stack.thread_pools().recycle_with_page(state);
        }
    }
    close_rest(pool, is_over, panics);
}

/// Drains a pool, unless that is done, and closes it. Entries have been released before, with these
/// panics.
#[inline(never)]
fn close_rest(pool: NonNull<PoolState>, is_over: bool, mut panics: FirstPanic) {
    // SAFETY: its guard is being dropped and has not freed it yet (fact 1 of `guard`).
    if is_over && unsafe { pool.as_ref() }.entries.is_empty() {
        close_drained(pool);
    } else {
        drain_and_close(pool).keep(&mut panics);
    }
    panics.into_first().into_iter().for_each(resume_or_report);
}

#[cold]
#[inline(never)]
fn close_in_span(pool: NonNull<PoolState>) {
    // SAFETY: its guard is being dropped and has not freed it yet (fact 1 of `guard`).
    unsafe { drain_span::around_close(pool, || drain_and_close(pool)) }.resume();
}

fn drain_and_close(pool: NonNull<PoolState>) -> Outcome {
    // SAFETY: its guard is being dropped and has not freed it yet (fact 1 of `guard`).
    let outcome = drain(unsafe { pool.as_ref() }, Limit::NONE);
    close_drained(pool);
    outcome
}

/// Closes a pool that has been drained, on behalf of its guard, which is not used again.
fn close_drained(pool: NonNull<PoolState>) {
    let then;
    {
        // SAFETY: its guard is being dropped and has not freed it yet (fact 1 of `guard`).
        let state = unsafe { pool.as_ref() };
        // SAFETY: the pool is open (fact 2 of `guard`).
        let stack = unsafe { &*state.stack.get() };
        then = state.life.drop_guard();
        match then {
            Then::Keep => stack.close_above(&state.life.frame),
            Then::Recycle => stack.close_frame(&state.life.frame),
        }
        state.entries.clear(&stack.thread_pools().pages);
        state.clear_extras();
        stack.stats.count_closed();
    }
    if then == Then::Recycle {
        // SAFETY: nothing refers to it (rule 1 of `pool_life`); the references above have ended.
        unsafe { free_state(pool) };
    }
}

/// Recycles the state of a closed pool and frees its detached `ThreadPools`, if this was the last
/// pool in it.
///
/// # Safety
/// Nothing refers to the pool from here on, nor to its `ThreadPools` by way of this pool.
pub(in crate::pool) unsafe fn free_state(pool: NonNull<PoolState>) {
    let pools;
    {
        // SAFETY: it is recycled only below (fact 1 of `guard`).
        let state = unsafe { pool.as_ref() };
        // SAFETY: the stack outlives the recycling of the pool (fact 2 of `guard`).
        let stack = unsafe { &*state.stack.get() };
        stack.thread_pools().recycle(state);
        pools = stack.thread_pools_ptr();
    }
    // SAFETY: the references above have ended, and the caller has none.
    unsafe { ThreadPools::guard_closed(pools) };
}
