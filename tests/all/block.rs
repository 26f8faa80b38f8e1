//! `BlockAllocator`: size-class blocks in chunks, in a heap for each thread.

#[cfg(feature = "allocator-api2")]
mod api2;
pub mod block_allocator;
mod caps;
mod closing;
mod footprint;
mod misuse;
mod random;
mod teardown;
mod threads;
