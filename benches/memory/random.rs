//! Random numbers: the same sequence in every run, and for all allocators.

/// Marsaglia's xorshift. Not `fastrand`: its cost, about a nanosecond, is part of every figure, and
/// another generator would make the figures incomparable with earlier ones.
pub struct Random(u64);

impl Random {
    pub fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * end as u64) >> 32) as usize
    }
}
