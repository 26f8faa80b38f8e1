//! Statistics, hints, settings, unique numbers and bits that detect misuse, which no model needs to check.
//!
//! They are relaxed atomics of the standard library in loom builds, too: if loom saw their
//! operations, each would only multiply the executions. This is sound because
//!
//! 1. they order nothing: every operation is `Relaxed`, which `ci/mutate.sh` checks, and
//! 2. they never decide whether memory is freed, or whether something runs that must run or must
//!    not run. A [`Counter`] decides only what a report says; a [`Hint`] or a [`Setting`] decides
//!    only when optional work is done, and every value it ever had is a correct one to act on.
//!
//! All other decisions rest on cells of one thread, or on atomics of `sync::atomic`.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// A figure for reports, written by one thread (by several threads with the `_shared` functions)
/// and read by any. A counter decides nothing else; but its one writer, which reads exactly the
/// values that it wrote, may use the difference between two of these values.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Adds `n`, by a load and a store without a read-modify-write. For the only thread that writes
    /// this counter.
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.set(self.0.load(Ordering::Relaxed).wrapping_add(n));
    }

    #[inline]
    pub(crate) fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    /// Adds `n`; for counters that several threads write.
    pub(crate) fn add_shared(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Subtracts `n`; for counters that several threads write.
    pub(crate) fn subtract_shared(&self, n: u64) {
        self.0.fetch_sub(n, Ordering::Relaxed);
    }

    /// Raises the figure to `n` if it is less; for counters that several threads write.
    pub(crate) fn raise_shared(&self, n: u64) {
        self.0.fetch_max(n, Ordering::Relaxed);
    }

    /// Resets the figure to 0 and returns the old one; for a counter whose writer has exited.
    pub(crate) fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// A value by which any thread decides when to do optional work: to report something, or to repeat
/// a check. With a stale value, a thread does the work sooner, later, once more or once less.
#[derive(Debug, Default)]
pub(crate) struct Hint(AtomicU64);

impl Hint {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    /// Sets the value to `n` if it is `before`; returns whether it was. If several threads try to
    /// replace one value, exactly one succeeds.
    pub(crate) fn replace_if(&self, before: u64, n: u64) -> bool {
        let relaxed = Ordering::Relaxed;
        self.0.compare_exchange(before, n, relaxed, relaxed).is_ok()
    }
}

/// A setting that may change at any time. Each thread uses the new value when it next reads the
/// setting, and every value that was ever set is a correct one to act on.
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

/// Gives out unique, increasing numbers, by an atomic read-modify-write, whose result is exact
/// under any ordering.
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

/// An address that readers outside the process find. Inside the process, only threads that hold a
/// lock read and write the address.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Published<T>(AtomicPtr<T>);

#[allow(dead_code, reason = "for the feature leak-detection")]
impl<T> Published<T> {
    pub(crate) const fn new() -> Self {
        Self(AtomicPtr::new(std::ptr::null_mut()))
    }

    pub(crate) fn get(&self) -> *mut T {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, at: *mut T) {
        self.0.store(at, Ordering::Relaxed);
    }
}

/// A set of 64 × `WORDS` bits, set and cleared by any thread.
///
/// The set decides only whether to abort on misuse: correct programs behave the same without it. So
/// it uses plain atomics in loom builds too, as [`Counter`] does. Its operations
/// order nothing.
#[derive(Debug)]
pub(crate) struct Bits<const WORDS: usize>([AtomicU64; WORDS]);

impl<const WORDS: usize> Bits<WORDS> {
    pub(crate) const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; WORDS])
    }

    /// Sets or clears the bit at `index`; returns its previous value.
    pub(crate) fn replace(&self, index: usize, value: bool) -> bool {
        let (word, bit) = (&self.0[index / 64], 1 << (index % 64));
        let before = if value {
            word.fetch_or(bit, Ordering::Relaxed)
        } else {
            word.fetch_and(!bit, Ordering::Relaxed)
        };
        before & bit != 0
    }
}
