//! `AllocError`: why there is no memory.

use std::alloc::{Layout, handle_alloc_error};

/// Why there is no memory: what functions whose names begin with `try_` give.
///
/// ```
/// use releasepool::{AllocError, StackAllocator};
/// let arena = StackAllocator::with_capacity(1024);
/// let error = arena.try_alloc_slice(usize::MAX, |_| 0u64).unwrap_err();
/// assert!(matches!(error, AllocError::TooLarge { count: usize::MAX, .. }));
/// assert!(error.to_string().ends_with("values of 8 bytes are more than the address space holds"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AllocError {
    /// The size is beyond what can be written down: it was not even asked for.
    #[error("{count} values of {} bytes are more than the address space holds", layout.size())]
    TooLarge {
        /// How many values.
        count: usize,
        /// The layout of each.
        layout: Layout,
    },
    /// The global allocator has no more.
    #[error("no memory for {} bytes with an alignment of {}", layout.size(), layout.align())]
    OutOfMemory {
        /// What was asked for.
        layout: Layout,
    },
    /// A [`BlockAllocator`](crate::BlockAllocator) may have no more.
    #[error("the allocator has {held} bytes, and may have no more than {cap}")]
    Capped {
        /// Its hard cap, in bytes.
        cap: usize,
        /// What it has.
        held: usize,
    },
}

impl AllocError {
    /// For functions that give no error.
    ///
    /// # Panics
    /// If the size is too large, or a cap is reached; aborts if memory is exhausted.
    #[cold]
    pub(crate) fn fail(self) -> ! {
        match self {
            Self::TooLarge { .. } | Self::Capped { .. } => panic!("{self}"),
            Self::OutOfMemory { layout } => handle_alloc_error(layout),
        }
    }
}
