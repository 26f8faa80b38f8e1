//! Statistics.

use std::sync::atomic::{AtomicU64, Ordering};

/// A figure or a hint: written by one thread (or, by [`Counter::add_shared`], by several), read by
/// any. Code may decide by it when to do something (advance the epoch, warn, keep to a cap, free
/// an abandoned manager's stack); never whether memory may be used or freed by another thread. It
/// orders nothing, so it is a plain atomic in loom builds too, where it would only multiply the
/// executions.
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

    /// Sets it to `n` if it is `before`; returns whether it was.
    pub(crate) fn replace_if(&self, before: u64, n: u64) -> bool {
        let relaxed = Ordering::Relaxed;
        self.0.compare_exchange(before, n, relaxed, relaxed).is_ok()
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
