//! Collections in blocks, by the crate `allocator-api2`.
//!
//! A collection that shrinks keeps its block if there is no smaller one, so a block that comes
//! back may be larger than its layout says. Its chunk says how large it is. Memory that is no
//! block is told from one by its layout, which no block has; but for [`SPARE`] memory, which is
//! told by its address.

use super::block_allocator::BlockAllocator;
use super::checks;
use super::chunk::{CHUNK, ChunkPtr};
use super::exposed;
use super::size_class::{LARGEST, SIZES, class_of};
use super::thread_heaps;
use crate::sync::{alloc, dealloc};
use allocator_api2::alloc::{AllocError, Allocator};
use std::alloc::Layout;
use std::ptr::NonNull;

/// Memory of the global allocator, for what shrinks to the size of a block when there is none.
/// It begins where a chunk could: there is a chunk's header, and no block.
const SPARE: Layout = match Layout::from_size_align(LARGEST, CHUNK) {
    Ok(layout) => layout,
    Err(_) => panic!("a chunk's size is a power of two"),
};

/// For the collections of `allocator-api2`, `hashbrown` and others: their memory is blocks,
/// as long as it is small. What is larger than 640 bytes is from the global allocator, and what
/// has no size takes no memory.
///
/// A collection grows and shrinks where it is as long as its block is the smallest one that
/// holds it, and moves to another one otherwise. One that shrinks and finds no block, as the
/// allocator is at its hard cap, say, stays in its own; from the global allocator it moves to
/// other memory of that. It may be sent to, and dropped on, another thread.
///
/// In debug builds, and with the feature `checks`, a block that comes back by a layout that is
/// too large for it aborts the process; one that is too small does not.
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
// handles have gone; clones are the same allocator. Memory of no size is not the allocator's.
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
        // SAFETY: by the caller's promise it is memory of this layout, and not used any more.
        unsafe { self.give_back(Memory::of(ptr, layout), layout) };
    }

    #[inline]
    unsafe fn grow(
        &self,
        ptr: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: by the caller's promise it is memory of the old layout.
        let memory = unsafe { Memory::of(ptr, old) };
        if memory.holds(new) {
            return Ok(memory.resize(old, new));
        }
        let target = self.allocate(new)?;
        // SAFETY: `memory` is what `ptr` points to, by `Memory::of`; the target was allocated while
        // it was in use.
        unsafe { self.move_over(ptr, memory, old, target) };
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
        // SAFETY: what is behind the old size is within the new one.
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
        // SAFETY: by the caller's promise it is memory of the old layout.
        let memory = unsafe { Memory::of(ptr, old) };
        if memory.is_best_for(new) {
            return Ok(memory.resize(old, new));
        }
        let target = match self.allocate(new) {
            Ok(target) => target,
            // Larger than need be is better than an error.
            Err(_) if memory.holds(new) => return Ok(memory.resize(old, new)),
            Err(error) => self.spare(new).ok_or(error)?,
        };
        // SAFETY: `memory` is what `ptr` points to, by `Memory::of`; the target was allocated while
        // it was in use.
        unsafe { self.move_over(ptr, memory, old, target) };
        Ok(target)
    }
}

impl BlockAllocator {
    /// # Safety
    /// It is memory of this layout, from this allocator, and not used any more.
    #[inline]
    unsafe fn give_back(&self, memory: Memory, layout: Layout) {
        match memory {
            Memory::Block(block, chunk) => {
                let class = chunk.class();
                // SAFETY: a block of its chunk's class, with the chunk's provenance, that the
                // caller gives up.
                unsafe { thread_heaps::free(block, class, SIZES[class] - layout.size()) }
            }
            // SAFETY: `spare` has allocated it by this layout; the caller gives it up.
            Memory::Spare(memory) => unsafe { dealloc(memory.as_ptr(), SPARE) },
            // SAFETY: no block is for this layout, so `alloc` gave nothing, or memory of exactly
            // this layout; the caller gives it up.
            Memory::NoBlock(memory) => unsafe { self.dealloc(memory, layout) },
        }
    }

