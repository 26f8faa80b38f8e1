//! Statistics.

use std::sync::atomic::{AtomicU64, Ordering};

/// A figure for people: written by one thread (or, by [`Counter::add_shared`],
/// by several), read by any. Nothing waits by it, and no decision that memory safety
/// rests on is ever taken by it, so it is a plain atomic in loom builds too, where
/// it would only multiply the executions. It orders nothing.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Only for the one thread that writes this counter: a load and a store,
    /// no read-modify-write.
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.set(self.0.load(Ordering::Relaxed).wrapping_add(n));
    }

    #[inline]
    pub(crate) fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    /// For counters that several threads write. Gives the figure before.
    pub(crate) fn add_shared(&self, n: u64) -> u64 {
        self.0.fetch_add(n, Ordering::Relaxed)
    }

    /// The opposite of [`Counter::add_shared`].
    pub(crate) fn subtract_shared(&self, n: u64) -> u64 {
        self.0.fetch_sub(n, Ordering::Relaxed)
    }

    /// Raises it to `n`, if it is less; for counters that several threads write.
    pub(crate) fn raise_shared(&self, n: u64) {
        self.0.fetch_max(n, Ordering::Relaxed);
    }

    /// Takes the figure away, for a counter whose writer has gone.
    pub(crate) fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}
