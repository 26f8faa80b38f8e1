//! Tells whether the calling thread is inside the ledger.

use crate::sync::cell::Cell;
use crate::sync::local;

local! {
    static INSIDE: Cell<bool> = Cell::new(false);
}

/// Marks the calling thread as inside the ledger (invariant 2 of `ledger`).
pub(crate) struct Inside(());

impl Inside {
    /// Enters the ledger; `None` if the thread is inside already, because the ledger has called a
    /// global allocator that uses this crate.
    #[inline]
    pub(crate) fn enter() -> Option<Self> {
        // `then`, not `then_some`, which would make an `Inside` even if the thread is inside: its
        // drop would end that state.
        INSIDE
            .with(|inside| !inside.replace(true))
            .then(|| Self(()))
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        INSIDE.with(|inside| inside.set(false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_inside_however_often_it_tries_to_enter() {
        let inside = Inside::enter();
        assert!(inside.is_some());
        assert!((0..2).all(|_| Inside::enter().is_none()));
        drop(inside);
        assert!(Inside::enter().is_some());
    }
}
