//! A bit set for the detection of misuse.

use std::sync::atomic::{AtomicU64, Ordering};

/// A set of 64 × `WORDS` bits, set and cleared by any thread.
///
/// The set decides only whether to abort on misuse: correct programs behave the same without it. So
/// it uses plain atomics in loom builds too, as [`Counter`](super::Counter) does. Its operations
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
