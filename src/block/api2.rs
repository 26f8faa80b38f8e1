//! Collections in blocks: `Allocator` of the crate `allocator-api2`.
//!
//! A collection that shrinks keeps its block if the allocator has no smaller one, so a block that a
//! collection frees may be larger than its layout says; its chunk knows the size. Other memory has
//! a layout for which there are no blocks, except [`SPARE`] memory, which is recognized by its
//! address.

use super::block_allocator::BlockAllocator;
use super::chunk::{CHUNK_BYTES, ChunkPtr};
use super::heap::Heap;
use super::size_class::{LARGEST, SIZES, class_of};
use super::{block_checks, exposed, thread_heaps};
use crate::sync::{alloc, dealloc};
use allocator_api2::alloc::{AllocError, Allocator};
use std::alloc::Layout;
use std::ptr::NonNull;

/// The layout of memory of the global allocator that a collection gets instead of a block if it
/// shrinks and the allocator has no block. It begins at an address where a chunk could begin, so
/// never at the address of a block.
const SPARE: Layout = match Layout::from_size_align(LARGEST, CHUNK_BYTES) {
    Ok(layout) => layout,
    Err(_) => panic!("CHUNK_BYTES is a power of two"),
};

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
// SAFETY: a block stays valid, and the collection's alone, until it is freed, even if all handles
// are dropped (invariant 2 of `block`); clones are the same allocator.
unsafe impl Allocator for BlockAllocator {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let memory = self.alloc(layout).map_err(|_| AllocError)?;
        if class_of(layout).is_some() {
            exposed::expose(memory);
        }
        Ok(NonNull::slice_from_raw_parts(memory, layout.size()))
    }

    #[inline]
    unsafe fn deallocate(&self, ptr: NonNull<u8>, layout: Layout) {
        // SAFETY: memory of this layout that the caller gives up: the contract of `deallocate`.
        unsafe { self.free(CollectionMemory::of(ptr, layout), layout) };
    }

    #[inline]
    unsafe fn grow(
        &self,
        ptr: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: memory of the old layout from this allocator: the contract of this function.
        let memory = unsafe { CollectionMemory::of(ptr, old) };
        if memory.holds(new) {
            return Ok(memory.resize(old, new));
        }
        let target = self.allocate(new)?;
        // SAFETY: `memory` is what `ptr` points to, by `CollectionMemory::of`, which the caller
        // gives up for the result; the target was allocated while it was in use.
        unsafe { self.move_to(ptr, memory, old, target) };
        Ok(target)
    }

    #[inline]
    unsafe fn grow_zeroed(
        &self,
        ptr: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the contract is that of `grow`.
        let grown = unsafe { self.grow(ptr, old, new) }?;
        let added = new.size() - old.size();
        // SAFETY: the bytes from the old size to the new one are part of the memory that `grow`
        // returned.
        unsafe { grown.cast::<u8>().add(old.size()).write_bytes(0, added) };
        Ok(grown)
    }

    #[inline]
    unsafe fn shrink(
        &self,
        ptr: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: memory of the old layout from this allocator: the contract of this function.
        let memory = unsafe { CollectionMemory::of(ptr, old) };
        if memory.is_best_for(new) {
            return Ok(memory.resize(old, new));
        }
        let target = match self.allocate(new) {
            Ok(target) => target,
            // A block that is larger than necessary is better than an error.
            Err(_) if memory.holds(new) => return Ok(memory.resize(old, new)),
            Err(error) => self.alloc_spare(new).ok_or(error)?,
        };
        // SAFETY: `memory` is what `ptr` points to, by `CollectionMemory::of`, which the caller
        // gives up for the result; the target was allocated while it was in use.
        unsafe { self.move_to(ptr, memory, old, target) };
        Ok(target)
    }
}

impl BlockAllocator {
    /// Frees the memory of a collection.
    ///
    /// # Safety
    /// It is memory of this layout, from this allocator, which the caller gives up.
    #[inline]
    unsafe fn free(&self, memory: CollectionMemory, layout: Layout) {
        match memory {
            CollectionMemory::Block(block, chunk) => {
                let class = chunk.class();
                // SAFETY: a block of its chunk's class, with the chunk's provenance, that the
                // caller gives up.
                unsafe { thread_heaps::free(block, class, SIZES[class] - layout.size()) }
            }
            // SAFETY: `alloc_spare` has allocated it by this layout; the caller gives it up.
            CollectionMemory::Spare(memory) => unsafe { dealloc(memory.as_ptr(), SPARE) },
            // SAFETY: no block is for this layout, so `alloc` returned a dangling pointer, or
            // memory of exactly this layout; the caller gives it up.
            CollectionMemory::NoBlock(memory) => unsafe { self.dealloc(memory, layout) },
        }
    }

