//! Destroys objects of one type in blocks, without a destructor, one after the other.

use super::header::{Header, header};
use super::type_info::{PlainBlock, Thin, TypeInfo};
use crate::block::grouped_frees::BulkFree;
use crate::block::thread_heaps;
use std::ptr;

/// Destroys objects of one type in blocks, without a destructor, one after the other.
pub(crate) struct PlainDestroyer<'h> {
    type_info: &'static TypeInfo,
    blocks: BulkFree<'h>,
}

impl PlainDestroyer<'_> {
    /// Returns a destroyer for objects of this type; `None` if the thread has no heap for the
    /// memory, or in builds with the ledger, which calls the global allocator when an object ends.
    #[inline(always)]
    pub(crate) fn begin(type_info: &'static TypeInfo, block: PlainBlock) -> Option<Self> {
        if cfg!(feature = "leak-detection") {
            return None;
        }
        let heap = thread_heaps::process_heap()?;
        // SAFETY: the heap is the calling thread's own, until its exit; the type's size class is
        // valid.
        let blocks =
            unsafe { BulkFree::begin(heap.as_ref(), block.size as usize, block.waste as usize) };
        Some(Self { type_info, blocks })
    }

    /// Destroys the object if it has the type, the reference is the only one of any kind, and the
    /// memory is this thread's. Returns whether it did.
    ///
    /// # Safety
    /// The caller has a strong reference to `thin`, and gives it up if this returns true.
    #[inline(always)]
    pub(crate) unsafe fn destroy(&mut self, thin: Thin) -> bool {
        // SAFETY: alive by the caller's reference; once `is_all` has returned true, the access is
        // exclusive (invariant 6 of `object`), and there is no value to drop.
        unsafe {
            let object = header(thin);
            if !ptr::eq(object.type_info, self.type_info) || !object.count.is_all(1) {
                return false;
            }
            let mut header = thin.cast::<Header>().sub(1);
            if !self.blocks.is_ours(header.cast()) {
                return false;
            }
            header.as_mut().freed();
            self.blocks.free(header.cast());
        }
        true
    }

    /// Counts the destroyed objects; must be called at the end.
    #[inline(always)]
    pub(crate) fn end(self) {
        self.blocks.end();
    }
}
