//! Calls functions at the end of outermost drains of the calling thread.

use crate::sync::cell::Cell;
use crate::sync::local;

local! {
    /// The functions to call at the end of the next outermost drain.
    static AT_END: Cell<Option<fn()>> = Cell::new(None);
}

local! {
    /// True while the thread, which has exited, is inside [`drained_last`].
    static LAST: Cell<bool> = Cell::new(false);
}

/// Requests one call of `f`, at the end of the calling thread's next outermost drain.
pub(crate) fn at_end_of_drain(f: fn()) {
    AT_END.with(|at_end| at_end.set(Some(f)));
}

/// The greatest number of functions that a thread that has exited calls.
const ROUNDS: usize = 1_000;

/// Returns whether a function waits for the end of an outermost drain. If so, drains of empty pools
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

/// Ends the last drain of the calling thread, which has exited. A function may request another
/// call, but only a limited number of times: the thread must end.
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
