//! Memory that is reserved in an arena, until it is given back.

use super::stack_allocator::StackAllocator;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// Gives the memory back when it goes, also by a panic.
pub(super) struct Entry<'s> {
    arena: &'s StackAllocator,
    value: NonNull<u8>,
    size: usize,
}

impl<'s> Entry<'s> {
    /// # Safety
    /// `value` is what `reserve` of this arena gave for this size, and nobody else gives
    /// it back.
    #[inline(always)]
    pub(super) unsafe fn new(arena: &'s StackAllocator, value: NonNull<u8>, size: usize) -> Self {
        Self { arena, value, size }
    }

    #[inline(always)]
    pub(super) fn value(&self) -> NonNull<u8> {
        self.value
    }

    /// Leaves the memory to the caller.
    #[inline(always)]
    pub(super) fn into_value(self) -> NonNull<u8> {
        ManuallyDrop::new(self).value
    }
}

impl Drop for Entry<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.size != 0 {
            // SAFETY: by the promise of `new`.
            unsafe { self.arena.free(self.value) };
        }
    }
}

/// A slice that is being made: what is there is dropped if the rest does not come.
pub(super) struct Filling<'s, T> {
    entry: ManuallyDrop<Entry<'s>>,
    len: usize,
    values: std::marker::PhantomData<T>,
}

impl<'s, T> Filling<'s, T> {
    #[inline(always)]
    pub(super) fn new(entry: Entry<'s>) -> Self {
        Self {
            entry: ManuallyDrop::new(entry),
            len: 0,
            values: std::marker::PhantomData,
        }
    }

    fn values(&self) -> NonNull<[T]> {
        NonNull::slice_from_raw_parts(self.entry.value().cast(), self.len)
    }

    /// # Safety
    /// The entry has room for one more `T`.
    #[inline(always)]
    pub(super) unsafe fn push(&mut self, value: T) {
        // SAFETY: by the caller's promise.
        unsafe { self.entry.value().cast::<T>().add(self.len).write(value) };
        self.len += 1;
    }

    /// Leaves the memory, and the values in it, to the caller.
    #[inline(always)]
    pub(super) fn finish(self) -> NonNull<[T]> {
        ManuallyDrop::new(self).values()
    }
}

impl<T> Drop for Filling<'_, T> {
    fn drop(&mut self) {
        // SAFETY: taken once. It gives the memory back after the values, even if their
        // destructors panic.
        let _entry = unsafe { ManuallyDrop::take(&mut self.entry) };
        // SAFETY: so many were pushed, and nobody has got them.
        unsafe { self.values().drop_in_place() };
    }
}
