//! Freeing many blocks of one class in a row.

use super::block_checks;
use super::chunk::{BulkPut, ChunkPtr};
use super::heap::Heap;
use std::ptr::{self, NonNull};

/// Frees blocks of one class to the caller's own heap, one after the other. Consecutive blocks
/// usually share a chunk, so its free list and count stay in registers until the chunk changes;
/// and the heap counts once, at the end.
#[must_use = "the heap is not in order before `end`"]
pub(crate) struct BulkFree<'h> {
    heap: &'h Heap,
    class: usize,
    fragmentation: usize,
    n: usize,
    put: Option<BulkPut>,
}

impl<'h> BulkFree<'h> {
    /// Begins to free blocks of which `fragmentation` bytes each were not asked for.
    ///
    /// # Safety
    /// The caller owns the heap for as long as this lives, and does nothing else with it
    /// meanwhile; `class` is a size class.
    #[inline(always)]
    pub(crate) unsafe fn begin(heap: &'h Heap, class: usize, fragmentation: usize) -> Self {
        Self {
            heap,
            class,
            fragmentation,
            n: 0,
            put: None,
        }
    }

    /// Returns whether a block is of this heap, so that it may be freed next.
    ///
    /// # Safety
    /// The block is of this class, with the provenance of its chunk.
    #[inline(always)]
    pub(crate) unsafe fn is_ours(&mut self, block: NonNull<u8>) -> bool {
        // SAFETY: a block with the provenance of its chunk, by the caller's promise.
        let chunk = unsafe { ChunkPtr::of(block) };
        if self.put.is_none_or(|put| put.chunk != chunk) {
            if !ptr::eq(Heap::of(chunk).as_ptr(), self.heap) {
                return false;
            }
            self.heap.finish_put(self.put);
            self.put = Some(BulkPut::begin(chunk));
        }
        true
    }

    /// Frees the block.
    ///
    /// # Safety
    /// `is_ours` has just returned true for it, and the caller gives it up.
    #[inline(always)]
    pub(crate) unsafe fn free(&mut self, block: NonNull<u8>) {
        // SAFETY: a block of this class, which the caller gives up; it is of the chunk of
        // `self.put`, as `is_ours` has just set that.
        unsafe {
            block_checks::freed(block, self.class, Heap::owner_label);
            self.heap.witness.write();
            if let Some(put) = &mut self.put {
                put.put(block.cast());
            }
        }
        self.n += 1;
    }

    /// Must be called after the last block. Not a destructor: nothing here panics, and a value with
    /// a destructor would have to be in memory.
    #[inline(always)]
    pub(crate) fn end(self) {
        self.heap.finish_put(self.put);
        // SAFETY: the caller of `begin` owns the heap, and `class` is a size class.
        unsafe {
            self.heap
                .count_freed(self.class, self.n, self.n * self.fragmentation)
        };
    }
}
