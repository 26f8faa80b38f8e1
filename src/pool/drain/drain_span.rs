//! The span of an outermost drain.
//!
//! A subscriber of `tracing` is foreign code. So a span begins before the drain does anything, and
//! ends after it has done everything. If the drain closes its pool, the span ends after the close:
//! entries that the subscriber added before it would be leaked.

use super::duties::is_idle;
use super::outcome::Outcome;
use crate::event::span::{self, DrainBegin, DrainEnd};
use crate::object::destroy::in_destructor;
use crate::pool::stack::budget::Drained;
use crate::pool::stack::pool_stack::PoolState;
use crate::thread::current::is_exiting;
use crate::unwind::Payload;
use std::ptr::NonNull;

/// Runs `drain`, which drains `pool`, in a span. A drain that a destructor has called, or that has
/// nothing to do, gets no span.
#[inline(always)]
pub(crate) fn around(pool: &PoolState, drain: impl FnOnce() -> Outcome) -> Outcome {
    if !span::wants_drains() {
        return drain();
    }
    span::of_drain(|| describe(pool, is_idle(pool)), drain, figures)
}

/// Runs `close`, which drains `pool` and closes it, in a span as [`around`] does.
///
/// # Safety
/// The pool is open. (`close` may free the pool, so callers pass a pointer and no reference.)
pub(in crate::pool) unsafe fn around_close(
    pool: NonNull<PoolState>,
    close: impl FnOnce() -> Outcome,
) -> Outcome {
    let begin = || {
        // SAFETY: by the contract, the pool is open; `close` has not been called yet.
        let pool = unsafe { pool.as_ref() };
        describe(pool, is_idle(pool))
    };
    span::of_drain(begin, close, figures)
}

fn figures(outcome: &Outcome) -> DrainEnd {
    DrainEnd {
        released: outcome.released,
        remaining: None,
    }
}

/// Runs `pop`, which pops the token pool `pool` and those inside it, in a span.
#[inline(always)]
pub(in crate::pool) fn around_pop<E>(
    pool: &PoolState,
    pop: impl FnOnce() -> Result<usize, E>,
) -> Result<usize, E> {
    let end = |released: &Result<usize, E>| DrainEnd {
        released: *released.as_ref().unwrap_or(&0),
        remaining: None,
    };
    span::of_drain(|| describe(pool, is_idle(pool)), pop, end)
}

/// Runs `drain`, which drains `pool` and the backlog within a budget, in a span.
#[inline(always)]
pub(in crate::pool) fn around_budgeted(
    pool: &PoolState,
    drain: impl FnOnce() -> (Drained, Option<Payload>),
) -> (Drained, Option<Payload>) {
    if !span::wants_drains() {
        return drain();
    }
    let is_idle = || {
        // SAFETY: the pool is open, so its stack exists (invariant 3 of `pool`).
        let stack = unsafe { &*pool.stack.get() };
        let waits = stack.backlog.len() > 0 || stack.thread_pools().has_claimed();
        !waits && is_idle(pool)
    };
    let end = |(drained, _): &(Drained, _)| DrainEnd {
        released: drained.released,
        remaining: Some(drained.remaining),
    };
    span::of_drain(|| describe(pool, is_idle()), drain, end)
}

/// Returns the description of a drain of `pool` for the subscriber; `None` if the drain has no
/// span.
fn describe(pool: &PoolState, is_idle: bool) -> Option<DrainBegin> {
    // SAFETY: the pool is open, so its stack exists (invariant 3 of `pool`).
    let stack = unsafe { &*pool.stack.get() };
    // No span on a thread that exits: a subscriber may need thread-locals, which the thread may
    // have destroyed.
    if is_idle || in_destructor() || is_exiting() {
        return None;
    }
    // The names are copies, because the subscriber may close pools, and so free a name that was
    // borrowed.
    Some(DrainBegin {
        pool: pool.name().to_owned(),
        manager: stack.manager.name.clone(),
        entries: pool.entries.len(),
    })
}
