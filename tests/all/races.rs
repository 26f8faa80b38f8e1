//! The scenarios of the models on real threads, for Miri and the sanitizers.

mod blocks;
mod exit;
mod foreign;
mod objects;
mod probe;
mod sharing;
mod slots;

/// How often each scenario runs. Miri runs it with many seeds.
pub const ROUNDS: u32 = if cfg!(miri) { 1 } else { 2_000 };

/// Runs a scenario: one time in `part` of the usual rounds, once at least.
pub fn rounds(part: u32, mut scenario: impl FnMut()) {
    for _ in 0..(ROUNDS / part).max(1) {
        probe::begin();
        scenario();
    }
}
