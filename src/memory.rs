//! The memory beneath objects.
//!
//! * [`block`]: `BlockAllocator`; [`stats`]: what it has
//! * [`allocator`]: what its heaps have in common
//! * [`mine`]: the heaps of a thread; [`outgoing`]: what it frees of others'
//! * [`heap`]: one thread's blocks; [`returns`]: how those come home that others free
//! * [`chunk`]: where blocks are cut from; [`class`]: how large they are
//! * [`checks`]: how misuse is found
//! * [`error`]: why there is no memory

pub(crate) mod allocator;
pub(crate) mod block;
pub(crate) mod checks;
pub(crate) mod chunk;
pub(crate) mod class;
pub(crate) mod error;
pub(crate) mod heap;
pub(crate) mod mine;
pub(crate) mod outgoing;
pub(crate) mod returns;
pub(crate) mod stats;
