//! Collections in blocks, by the crate `allocator-api2`.

use super::block::BlockAllocator;
use allocator_api2::alloc::{AllocError, Allocator};
use std::alloc::Layout;
use std::ptr::NonNull;

/// For the collections of `allocator-api2`, `hashbrown` and others: their memory is blocks,
/// as long as it is small. What is larger than 640 bytes is from the global allocator.
///
/// A collection that has grown out of one size of blocks moves to another. It may be sent to,
/// and dropped on, another thread.
///
/// ```
/// use allocator_api2::vec::Vec;
/// let blocks = releasepool::BlockAllocator::new();
/// let mut children = Vec::new_in(blocks.clone());
/// children.extend([1u64, 2, 3]);
/// assert_eq!(blocks.stats().live_blocks, 1);
/// drop(children);
/// assert_eq!(blocks.stats().live_blocks, 0);
/// ```
// SAFETY: memory stays where it is, and is nobody else's, until it is given back, even if all
// handles have gone; clones are the same allocator.
unsafe impl Allocator for BlockAllocator {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let memory = self.alloc(layout).map_err(|_| AllocError)?;
        Ok(NonNull::slice_from_raw_parts(memory, layout.size()))
    }

    #[inline]
    unsafe fn deallocate(&self, ptr: NonNull<u8>, layout: Layout) {
        // SAFETY: by the caller's promise it is from `allocate`, by a layout that fits it,
        // which is the one that it was allocated by.
        unsafe { self.dealloc(ptr, layout) };
    }
}
