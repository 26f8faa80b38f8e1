//! Memory that is reserved in an arena for a value.

use super::entry_label::Label;
use super::stack_allocator::StackAllocator;
use crate::block::error::AllocError;
use std::alloc::Layout;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// Memory for a value in an arena. Dropping the reservation frees the memory, also by a panic.
pub(super) struct Reservation<'s> {
    arena: &'s StackAllocator,
    value: NonNull<u8>,
    size: usize,
}

impl<'s> Reservation<'s> {
    /// Takes responsibility for memory that was reserved.
    ///
    /// # Safety
    /// `value` is the pointer that `reserve` of this arena returned for this size, and no other
    /// code frees it.
    #[inline(always)]
    pub(super) unsafe fn new(arena: &'s StackAllocator, value: NonNull<u8>, size: usize) -> Self {
        Self { arena, value, size }
    }

    #[inline(always)]
    fn value(&self) -> NonNull<u8> {
        self.value
    }

    /// Leaves the memory to the caller.
    #[inline(always)]
    pub(super) fn into_value(self) -> NonNull<u8> {
        ManuallyDrop::new(self).value
    }
}

impl Drop for Reservation<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.size != 0 {
            // SAFETY: by the contract of `new` no other code frees the memory; its size is not 0,
            // so it is from `reserve_bytes`.
            unsafe { self.arena.free(self.value) };
        }
    }
}

impl StackAllocator {
    /// Reserves memory of this layout. If the layout's size is 0, returns a dangling pointer.
    #[inline(always)]
    pub(super) fn reserve(
        &self,
        layout: Layout,
        label: Label,
    ) -> Result<Reservation<'_>, AllocError> {
        let size = layout.size();
        let value = if size == 0 {
            dangling(layout)
        } else {
            self.reserve_bytes(layout, label)?
        };
        // SAFETY: the memory was just reserved, for this size, and no other code has the pointer.
        Ok(unsafe { Reservation::new(self, value, size) })
    }
}

/// Returns the pointer to a value of a layout of size 0.
#[inline(always)]
fn dangling(layout: Layout) -> NonNull<u8> {
    NonNull::new(std::ptr::without_provenance_mut(layout.align())).expect("alignments are not 0")
}

/// A slice that is being filled. Dropping it, before `finish`, drops the values written so far.
pub(super) struct PartialSlice<'s, T> {
    /// Freed after the values, even if one of their destructors panics, as fields are.
    memory: Reservation<'s>,
    len: usize,
    values: PhantomData<T>,
}

impl<'s, T> PartialSlice<'s, T> {
    #[inline(always)]
    pub(super) fn new(memory: Reservation<'s>) -> Self {
        Self {
            memory,
            len: 0,
            values: PhantomData,
        }
    }

    fn values(&self) -> NonNull<[T]> {
        NonNull::slice_from_raw_parts(self.memory.value().cast(), self.len)
    }

    /// Adds a value.
    ///
    /// # Safety
    /// The memory has room for one more `T`.
    #[inline(always)]
    pub(super) unsafe fn push(&mut self, value: T) {
        // SAFETY: the place after the last value is within the memory, by the caller's promise.
        unsafe { self.memory.value().cast::<T>().add(self.len).write(value) };
        self.len += 1;
    }

    /// Leaves the memory, and the values in it, to the caller.
    #[inline(always)]
    pub(super) fn finish(self) -> NonNull<[T]> {
        ManuallyDrop::new(self).values()
    }
}

impl<T> Drop for PartialSlice<'_, T> {
    fn drop(&mut self) {
        // SAFETY: `len` values were pushed, and `finish` has not handed them out.
        unsafe { self.values().drop_in_place() };
    }
}
