//! Bits for checks.

use std::sync::atomic::{AtomicU64, Ordering};

/// A bit for each of 64 × `WORDS` things, set and cleared by any thread. As with
/// [`Counter`](super::Counter), no decision that memory safety rests on is taken by it, so
/// it is plain atomics in loom builds too. It orders nothing.
#[derive(Debug)]
pub(crate) struct Bits<const WORDS: usize>([AtomicU64; WORDS]);

impl<const WORDS: usize> Bits<WORDS> {
    pub(crate) const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; WORDS])
    }

    /// Sets or clears one; gives what it was before.
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
