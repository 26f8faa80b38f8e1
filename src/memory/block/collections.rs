//! Memory for collections: the trait `Allocator` of the crate `allocator-api2`, implemented once
//! for all allocators of this crate; and the use of blocks by collections.
//!
//! # Provenance
//! `Allocator::deallocate`, `grow` and `shrink` receive the pointer that a collection has kept.
//! `Box` turns its pointer into a `&mut T` and that into a pointer again, whose provenance covers
//! the `T` alone: neither the header of the block's chunk, nor the node before a value in an
//! arena's overflow. So the provenance of such memory is exposed when it goes to a collection, and
//! recovered from the address of the pointer that comes back.
//!
//! Through the recovered pointer the allocators read only that header or node, find their own
//! pointer, and use it from then on: all pointers in their lists have strict provenance. Only
//! [`SPARE`] memory, which is in no list, is freed by the recovered pointer. `ci/sanitize/miri.sh`
//! allows such casts only in this file and, for classes of C, in `src/foreign/class.rs`.
//!
//! # Blocks
//! A collection that shrinks keeps its block if the allocator has no smaller one. So a block may be
//! larger than the layout with which the collection frees it; the block's chunk knows the size.
//! Other memory has a layout for which there are no blocks, except [`SPARE`] memory, which is
//! recognized by its address.

use super::block_allocator::BlockAllocator;
use super::chunk::{CHUNK_BYTES, ChunkPtr};
use super::heap::Heap;
use super::size_class::{LARGEST, SIZES, class_of};
use super::{block_checks, thread_heaps};
use allocator_api2::alloc::AllocError;
use std::alloc::Layout;
use std::ptr::{self, NonNull};

/// Exposes the provenance of memory that goes to a collection.
#[inline(always)]
pub(crate) fn expose(memory: NonNull<u8>) {
    _ = memory.as_ptr().expose_provenance();
}

/// Returns a pointer to the same address, with provenance that [`expose`] has exposed.
#[inline(always)]
pub(crate) fn recover(memory: NonNull<u8>) -> NonNull<u8> {
    let recovered = ptr::with_exposed_provenance_mut(memory.addr().get());
    // SAFETY: the address is that of `memory`, which is not null.
    unsafe { NonNull::new_unchecked(recovered) }
}

/// An allocator whose memory collections can use.
///
/// # Safety
/// Memory stays valid, and the collection's alone, until it is freed; copies and clones are the
/// same allocator.
pub(crate) unsafe trait ForCollections {
    /// The allocator's own form of memory that a collection passes back.
    type Memory: Copy;

    /// Allocates memory, which a collection can pass back.
    fn reserve_memory(&self, layout: Layout) -> Result<NonNull<u8>, AllocError>;

    /// Returns the allocator's own form of the memory at `ptr`, which a collection passes back.
    ///
    /// # Safety
    /// At `ptr` is memory of this layout, from this allocator, that was not freed.
    unsafe fn find(&self, ptr: NonNull<u8>, layout: Layout) -> Self::Memory;

    /// Frees memory.
    ///
    /// # Safety
    /// `memory` is of this layout and from this allocator, and the caller gives it up.
    unsafe fn free_memory(&self, memory: Self::Memory, layout: Layout);

    /// Returns whether a collection that shrinks to this layout should keep this memory, because
    /// moving would save nothing.
    fn is_best_for(&self, memory: Self::Memory, layout: Layout) -> bool;

    /// Resizes memory in place, if possible. Returns the allocator's own pointer to the memory,
    /// with provenance for all of it: the provenance of the collection's pointer may cover only the
    /// old layout.
    ///
    /// # Safety
    /// `memory` is of the layout `old`, from this allocator, and was not freed.
    unsafe fn resize_in_place(
        &self,
        memory: Self::Memory,
        old: Layout,
        new: Layout,
    ) -> Option<NonNull<u8>>;

    /// Allocates memory for a collection that shrinks, where
    /// [`reserve_memory`](Self::reserve_memory) has failed, and the old memory cannot stay.
    fn reserve_spare(&self, _: Layout) -> Option<NonNull<u8>> {
        None
    }