    /// Copies as many bytes as fit into the target, and frees the old memory.
    ///
    /// # Safety
    /// `memory` is what `ptr` points to, of the old layout, from this allocator, and the caller
    /// gives it up. The target is not part of it.
    #[inline]
    unsafe fn move_to(
        &self,
        ptr: NonNull<u8>,
        memory: CollectionMemory,
        old: Layout,
        target: NonNull<[u8]>,
    ) {
        let both = old.size().min(target.len());
        // SAFETY: both have at least `both` bytes, and do not overlap, by the caller's promise.
        unsafe { ptr.copy_to_nonoverlapping(target.cast(), both) };
        // SAFETY: memory of the old layout that the caller gives up.
        unsafe { self.free(memory, old) };
    }

    /// Allocates [`SPARE`] memory, if there are blocks for the layout.
    #[cold]
    fn alloc_spare(&self, layout: Layout) -> Option<NonNull<[u8]>> {
        class_of(layout)?;
        self.shared().count_large(SPARE);
        // SAFETY: the layout's size is not 0.
        let memory = NonNull::new(unsafe { alloc(SPARE) })?;
        exposed::expose(memory);
        Some(NonNull::slice_from_raw_parts(memory, layout.size()))
    }
}

/// The kind of memory that a collection passes back.
#[derive(Clone, Copy)]
enum CollectionMemory {
    /// A block, and its chunk; both pointers with the provenance of the chunk.
    Block(NonNull<u8>, ChunkPtr),
    /// [`SPARE`] memory, with the provenance of all of it.
    Spare(NonNull<u8>),
    /// No memory, or memory of the global allocator with exactly the layout, for which there are no
    /// blocks; with the collection's pointer.
    NoBlock(NonNull<u8>),
}

impl CollectionMemory {
    /// Finds out what `ptr` points to.
    ///
    /// # Safety
    /// A [`BlockAllocator`] allocated the memory for a collection with this layout, or resized it
    /// to this layout.
    #[inline]
    unsafe fn of(ptr: NonNull<u8>, layout: Layout) -> Self {
        let Some(class) = class_of(layout) else {
            return Self::NoBlock(ptr);
        };
        // `allocate` or `alloc_spare` has exposed it.
        let ptr = exposed::recover(ptr);
        if ptr.addr().get() % CHUNK_BYTES == 0 {
            return Self::Spare(ptr);
        }
        // SAFETY: a block is for this layout, and the memory is not spare memory, the only other
        // that may have such a layout. So it is a block: its chunk exists (invariant 2 of
        // `block`), and `recover` has restored its provenance (invariant 6 of `block`).
        unsafe {
            block_checks::came_back(ptr, class, Heap::owner_label);
            let chunk = ChunkPtr::of(ptr).original();
            Self::Block(chunk.block_at(ptr), chunk)
        }
    }

    /// Returns whether the memory is large enough for this layout.
    #[inline]
    fn holds(self, layout: Layout) -> bool {
        let room = match self {
            Self::Block(_, chunk) => SIZES[chunk.class()],
            Self::Spare(_) => LARGEST,
            Self::NoBlock(_) => 0,
        };
        class_of(layout).is_some() && layout.size() <= room
    }

    /// Returns whether this is a block, and no smaller block holds the layout.
    #[inline]
    fn is_best_for(self, layout: Layout) -> bool {
        match self {
            Self::Block(_, chunk) => class_of(layout) == Some(chunk.class()),
            Self::Spare(_) | Self::NoBlock(_) => false,
        }
    }

    /// Resizes the memory in place to a layout that it [holds](Self::holds). Returns a pointer with
    /// provenance for all of the memory: the collection's pointer may have it only for the old
    /// layout.
    #[inline]
    fn resize(self, old: Layout, new: Layout) -> NonNull<[u8]> {
        let memory = match self {
            Self::Block(block, chunk) => {
                let size = SIZES[chunk.class()];
                // SAFETY: a heap exists as long as one of its blocks was not put back (invariant 2
                // of `block`).
                let heap = unsafe { Heap::of(chunk).as_ref() };
                heap.count_resize(size - old.size(), size - new.size());
                block
            }
            Self::Spare(memory) | Self::NoBlock(memory) => memory,
        };
        NonNull::slice_from_raw_parts(memory, new.size())
    }
}
