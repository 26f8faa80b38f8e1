//! Memory of collections: `Allocator` of the crate `allocator-api2`, written once for all allocators.
//!
//! # Provenance
//! `Allocator::deallocate`, `grow` and `shrink` receive the pointer that a collection has kept.
//! `Box` turns its pointer into a `&mut T` and that into a pointer again, whose provenance covers
//! the `T` alone: the header of the block's chunk, or the node before a value in an arena's
//! overflow, is outside it. So the provenance of memory that goes to a collection is exposed, and
//! only the address of the pointer that comes back is used.
//!
//! Through the recovered pointer the allocators only read their own pointer to the memory, and use
//! their own pointer from then on: all pointers in their lists have strict provenance. This is the
//! crate's only integer-to-pointer cast, and `ci/sanitize/miri.sh` allows it in this file alone.

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

/// An allocator that has memory for collections.
///
/// # Safety
/// Memory stays valid, and the collection's alone, until it is freed; copies and clones are the same
/// allocator.
pub(crate) unsafe trait ForCollections {
    /// The memory that a collection passes back, by the allocator's own pointer.
    type Memory: Copy;

    /// Allocates memory, which a collection can pass back.
    fn reserve_memory(&self, layout: Layout) -> Result<NonNull<u8>, AllocError>;

    /// Finds the memory that a collection passes back, of which `ptr` has the address.
    ///
    /// # Safety
    /// It is memory of this layout, from this allocator, and was not freed.
    unsafe fn find(&self, ptr: NonNull<u8>, layout: Layout) -> Self::Memory;

    /// Frees memory.
    ///
    /// # Safety
    /// It is memory of this layout, from this allocator, which the caller gives up.
    unsafe fn free_memory(&self, memory: Self::Memory, layout: Layout);

    /// Returns whether memory in use should stay if a collection shrinks to this layout: moving
    /// would save nothing.
    fn is_best_for(&self, memory: Self::Memory, layout: Layout) -> bool;

    /// Resizes memory in place, if it is large enough. Returns the allocator's own pointer to it,
    /// with provenance for all of the memory: the collection's pointer may have it only for the old
    /// layout.
    ///
    /// # Safety
    /// It is memory of the layout `old`, from this allocator, and was not freed.
    unsafe fn resize_in_place(
        &self,
        memory: Self::Memory,
        old: Layout,
        new: Layout,
    ) -> Option<NonNull<u8>>;

    /// Allocates memory for a collection that shrinks, where [`reserve_memory`](Self::reserve_memory) has failed,
    /// and the old memory cannot stay.
    fn reserve_spare(&self, _: Layout) -> Option<NonNull<u8>> {
        None
    }

    /// Moves a collection: copies as many bytes as fit, and frees the old memory.
    ///
    /// # Safety
    /// `memory` is what `ptr` points to, of the layout `old`, from this allocator, and the caller
    /// gives it up. The target, of the layout `new`, is not part of it.
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
        // SAFETY: both have at least `both` bytes, and do not overlap, by the contract.
        unsafe { ptr.copy_to_nonoverlapping(target, both) };
        // SAFETY: memory of the old layout that the caller gives up.
        unsafe { self.free_memory(memory, old) };
        NonNull::slice_from_raw_parts(target, new.size())
    }

    /// `Allocator::grow`.
    ///
    /// # Safety
    /// The contract of `Allocator::grow`.
    #[inline]
    unsafe fn grow(
        &self,
        ptr: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: memory of the old layout from this allocator, by the contract, which the caller
        // gives up for the result; the target was reserved while it was in use.
        unsafe {
            let memory = self.find(ptr, old);
            if let Some(own) = self.resize_in_place(memory, old, new) {
                return Ok(NonNull::slice_from_raw_parts(own, new.size()));
            }
            Ok(self.move_to(self.reserve_memory(new)?, new, ptr, memory, old))
        }
    }

    /// `Allocator::grow_zeroed`.
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
        // SAFETY: the contract is that of `grow`.
        let grown = unsafe { self.grow(ptr, old, new) }?;
        let added = new.size() - old.size();
        // SAFETY: the bytes from the old size to the new one are part of the memory that `grow`
        // returned.
        unsafe { grown.cast::<u8>().add(old.size()).write_bytes(0, added) };
        Ok(grown)
    }

    /// `Allocator::shrink`.
    ///
    /// # Safety
    /// The contract of `Allocator::shrink`.
    #[inline]
    unsafe fn shrink(
        &self,
        ptr: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: memory of the old layout from this allocator, by the contract, which the caller
        // gives up for the result; the target was reserved while it was in use.
        unsafe {
            let memory = self.find(ptr, old);
            let in_place = || {
                let own = self.resize_in_place(memory, old, new)?;
                Some(NonNull::slice_from_raw_parts(own, new.size()))
            };
            if self.is_best_for(memory, new) {
                if let Some(own) = in_place() {
                    return Ok(own);
                }
            }
            let target = match self.reserve_memory(new) {
                Ok(target) => target,
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
                // SAFETY: memory of this layout that the caller gives up, by the contract.
                unsafe {
                    let memory = <$allocator as ForCollections>::find(self, ptr, layout);
                    <$allocator as ForCollections>::free_memory(self, memory, layout);
                }
            }

            $crate::block::collections::allocator!(resize grow by $allocator);
            $crate::block::collections::allocator!(resize grow_zeroed by $allocator);
            $crate::block::collections::allocator!(resize shrink by $allocator);
        }
    };
    (resize $function:ident by $allocator:ty) => {
        #[inline]
        unsafe fn $function(
            &self,
            ptr: NonNull<u8>,
            old: Layout,
            new: Layout,
        ) -> Result<NonNull<[u8]>, AllocError> {
            // SAFETY: the contract of this function is the same.
            unsafe { <$allocator as ForCollections>::$function(self, ptr, old, new) }
        }
    };
}
pub(crate) use allocator;
