//! Memory of the global allocator that the crate uses, and collections in the crate's allocators.

#[cfg(feature = "allocator-api2")]
mod api2_boxes;
mod foreign_allocator;
pub mod leaks;
