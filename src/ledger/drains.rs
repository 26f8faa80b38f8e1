//! What waits for the end of an outermost drain of the calling thread.

use crate::sync::cell::Cell;
use crate::sync::local;

local! {
    /// What to call at the end of the next outermost drain.
    static AT_END: Cell<Option<fn()>> = Cell::new(None);
}

/// Has `f` called at the end of the calling thread's next outermost drain, once.
pub(crate) fn at_end_of_drain(f: fn()) {
    AT_END.with(|at_end| at_end.set(Some(f)));
}

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
