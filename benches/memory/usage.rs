//! Peak memory of one allocator: allocates many objects, in a process that does nothing else.

use crate::allocators::Memory;
use crate::works::{Live, SIZES};
use releasepool_benches::resident;

/// Objects that are alive at the same time.
pub const OBJECTS: usize = 100_000;

/// Objects of [`Shape::Mixed`] that are replaced.
const REPLACED: u64 = 1_000_000;

/// The sizes of the objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// All objects have 64 bytes.
    Same,
    /// Objects have many sizes, and are replaced at random.
    Mixed,
}

/// Memory usage in bytes.
pub struct Usage {
    /// The sum of the objects' sizes.
    pub requested: u64,
    /// The peak of the resident memory, or `None` if the system does not tell it.
    pub peak: Option<u64>,
}

/// Allocates the objects and returns the memory that they took.
pub fn usage<M: Memory>(shape: Shape) -> Usage {
    let sizes = match shape {
        Shape::Same => 64..=64,
        Shape::Mixed => SIZES,
    };
    let mut live = Live::<M>::none(OBJECTS, sizes);
    let before = resident::now();
    live.fill();
    let mut requested = live.bytes();
    if shape == Shape::Mixed {
        for seed in 0..REPLACED {
            live.replace_one(seed);
            if seed % 10_000 == 0 {
                requested = requested.max(live.bytes());
            }
        }
    }
    let peak = resident::peak();
    Usage {
        requested: requested as u64,
        peak: peak.zip(before).map(|(peak, before)| peak - before),
    }
}