    /// Moves a collection: copies as many bytes as fit, and frees the old memory.
    ///
    /// # Safety
    /// `memory` is the memory at `ptr`, of the layout `old`, from this allocator, and the caller
    /// gives it up. `target`, of the layout `new`, does not overlap with `memory`.
    #[inline]
    unsafe fn move_to(
        &self,
        target: NonNull<u8>,
        new: Layout,
        ptr: NonNull<u8>,
        memory: Self::Memory,
        old: Layout,
    ) -> NonNull<[u8]> {
        let both = old.size().min(new.size());
        // SAFETY: by the contract, the two do not overlap, and each has at least `both` bytes.
        unsafe { ptr.copy_to_nonoverlapping(target, both) };
        // SAFETY: by the contract, `memory` has the layout `old`, and the caller gives it up.
        unsafe { self.free_memory(memory, old) };
        NonNull::slice_from_raw_parts(target, new.size())
    }

    /// Implements `Allocator::grow_zeroed`.
    ///
    /// # Safety
    /// The contract of `Allocator::grow_zeroed`.
    #[inline]
    unsafe fn grow_zeroed(
        &self,
        ptr: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the contract is that of `Allocator::grow`.
        let grown = unsafe { self.resize(ptr, old, new) }?;
        let added = new.size() - old.size();
        // SAFETY: the bytes from the old size to the new one are part of the memory that `resize`
        // returned.
        unsafe { grown.cast::<u8>().add(old.size()).write_bytes(0, added) };
        Ok(grown)
    }

    /// Implements `Allocator::grow` and `Allocator::shrink`.
    ///
    /// # Safety
    /// The contract of `Allocator::grow`, or of `Allocator::shrink` if `new` is smaller.
    #[inline]
    unsafe fn resize(
        &self,
        ptr: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: by the contract, `ptr` is memory of the layout `old` from this allocator, and the
        // caller gives it up in exchange for the result. `target`, below, is reserved before that
        // memory is freed, so the two do not overlap.
        unsafe {
            let grows = new.size() > old.size();
            let memory = self.find(ptr, old);
            let in_place = || {
                let own = self.resize_in_place(memory, old, new)?;
                Some(NonNull::slice_from_raw_parts(own, new.size()))
            };
            if grows || self.is_best_for(memory, new) {
                if let Some(own) = in_place() {
                    return Ok(own);
                }
            }
            let target = match self.reserve_memory(new) {
                Ok(target) => target,
                Err(error) if grows => return Err(error),
                // Memory that is larger than necessary is better than an error.
                Err(error) => match in_place() {
                    Some(own) => return Ok(own),
                    None => self.reserve_spare(new).ok_or(error)?,
                },
            };
            Ok(self.move_to(target, new, ptr, memory, old))
        }
    }
}

