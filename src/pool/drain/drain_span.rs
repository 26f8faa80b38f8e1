//! The span of an outermost drain.
//!
//! A subscriber of `tracing` is foreign code. So a span begins before the drain does anything, and
//! ends after it has done everything. If the drain closes its pool, the span ends after the close:
//! entries that the subscriber added to a pool that is about to be closed would leak.

use super::duties::is_idle;
use crate::event::span::{self, DrainBegin, DrainEnd};
use crate::object::destroy::in_destructor;
use crate::pool::stack::budget::{Drained, Outcome};
use crate::pool::stack::pool_stack::PoolState;
use crate::thread::current::is_exiting;
use crate::unwind::Payload;
use std::ptr::NonNull;

/// The result of a drain in a span.
pub(crate) trait Drains {
    /// True if the drain also releases from the backlog, within a budget.
    const BUDGETED: bool = false;

    /// Returns the figures for the span's end.
    fn figures(&self) -> DrainEnd;
}

impl Drains for Outcome {
    fn figures(&self) -> DrainEnd {
        (self.released, None)
    }
}

/// The result of popping a token pool and the token pools inside it.
impl<E> Drains for Result<usize, E> {
    fn figures(&self) -> DrainEnd {
        (*self.as_ref().unwrap_or(&0), None)
    }
}

impl Drains for (Drained, Option<Payload>) {
    const BUDGETED: bool = true;

    fn figures(&self) -> DrainEnd {
        (self.0.released, Some(self.0.remaining))
    }
}

/// Runs `drain`, which drains `pool`, in a span. A drain that a destructor has called, or that has
/// nothing to do, gets no span.
#[inline(always)]
pub(crate) fn around<R: Drains>(pool: &PoolState, drain: impl FnOnce() -> R) -> R {
    if !span::wants_drains() {
        return drain();
    }
    span::of_drain(|| describe::<R>(pool), drain, R::figures)
}

/// Runs `close`, which drains `pool` and closes it, in a span as [`around`] does.
///
/// # Safety
/// The pool is open. (`close` may free the pool, so callers pass a pointer and no reference.)
pub(in crate::pool) unsafe fn around_close<R: Drains>(
    pool: NonNull<PoolState>,
    close: impl FnOnce() -> R,
) -> R {
    // SAFETY: by the contract, the pool is open; `close` has not been called yet.
    let begin = || describe::<R>(unsafe { pool.as_ref() });
    span::of_drain(begin, close, R::figures)
}

/// Returns the description of a drain of `pool` for the subscriber; `None` if the drain has no
/// span.
fn describe<R: Drains>(pool: &PoolState) -> Option<DrainBegin> {
    // SAFETY: the pool is open, so its stack exists (invariant 3 of `pool`).
    let stack = unsafe { &*pool.stack.get() };
    let waits = || stack.backlog.len() > 0 || stack.thread_pools().has_claimed();
    let is_idle = is_idle(pool) && !(R::BUDGETED && waits());
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