    /// Copies what fits into the target, and gives the old memory back.
    ///
    /// # Safety
    /// `memory` is what `ptr` points to, of the old layout, from this allocator, and not used any
    /// more. The target is not part of it.
    #[inline]
    unsafe fn move_over(
        &self,
        ptr: NonNull<u8>,
        memory: Memory,
        old: Layout,
        target: NonNull<[u8]>,
    ) {
        let both = old.size().min(target.len());
        // SAFETY: both are as large as that, and two different places, by the caller's promise.
        unsafe { ptr.copy_to_nonoverlapping(target.cast(), both) };
        // SAFETY: the caller gives up the memory, and its contents are in the target.
        unsafe { self.give_back(memory, old) };
    }

    /// Allocates [`SPARE`] memory, if the layout is that of a block.
    #[cold]
    fn spare(&self, layout: Layout) -> Option<NonNull<[u8]>> {
        class_of(layout)?;
        self.inner().count_large(SPARE);
        // SAFETY: the layout has a size.
        let memory = NonNull::new(unsafe { alloc(SPARE) })?;
        exposed::expose(memory);
        Some(NonNull::slice_from_raw_parts(memory, layout.size()))
    }
}

/// Memory that a collection has come back with.
#[derive(Clone, Copy)]
enum Memory {
    /// A block, and its chunk; both with the provenance of the chunk.
    Block(NonNull<u8>, ChunkPtr),
    /// [`SPARE`] memory, with the provenance of all of it.
    Spare(NonNull<u8>),
    /// Nothing, or memory of the global allocator by exactly its layout, which no block is for;
    /// by the collection's pointer.
    NoBlock(NonNull<u8>),
}

impl Memory {
    /// # Safety
    /// A [`BlockAllocator`] gave it to a collection by this layout, or resized it to this layout.
    #[inline]
    unsafe fn of(ptr: NonNull<u8>, layout: Layout) -> Self {
        let Some(class) = class_of(layout) else {
            return Self::NoBlock(ptr);
        };
        // By `allocate` or `spare`, which have exposed it.
        let ptr = exposed::recover(ptr);
        if ptr.addr().get() % CHUNK == 0 {
            return Self::Spare(ptr);
        }
        // SAFETY: the layout is that of a block, and it is not the only other memory that has
        // such a layout. So it is a block, and its chunk is there as long as it is in use.
        unsafe {
            checks::came_back(ptr, class);
            let chunk = ChunkPtr::of(ptr).original();
            Self::Block(chunk.block_at(ptr), chunk)
        }
    }

    /// Returns whether memory of this layout can be where this is.
    #[inline]
    fn holds(self, layout: Layout) -> bool {
        let room = match self {
            Self::Block(_, chunk) => SIZES[chunk.class()],
            Self::Spare(_) => LARGEST,
            Self::NoBlock(_) => 0,
        };
        class_of(layout).is_some() && layout.size() <= room
    }

    /// Returns whether this is a block, and no smaller one holds the layout.
    #[inline]
    fn is_best_for(self, layout: Layout) -> bool {
        match self {
            Self::Block(_, chunk) => class_of(layout) == Some(chunk.class()),
            Self::Spare(_) | Self::NoBlock(_) => false,
        }
    }

    /// Makes it of the new layout, which it [holds](Self::holds). Returns it by a pointer that
    /// covers all of it, as the collection's may end where the old layout does.
    #[inline]
    fn resize(self, old: Layout, new: Layout) -> NonNull<[u8]> {
        let memory = match self {
            Self::Block(block, chunk) => {
                let size = SIZES[chunk.class()];
                // SAFETY: a heap is there as long as one of its blocks is not home.
                let heap = unsafe { chunk.heap().as_ref() };
                heap.count_resize(size - old.size(), size - new.size());
                block
            }
            Self::Spare(memory) | Self::NoBlock(memory) => memory,
        };
        NonNull::slice_from_raw_parts(memory, new.size())
    }
}
