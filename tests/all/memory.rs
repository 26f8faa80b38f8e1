//! Memory of the global allocator that the crate uses, and collections in the crate's allocators.

mod allocations;
#[cfg(feature = "allocator-api2")]
mod api2_boxes;
mod foreign_allocator;
mod foreign_allocator_calls;
mod leaks;
