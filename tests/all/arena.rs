//! `StackAllocator`, `StackBox` and the arena of a frame.

#[cfg(feature = "allocator-api2")]
mod api2;
mod frames;
mod overflow;
mod panics;
mod random;
mod stack_allocator;
