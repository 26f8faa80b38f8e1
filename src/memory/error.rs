//! What can go wrong.

use std::alloc::Layout;
use thiserror::Error;

/// Why there is no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AllocError {
    /// The system has no more.
    #[error("out of memory: {} bytes, aligned to {}", layout.size(), layout.align())]
    OutOfMemory {
        /// What was asked for.
        layout: Layout,
    },
    /// The size does not fit the address space.
    #[error("{count} values of {size} bytes do not fit the address space")]
    TooLarge {
        /// Number of values.
        count: usize,
        /// Size of each.
        size: usize,
    },
    /// The allocator may have no more chunks.
    #[error("the allocator has {held} bytes, and may have no more than {cap}")]
    Capped {
        /// The hard cap, in bytes.
        cap: usize,
        /// What it has.
        held: usize,
    },
}
