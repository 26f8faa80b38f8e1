//! `AllocError`: the reason why an allocation failed.

use std::alloc::{Layout, handle_alloc_error};

/// The reason why an allocation failed; the error of functions named `try_...`.
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
    /// The size exceeds the address space, so no allocator was asked for it.
    #[error("{count} values of {} bytes are more than the address space holds", layout.size())]
    TooLarge {
        /// How many values.
        count: usize,
        /// The layout of each value.
        layout: Layout,
    },
    /// The global allocator has no memory left.
    #[error("no memory for {} bytes with an alignment of {}", layout.size(), layout.align())]
    OutOfMemory {
        /// The layout that was asked for.
        layout: Layout,
    },
    /// A [`BlockAllocator`](crate::BlockAllocator) has reached its hard cap.
    #[error("the allocator holds {held} bytes, and its hard cap is {cap}")]
    Capped {
        /// The hard cap, in bytes.
        cap: usize,
        /// The chunk memory that the allocator holds, in bytes.
        held: usize,
    },
}

impl AllocError {
    /// Fails on behalf of a function that returns no error.
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
