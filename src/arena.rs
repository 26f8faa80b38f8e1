//! Memory for values that are made and not kept: a stack of entries, dropped in any order.
//!
//! * [`stack_allocator`]: `StackAllocator`; [`stack_box`]: `StackBox`, a value in it
//! * [`entry`]: memory that is reserved, until it is given back
//! * [`overflow`]: values that did not fit, on the heap
//! * [`dump`]: what is in it now, by name
//! * `api2`: the trait of the crate `allocator-api2`

#[cfg(feature = "allocator-api2")]
mod api2;
pub(crate) mod dump;
mod entry;
mod overflow;
pub(crate) mod stack_allocator;
pub(crate) mod stack_box;