/// Implements `Allocator` for a type that is, or refers to, an allocator [for
/// collections](ForCollections).
macro_rules! allocator {
    ($(#[$doc:meta])* $type:ty, by $allocator:ty) => {
        $(#[$doc])*
        // SAFETY: the allocator is `ForCollections`, whose contract includes that of `Allocator`.
        unsafe impl allocator_api2::alloc::Allocator for $type {
            #[inline]
            fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
                let memory = <$allocator as ForCollections>::reserve_memory(self, layout)?;
                Ok(NonNull::slice_from_raw_parts(memory, layout.size()))
            }

            #[inline]
            unsafe fn deallocate(&self, ptr: NonNull<u8>, layout: Layout) {
                // SAFETY: `ptr` is memory of this layout that the caller gives up, by the contract.
                unsafe {
                    let memory = <$allocator as ForCollections>::find(self, ptr, layout);
                    <$allocator as ForCollections>::free_memory(self, memory, layout);
                }
            }

            $crate::memory::block::collections::allocator!(grow = resize, $allocator);
            $crate::memory::block::collections::allocator!(grow_zeroed = grow_zeroed, $allocator);
            $crate::memory::block::collections::allocator!(shrink = resize, $allocator);
        }
    };
    ($function:ident = $here:ident, $allocator:ty) => {
        #[inline]
        unsafe fn $function(
            &self,
            ptr: NonNull<u8>,
            old: Layout,
            new: Layout,
        ) -> Result<NonNull<[u8]>, AllocError> {
            // SAFETY: this function and `$here` have the same contract.
            unsafe { <$allocator as ForCollections>::$here(self, ptr, old, new) }
        }
    };
}
pub(crate) use allocator;

/// The layout of memory of the global allocator that a collection gets instead of a block if it
/// shrinks and the allocator has no block. Such memory begins at a multiple of [`CHUNK_BYTES`],
/// where no block begins.
const SPARE: Layout = match Layout::from_size_align(LARGEST, CHUNK_BYTES) {
    Ok(layout) => layout,
    Err(_) => panic!("CHUNK_BYTES is a power of two"),
};

allocator! {
    /// Lets the collections of `allocator-api2`, `hashbrown` and others have their memory in
    /// blocks. Memory of more than 64,768 bytes comes from the global allocator, and layouts of size 0
    /// take no memory.
    ///
    /// A collection grows and shrinks in place as long as its block is the smallest one that holds
    /// it, and moves to another block otherwise. If it shrinks and the allocator has no block for
    /// it (because of its hard cap, say), the collection stays in its block; or, if its memory is
    /// from the global allocator, it moves to other memory of the global allocator. A collection
    /// that grows into other memory needs room for both the old memory and the new. A collection
    /// may be sent to, and dropped on, another thread.
    ///
    /// In debug builds, and with the feature `checks`, freeing a block with a layout too large for
    /// it aborts the process; a layout that is too small is not noticed.
    ///
    /// ```
    /// use allocator_api2::vec::Vec;
    /// let blocks = releasepool::memory::BlockAllocator::new();
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
            expose(memory);
        }
        Ok(memory)
    }

    #[inline]
    unsafe fn find(&self, ptr: NonNull<u8>, layout: Layout) -> CollectionMemory {
        let Some(class) = class_of(layout) else {
            return CollectionMemory::NoBlock(ptr);
        };
        // `reserve_memory` or `reserve_spare` has exposed the memory.
        let ptr = recover(ptr);
        if ptr.addr().get() % CHUNK_BYTES == 0 {
            return CollectionMemory::Spare(ptr);
        }
        // SAFETY: memory of a layout that a block fits is a block or spare memory, and the address
        // shows that it is not spare. So its chunk exists (invariant 2 of `block`), and `recover`
        // has restored its provenance (invariant 6 of `block`).
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
                // SAFETY: `block` has the class and the provenance of `chunk`, and the caller gives
                // it up.
                unsafe { thread_heaps::free(block, class, SIZES[class] - layout.size()) }
            }
            // SAFETY: `reserve_spare` has allocated it by this layout; the caller gives it up.
            CollectionMemory::Spare(memory) => unsafe { self.shared().free_large(memory, SPARE) },
            // SAFETY: no block fits this layout, so `alloc` returned a dangling pointer, or memory
            // of exactly this layout; the caller gives it up.
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
        let (own, most) = match memory {
            CollectionMemory::Block(block, chunk) => (block, chunk.class()),
            CollectionMemory::Spare(memory) => (memory, SIZES.len() - 1),
            CollectionMemory::NoBlock(_) => return None,
        };
        let is_aligned = own.addr().get() % new.align() == 0;
        // Compares classes, not sizes, as the checks of a free do: `new.size()` may fit, while the
        // class of `new` is larger because of its alignment.
        if class_of(new).is_none_or(|class| class > most) || !is_aligned {
            return None;
        }
        let room = SIZES[most];
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
        let is_block = class_of(layout).is_some();
        let layout = if is_block { SPARE } else { layout };
        // Ignores the cap: the collection frees its old memory as soon as it has moved.
        let memory = self.shared().alloc_large(layout, None).ok()?;
        if is_block {
            expose(memory);
        }
        Some(memory)
    }
}

/// The kind of memory that a collection passes back.
#[derive(Clone, Copy)]
pub(crate) enum CollectionMemory {
    /// A block, and its chunk; both pointers have the provenance of the chunk.
    Block(NonNull<u8>, ChunkPtr),
    /// Memory of the layout [`SPARE`]; the pointer has provenance for all of it.
    Spare(NonNull<u8>),
    /// For a layout that no block fits: no memory if its size is 0, else memory of the global
    /// allocator. The pointer is the collection's.
    NoBlock(NonNull<u8>),
}
