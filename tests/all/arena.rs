//! `StackAllocator`, `StackBox` and the arena of a frame.

#[cfg(feature = "allocator-api2")]
mod api2;
mod frames;
mod overflow;
mod panics;
mod random;
mod stack_allocator;

use releasepool::memory::StackBox;

/// The size of an entry's header.
pub const HEADER: usize = 2 * size_of::<usize>();

pub fn address<T: ?Sized>(value: &StackBox<'_, T>) -> usize {
    StackBox::as_ptr(value).cast::<u8>().addr()
}
