//! Memory for small objects: blocks, owned by threads.
//!
//! ```text
//! BlockAllocator ── AllocatorShared ── list of heaps, one for each thread that uses it
//! heap ── bin (one for each size) ── chunk (64 KiB) ── block
//!  └── RemoteFreeList: blocks that other threads have freed, in batches
//! ```
//!
//! * [`block_allocator`]: `BlockAllocator`; [`stats`]: its statistics; [`error`]: why there is no memory
//! * [`shared`]: what all heaps of an allocator share
//! * [`thread_heaps`]: the heaps of a thread; [`remote_free_batch`]: blocks of others that it frees
//! * [`heap`]: the blocks of one thread; [`remote_free_list`]: how freed blocks come home to it
//! * [`figures`]: what other threads may read of a heap
//! * [`chunk`]: where blocks are cut from; [`size_class`]: their sizes
//! * [`checks`]: how misuse is found
//! * `api2`: the trait of the crate `allocator-api2`; `exposed`: how pointers that come from its
//!   collections get back the provenance that those take away

#[cfg(feature = "allocator-api2")]
mod api2;
pub(crate) mod block_allocator;
pub(crate) mod checks;
pub(crate) mod chunk;
pub(crate) mod error;
#[cfg(feature = "allocator-api2")]
pub(crate) mod exposed;
pub(crate) mod figures;
pub(crate) mod heap;
pub(crate) mod remote_free_batch;
pub(crate) mod remote_free_list;
pub(crate) mod shared;
pub(crate) mod size_class;
pub(crate) mod stats;
pub(crate) mod thread_heaps;
