//! Collections in an arena, by the crate `allocator-api2`.

use super::dump::Label;
use super::stack_allocator::StackAllocator;
use crate::block::exposed;
use allocator_api2::alloc::{AllocError, Allocator};
use std::alloc::Layout;
use std::ptr::NonNull;

/// For the collections of `allocator-api2`, `hashbrown` and others: their memory is in the
/// arena, like that of a [`StackBox`](crate::StackBox).
///
/// A collection that is the newest in its arena grows and shrinks where it is. One that is not
/// moves when it grows, and its old memory comes back when what is above it is gone: so
/// give it its capacity at once, if you know it, or let only one grow at a time.
///
/// ```
/// use allocator_api2::vec::Vec;
/// let mut arena = releasepool::StackAllocator::with_capacity(4096);
/// let mut visible = Vec::new_in(&arena);
/// visible.extend(0..100u32);
/// assert!(arena.used() < 600, "grown in place");
/// drop(visible);
/// assert!(arena.is_empty());
/// ```
// SAFETY: memory stays where it is, and is nobody else's, until it is given back or the arena
// is reset, which wants a mutable borrow, or dropped; copies of a reference are the same arena.
// Memory of no size is not the arena's.
unsafe impl Allocator for &StackAllocator {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let entry = self.reserve(layout, Label::new("a collection"));
        let value = entry.map_err(|_| AllocError)?.into_value();
        if self.is_on_heap(value) {
            exposed::expose(value);
        }
        Ok(NonNull::slice_from_raw_parts(value, layout.size()))
    }

    #[inline]
    unsafe fn deallocate(&self, ptr: NonNull<u8>, layout: Layout) {
        if layout.size() != 0 {
            // SAFETY: by the caller's promise it is from `allocate`, has a size, and is not used
            // any more.
            unsafe { self.free(self.own(ptr)) };
        }
    }

    #[inline]
    unsafe fn grow(
        &self,
        ptr: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: by the caller's promise.
        unsafe { self.resize_or_move(ptr, old, new) }
    }

    #[inline]
    unsafe fn grow_zeroed(
        &self,
        ptr: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: by the caller's promise.
        let grown = unsafe { self.resize_or_move(ptr, old, new) }?;
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
        // What is below the top would not get smaller by moving; what is on the heap would.
        let stays = new.size() != 0 && is_aligned(ptr, new) && !self.is_on_heap(ptr);
        if stays {
            // SAFETY: by the caller's promise. If it is not the topmost one, it keeps its size.
            return Ok(unsafe {
                self.resize(ptr, old.size(), new.size());
                self.in_place(ptr, new)
            });
        }
        // SAFETY: by the caller's promise.
        let moved = unsafe { self.resize_or_move(ptr, old, new) };
        moved.or_else(|error| {
            // Larger than need be is better than an error.
            let keeps = new.size() != 0 && is_aligned(ptr, new);
            // SAFETY: it has not moved, and has a size, as the new one is not larger.
            keeps
                .then(|| unsafe { self.in_place(ptr, new) })
                .ok_or(error)
        })
    }
}

impl StackAllocator {
    /// # Safety
    /// As `grow` or `shrink`.
    unsafe fn resize_or_move(
        &self,
        ptr: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        let have_size = old.size() != 0 && new.size() != 0;
        if have_size && is_aligned(ptr, new) {
            // SAFETY: by the caller's promise, and both have a size.
            unsafe {
                if self.resize(ptr, old.size(), new.size()) {
                    return Ok(self.in_place(ptr, new));
                }
            }
        }
        let moved = self.allocate(new)?;
        let both = old.size().min(new.size());
        // SAFETY: both are of this size at least, and two different places.
        unsafe { ptr.copy_to_nonoverlapping(moved.cast(), both) };
        // SAFETY: by the caller's promise.
        unsafe { self.deallocate(ptr, old) };
        Ok(moved)
    }

    /// Returns the memory that a collection keeps, as long as its new layout says: by the arena's
    /// own pointer, as the collection's may end where the old layout does.
    ///
    /// # Safety
    /// `ptr` is from `allocate`, has a size, and was not given back; there is room for the layout.
    #[inline]
    unsafe fn in_place(&self, ptr: NonNull<u8>, new: Layout) -> NonNull<[u8]> {
        // SAFETY: by the caller's promise.
        NonNull::slice_from_raw_parts(unsafe { self.own(ptr) }, new.size())
    }
}

fn is_aligned(ptr: NonNull<u8>, layout: Layout) -> bool {
    ptr.addr().get() % layout.align() == 0
}
