//! The memory beneath objects, and for values that are not counted.
//!
//! * [`block`]: `BlockAllocator`; [`stats`]: what it has
//! * [`allocator`]: what its heaps have in common
//! * [`mine`]: the heaps of a thread; [`outgoing`]: what it frees of others'
//! * [`heap`]: one thread's blocks; [`returns`]: how those come home that others free
//! * [`figures`]: what others may know of a heap
//! * [`chunk`]: where blocks are cut from; [`class`]: how large they are
//! * [`checks`]: how misuse is found
//! * [`stack`]: `StackAllocator`, memory that is given back in the reverse order
//! * [`stack_box`]: `StackBox`, a value in it
//! * [`stack_entry`]: memory that is reserved, until it is given back
//! * [`stack_overflow`]: what did not fit, on the heap
//! * [`stack_dump`]: what is in it now, by name
//! * `block_api2`, `stack_api2`: collections in them, by the crate `allocator-api2`;
//!   `exposed`: how their pointers get back the provenance that collections take away
//! * [`error`]: why there is no memory

pub(crate) mod allocator;
pub(crate) mod block;
#[cfg(feature = "allocator-api2")]
mod block_api2;
pub(crate) mod checks;
pub(crate) mod chunk;
pub(crate) mod class;
pub(crate) mod error;
#[cfg(feature = "allocator-api2")]
mod exposed;
pub(crate) mod figures;
pub(crate) mod heap;
pub(crate) mod mine;
pub(crate) mod outgoing;
pub(crate) mod returns;
pub(crate) mod stack;
#[cfg(feature = "allocator-api2")]
mod stack_api2;
pub(crate) mod stack_box;
pub(crate) mod stack_dump;
mod stack_entry;
mod stack_overflow;
pub(crate) mod stats;
