//! Thread switches at pseudo-random operations.
//!
//! loom explores exhaustively, depth first, so a model that does not finish never reaches
//! executions that differ early. With a seed, threads yield before certain operations, chosen by
//! the seed and by the number of operations so far in the execution. Both depend only on the path,
//! so loom's replay of a path still works. A yield is a switch that loom does not count as a
//! preemption; it removes executions and adds none, so every failure that is found is real.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static SEEDED: AtomicBool = AtomicBool::new(false);
static SEED: AtomicU64 = AtomicU64::new(0);
/// The number of operations so far in this execution.
static OPERATIONS: AtomicU64 = AtomicU64::new(0);

/// Number of weak exchanges among which the seed chooses the one that fails.
const EXCHANGES: u64 = 4;

/// Sets the seed from now on; `None` turns switching off.
pub(crate) fn set_seed(seed: Option<u64>) {
    SEEDED.store(seed.is_some(), Ordering::Relaxed);
    SEED.store(seed.unwrap_or(0), Ordering::Relaxed);
}

/// Starts an execution; returns how many weak exchanges succeed before one fails.
pub(super) fn begin() -> u64 {
    OPERATIONS.store(0, Ordering::Relaxed);
    if SEEDED.load(Ordering::Relaxed) {
        random(u64::MAX) % EXCHANGES
    } else {
        0
    }
}

/// Returns number `n` of the seed's sequence (SplitMix64).
fn random(n: u64) -> u64 {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    let seed = SEED.load(Ordering::Relaxed);
    mix(mix(seed.wrapping_add(1)).wrapping_add(n.wrapping_mul(STEP)))
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Marks a place at which the seed may switch threads.
pub(crate) fn point() {
    if !SEEDED.load(Ordering::Relaxed) {
        return;
    }
    let n = OPERATIONS.load(Ordering::Relaxed);
    OPERATIONS.store(n + 1, Ordering::Relaxed);
    // One operation in 2, 4, 8 or 16: some mistakes need few switches, others many.
    let rarity = 1 << (1 + SEED.load(Ordering::Relaxed) % 4);
    if random(n) % rarity == 0 {
        loom::thread::yield_now();
    }
}
