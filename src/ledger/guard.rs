//! Whether the calling thread is inside the ledger.

use crate::sync::cell::Cell;
use crate::sync::local;

local! {
    static INSIDE: Cell<bool> = Cell::new(false);
}

/// Marks the calling thread as inside the ledger (invariant 2 of `ledger`).
pub(crate) struct Inside(());

impl Inside {
    /// Enters the ledger; `None` if the thread is inside already, because the ledger has called the
    /// global allocator, and that uses this crate.
    #[inline]
    pub(crate) fn enter() -> Option<Self> {
        INSIDE
            .with(|inside| !inside.replace(true))
            .then_some(Self(()))
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        INSIDE.with(|inside| inside.set(false));
    }
}
