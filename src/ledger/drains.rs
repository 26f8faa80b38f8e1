//! Functions to be called at the end of an outermost drain of the calling thread.

use crate::sync::cell::Cell;
use crate::sync::local;

local! {
    /// The functions to call at the end of the next outermost drain.
    static AT_END: Cell<Option<fn()>> = Cell::new(None);
}

local! {
    /// True while the thread, which has exited, calls it.
    static LAST: Cell<bool> = Cell::new(false);
}

/// Has `f` called at the end of the calling thread's next outermost drain, once.
pub(crate) fn at_end_of_drain(f: fn()) {
    AT_END.with(|at_end| at_end.set(Some(f)));
}

/// How often a thread that has exited calls what then is to be called.
const ROUNDS: usize = 1_000;

/// Returns whether something waits for the end of an outermost drain. Then drains of empty pools
/// must not be skipped.
#[inline]
pub(crate) fn awaits_drain() -> bool {
    AT_END.with(|at_end| at_end.get().is_some())
}

/// Ends an outermost drain of the calling thread.
#[inline]
pub(crate) fn drained() {
    if let Some(f) = AT_END.with(Cell::take) {
        f();
    }
}

/// Ends the last drain of the calling thread, which has exited. What is to be called then may have
/// itself called again, but not for ever: the thread must end.
pub(crate) fn drained_last() {
    if LAST.with(|last| last.replace(true)) {
        return;
    }
    for _ in 0..ROUNDS {
        match AT_END.with(Cell::take) {
            Some(f) => f(),
            None => break,
        }
    }
    LAST.with(|last| last.set(false));
}
