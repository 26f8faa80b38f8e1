//! Chance: SplitMix64, which is short.

use std::ops::Range;

pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn in_range(&mut self, range: Range<u64>) -> u64 {
        range.start + self.roll() % (range.end - range.start)
    }

    pub fn index(&mut self, len: usize) -> usize {
        (self.roll() % len as u64) as usize
    }

    /// Yes, once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.roll() % n == 0
    }
}
