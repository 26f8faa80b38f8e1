//! Collections in an arena: `Allocator` of the crate `allocator-api2`.

use super::entry_label::Label;
use super::stack_allocator::StackAllocator;
use crate::block::exposed;
use allocator_api2::alloc::{AllocError, Allocator};
use std::alloc::Layout;
use std::ptr::NonNull;

/// For the collections of `allocator-api2`, `hashbrown` and others: their memory is in the arena,
/// like a [`StackBox`](crate::StackBox)'s.
///
/// The newest collection in an arena grows and shrinks in place. An older one moves when it grows,
/// and its old memory is used again when everything newer has been dropped: so give a collection
/// its capacity at once, if you know it, or let only one grow at a time.
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
// SAFETY: memory stays valid, and the collection's alone, until it is freed or the arena is reset
// or dropped (invariant 2 of `arena`), which the reference forbids; copies of it are the same
// arena.
unsafe impl Allocator for &StackAllocator {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let memory = self.reserve(layout, Label::new("a collection"));
        let value = memory.map_err(|_| AllocError)?.into_value();
        if self.is_on_heap(value) {
            exposed::expose(value);
        }
        Ok(NonNull::slice_from_raw_parts(value, layout.size()))
    }

    #[inline]
    unsafe fn deallocate(&self, ptr: NonNull<u8>, layout: Layout) {
        if layout.size() != 0 {
            // SAFETY: `allocate` has reserved it, exposed if it is on the heap, as its size is not
            // 0; the caller gives it up: the contract of `deallocate`.
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
        // SAFETY: the contract of this function is that of `resize_or_move`.
        unsafe { self.resize_or_move(ptr, old, new) }
    }

    #[inline]
    unsafe fn grow_zeroed(
        &self,
        ptr: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the contract of this function is that of `resize_or_move`.
        let grown = unsafe { self.resize_or_move(ptr, old, new) }?;
        let added = new.size() - old.size();
        // SAFETY: the bytes from the old size to the new one are part of the memory that was
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
        // In the arena, moving would save nothing, as the old memory becomes a hole; on the heap it
        // saves memory.
        let stays = new.size() != 0 && is_aligned(ptr, new) && !self.is_on_heap(ptr);
        if stays {
            // SAFETY: memory from `allocate` of the old size, which is not 0, as the new one is not
            // larger. If `resize` fails, the memory is larger than the new layout says.
            return Ok(unsafe {
                self.resize(ptr, old.size(), new.size());
                self.in_place(ptr, new)
            });
        }
        // SAFETY: the contract of this function is that of `resize_or_move`.
        let moved = unsafe { self.resize_or_move(ptr, old, new) };
        moved.or_else(|error| {
            // Memory that is larger than necessary is better than an error.
            let keeps = new.size() != 0 && is_aligned(ptr, new);
            // SAFETY: it has not moved, and is at least as large as the new layout, which is not 0.
            keeps
                .then(|| unsafe { self.in_place(ptr, new) })
                .ok_or(error)
        })
    }
}

impl StackAllocator {
    /// Resizes the memory of a collection in place, or moves it.
    ///
    /// # Safety
    /// As [`grow`](Allocator::grow) or [`shrink`](Allocator::shrink).
    unsafe fn resize_or_move(
        &self,
        ptr: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        let have_size = old.size() != 0 && new.size() != 0;
        if have_size && is_aligned(ptr, new) {
            // SAFETY: memory from `allocate` of the old size, which is not 0.
            unsafe {
                if self.resize(ptr, old.size(), new.size()) {
                    return Ok(self.in_place(ptr, new));
                }
            }
        }
        let moved = self.allocate(new)?;
        let both = old.size().min(new.size());
        // SAFETY: both have at least `both` bytes, and do not overlap, as the old memory was
        // reserved when the new one was.
        unsafe { ptr.copy_to_nonoverlapping(moved.cast(), both) };
        // SAFETY: memory of the old layout that the caller gives up for the result.
        unsafe { self.deallocate(ptr, old) };
        Ok(moved)
    }

    /// Returns the memory that a collection keeps, with the length of its new layout. Returns the
    /// arena's own pointer, as the collection's pointer may have provenance for the old layout
    /// only.
    ///
    /// # Safety
    /// `ptr` is the address of memory from `allocate`, not of size 0, which was not freed;
    /// it is large enough for the layout.
    #[inline]
    unsafe fn in_place(&self, ptr: NonNull<u8>, new: Layout) -> NonNull<[u8]> {
        // SAFETY: `allocate` has reserved it, exposed if it is on the heap.
        NonNull::slice_from_raw_parts(unsafe { self.own(ptr) }, new.size())
    }
}

/// Returns whether memory has the alignment of a layout.
fn is_aligned(ptr: NonNull<u8>, layout: Layout) -> bool {
    ptr.addr().get() % layout.align() == 0
}
