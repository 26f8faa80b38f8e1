//! Pseudo-random numbers, and the programs that they determine: for shuttle and soak, which draw programs
//! without proptest or libFuzzer.

use super::step::{Kind, Step};

/// A sequence of pseudo-random numbers (SplitMix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Draws the kinds of a program. Most programs leave out half of them, so that threads meet more
    /// often in the others; all make objects.
    pub fn kinds(&mut self) -> Vec<Kind> {
        let has_all = self.one_in(4);
        let drawn = |kind: &Kind| *kind == Kind::Create || has_all || self.one_in(2);
        Kind::all().into_iter().filter(drawn).collect()
    }

    fn step(&mut self, kinds: &[Kind]) -> Step {
        let [a, b, ..] = self.next().to_le_bytes();
        Step(kinds[self.below(kinds.len())], a, b)
    }

    pub fn program(&mut self, kinds: &[Kind], steps: usize) -> Vec<Step> {
        (0..steps).map(|_| self.step(kinds)).collect()
    }
}
