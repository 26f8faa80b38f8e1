//! Memory for many objects, and for values that end with a frame.
//!
//! Take [`BlockAllocator`] first: it caps and counts the memory of objects that
//! [`Ref::new_in`](crate::Ref::new_in) makes. [`StackAllocator`] holds temporary values of one thread, which
//! [`StackBox`]es own; a frame loop has [one for each frame](crate::frame::Frame::arena).

pub(crate) mod arena;
pub(crate) mod block;

pub use arena::stack_allocator::StackAllocator;
pub use arena::stack_box::StackBox;
pub use block::block_allocator::{BlockAllocator, BlockAllocatorBuilder};
pub use block::shared::{AllocError, BlockStats};
