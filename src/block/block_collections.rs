//! Collections in blocks: `Allocator` of the crate `allocator-api2`.
//!
//! A collection that shrinks keeps its block if the allocator has no smaller one, so a block that a
//! collection frees may be larger than its layout says; its chunk knows the size. Other memory has
//! a layout for which there are no blocks, except [`SPARE`] memory, which is recognized by its
//! address.

use super::block_allocator::BlockAllocator;
use super::chunk::{CHUNK_BYTES, ChunkPtr};
use super::collections::{self, ForCollections, allocator};
use super::heap::Heap;
use super::size_class::{LARGEST, SIZES, class_of};
use super::{block_checks, thread_heaps};
use crate::sync::{alloc, dealloc};
use allocator_api2::alloc::AllocError;
use std::alloc::Layout;
use std::ptr::NonNull;

/// The layout of memory of the global allocator that a collection gets instead of a block if it
/// shrinks and the allocator has no block. It begins at an address where a chunk could begin, so
/// never at the address of a block.
const SPARE: Layout = match Layout::from_size_align(LARGEST, CHUNK_BYTES) {
    Ok(layout) => layout,
    Err(_) => panic!("CHUNK_BYTES is a power of two"),
};

allocator! {
    /// For the collections of `allocator-api2`, `hashbrown` and others: small memory comes from blocks,
    /// memory of more than 640 bytes from the global allocator, and layouts of size 0 take no memory.
    ///
    /// A collection grows and shrinks in place as long as its block is the smallest one that holds it,
    /// and moves to another block otherwise. If it shrinks and the allocator has no block (because of
    /// its hard cap, say), it stays in its block; or, if its memory is from the global allocator, it
    /// moves to other memory of the global allocator. A collection may be sent to, and dropped on,
    /// another thread.
    ///
    /// In debug builds, and with the feature `checks`, freeing a block with a layout too large for it
    /// aborts the process; a layout that is too small is not noticed.
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
    BlockAllocator, by BlockAllocator
}

// SAFETY: a block stays valid, and the collection's alone, until it is freed, even if all handles
// are dropped (invariant 2 of `block`); clones are the same allocator.
unsafe impl ForCollections for BlockAllocator {
    type Memory = CollectionMemory;

    #[inline]
    fn reserve_memory(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let memory = self.alloc(layout).map_err(|_| AllocError)?;
        if class_of(layout).is_some() {
            collections::expose(memory);
        }
        Ok(memory)
    }

    #[inline]
    unsafe fn find(&self, ptr: NonNull<u8>, layout: Layout) -> CollectionMemory {
        let Some(class) = class_of(layout) else {
            return CollectionMemory::NoBlock(ptr);
        };
        // `reserve_memory` or `reserve_spare` has exposed it.
        let ptr = collections::recover(ptr);
        if ptr.addr().get() % CHUNK_BYTES == 0 {
            return CollectionMemory::Spare(ptr);
        }
        // SAFETY: a block is for this layout, and the memory is not spare memory, the only other
        // that may have such a layout. So it is a block: its chunk exists (invariant 2 of
        // `block`), and `recover` has restored its provenance (invariant 6 of `block`).
        unsafe {
            block_checks::came_back(ptr, class, Heap::owner_label);
            let chunk = ChunkPtr::of(ptr).original();
            CollectionMemory::Block(chunk.block_at(ptr), chunk)
        }
    }

    #[inline]
    unsafe fn free_memory(&self, memory: CollectionMemory, layout: Layout) {
        match memory {
            CollectionMemory::Block(block, chunk) => {
                let class = chunk.class();
                // SAFETY: a block of its chunk's class, with the chunk's provenance, that the
                // caller gives up.
                unsafe { thread_heaps::free(block, class, SIZES[class] - layout.size()) }
            }
            // SAFETY: `reserve_spare` has allocated it by this layout; the caller gives it up.
            CollectionMemory::Spare(memory) => unsafe { dealloc(memory.as_ptr(), SPARE) },
            // SAFETY: no block is for this layout, so `alloc` returned a dangling pointer, or
            // memory of exactly this layout; the caller gives it up.
            CollectionMemory::NoBlock(memory) => unsafe { self.dealloc(memory, layout) },
        }
    }

    #[inline]
    fn is_best_for(&self, memory: CollectionMemory, layout: Layout) -> bool {
        match memory {
            CollectionMemory::Block(_, chunk) => class_of(layout) == Some(chunk.class()),
            CollectionMemory::Spare(_) | CollectionMemory::NoBlock(_) => false,
        }
    }

    #[inline]
    unsafe fn resize_in_place(
        &self,
        memory: CollectionMemory,
        old: Layout,
        new: Layout,
    ) -> Option<NonNull<u8>> {
        let (own, room) = match memory {
            CollectionMemory::Block(block, chunk) => (block, SIZES[chunk.class()]),
            CollectionMemory::Spare(memory) => (memory, LARGEST),
            CollectionMemory::NoBlock(_) => return None,
        };
        if class_of(new).is_none() || new.size() > room {
            return None;
        }
        if let CollectionMemory::Block(_, chunk) = memory {
            // SAFETY: a heap exists as long as one of its blocks was not put back (invariant 2 of
            // `block`).
            let heap = unsafe { Heap::of(chunk).as_ref() };
            heap.count_resize(room - old.size(), room - new.size());
        }
        Some(own)
    }

    #[cold]
    fn reserve_spare(&self, layout: Layout) -> Option<NonNull<u8>> {
        class_of(layout)?;
        self.shared().count_large(SPARE);
        // SAFETY: the layout's size is not 0.
        let memory = NonNull::new(unsafe { alloc(SPARE) })?;
        collections::expose(memory);
        Some(memory)
    }
}

/// The kind of memory that a collection passes back.
#[derive(Clone, Copy)]
pub(crate) enum CollectionMemory {
    /// A block, and its chunk; both pointers with the provenance of the chunk.
    Block(NonNull<u8>, ChunkPtr),
    /// [`SPARE`] memory, with the provenance of all of it.
    Spare(NonNull<u8>),
    /// No memory, or memory of the global allocator with exactly the layout, for which there are no
    /// blocks; with the collection's pointer.
    NoBlock(NonNull<u8>),
}
