//! What no model needs to check: statistics, settings, numbers.
//!
//! They are relaxed atomics of the standard library in loom builds, too, where each of their
//! operations would only multiply the executions. So they must not order anything, and nothing may
//! be decided by a [`Counter`]; whatever is decided by is one of `sync::atomic`.

use std::sync::atomic::{AtomicU64, Ordering};

/// A figure for people: written by one thread (or, by the `_shared` functions, by several), read by
/// any. Code may decide by it what to report, and how much of what is optional to do before the
/// thread looks again; and its only writer may do so by what it wrote itself.
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

    /// For counters that several threads write.
    pub(crate) fn add_shared(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// The opposite of [`Counter::add_shared`].
    pub(crate) fn subtract_shared(&self, n: u64) {
        self.0.fetch_sub(n, Ordering::Relaxed);
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

/// A setting that may change at any time: each thread takes up the new value when it next looks, and
/// every value that was ever set is one to go by.
#[derive(Debug)]
pub(crate) struct Setting(AtomicU64);

impl Setting {
    pub(crate) const fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// Gives numbers, each once: what is an atomic read-modify-write in any order, so of two of them one
/// is greater.
#[derive(Debug)]
pub(crate) struct Numbers(AtomicU64);

impl Numbers {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(crate) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}
