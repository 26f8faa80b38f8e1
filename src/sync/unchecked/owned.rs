//! A number that only its owner writes.

use crate::sync::atomic::{AtomicU64, Ordering};

/// A number that one thread at a time, its owner, writes, and that any thread reads. The code that
/// passes the ownership on must order the writes of one owner before the writes of the next.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct OwnedU64(AtomicU64);

impl OwnedU64 {
    pub(crate) const fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    /// Owner only: returns the number.
    #[inline(always)]
    pub(crate) fn own(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns the number, or an earlier value of it.
    #[inline(always)]
    pub(crate) fn load(&self, order: Ordering) -> u64 {
        self.0.load(order)
    }

    /// Owner only: sets the number.
    #[inline(always)]
    pub(crate) fn store(&self, value: u64, order: Ordering) {
        self.0.store(value, order);
    }
}
