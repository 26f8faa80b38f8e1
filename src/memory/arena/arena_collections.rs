//! Collections in an arena: `Allocator` of the crate `allocator-api2`.

use super::stack_allocator::StackAllocator;
use crate::memory::block::collections::{self, ForCollections, allocator};
use allocator_api2::alloc::AllocError;
use std::alloc::Layout;
use std::ptr::NonNull;

allocator! {
    /// Lets the collections of `allocator-api2`, `hashbrown` and others have their memory in the
    /// arena, like a [`StackBox`](crate::memory::StackBox)'s.
    ///
    /// A collection that is the newest value in the arena grows and shrinks in place, if there is
    /// room. An older one moves when it grows, and its old memory is used again when everything
    /// newer has been dropped: so reserve a known capacity at once, or let only one grow at a time.
    ///
    /// ```
    /// use allocator_api2::vec::Vec;
    /// let mut arena = releasepool::memory::StackAllocator::with_capacity(4096);
    /// let mut visible = Vec::new_in(&arena);
    /// visible.extend(0..100u32);
    /// assert!(arena.used() < 600, "grown in place");
    /// drop(visible);
    /// assert_eq!(arena.used(), 0);
    /// ```
    &StackAllocator, by StackAllocator
}

// SAFETY: memory stays valid, and the collection's alone, until it is freed or the arena is reset
// or dropped (invariant 2 of `arena`). The collection holds a reference to the arena, which forbids
// a reset and a drop. Copies of the reference lead to the same arena.
unsafe impl ForCollections for StackAllocator {
    /// The arena's own pointer; `None` for layouts of size 0, which take no memory.
    type Memory = Option<NonNull<u8>>;

    #[inline]
    fn reserve_memory(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let memory = self.reserve(layout);
        let value = memory.map_err(|_| AllocError)?.into_value();
        if self.is_on_heap(value) {
            collections::expose(value);
        }
        Ok(value)
    }

    #[inline]
    unsafe fn find(&self, ptr: NonNull<u8>, layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: the size is not 0, so `reserve_memory` has reserved the memory, and exposed it if
        // it is on the heap.
        (layout.size() != 0).then(|| unsafe { self.own(ptr) })
    }

    #[inline]
    unsafe fn free_memory(&self, memory: Option<NonNull<u8>>, _: Layout) {
        if let Some(own) = memory {
            // SAFETY: by the contract, the memory was reserved, and the caller gives it up.
            unsafe { self.free(own) };
        }
    }

    #[inline]
    fn is_best_for(&self, memory: Option<NonNull<u8>>, _: Layout) -> bool {
        // In the arena, moving would save nothing, as the old memory becomes a hole; on the heap it
        // saves memory.
        memory.is_some_and(|own| !self.is_on_heap(own))
    }

    #[inline]
    unsafe fn resize_in_place(
        &self,
        memory: Option<NonNull<u8>>,
        old: Layout,
        new: Layout,
    ) -> Option<NonNull<u8>> {
        let own = memory?;
        if new.size() == 0 || own.addr().get() % new.align() != 0 {
            return None;
        }
        // SAFETY: `own` is memory of this arena, of at least `old.size()` bytes; the size is not 0.
        let is_resized = unsafe { self.resize(own, old.size(), new.size()) };
        // If the arena cannot shrink the memory in place, the collection keeps all of it, although
        // the new layout needs less.
        (is_resized || new.size() <= old.size()).then_some(own)
    }
}
