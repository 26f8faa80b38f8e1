//! Memory for small objects: blocks, from heaps that threads own.
//!
//! ```text
//! thread ──── ThreadHeaps ──┬─ Heap ──┬─ Bin (one for each class): free blocks to hand out next
//!                           │         ├─ chunks (64 KiB each): header │ block │ block │ ...
//!                           │         └─ RemoteFreeList ◄── batches of blocks that others freed
//!                           └─ RemoteFreeBatches: blocks of others' heaps ──► their RemoteFreeList
//! BlockAllocator ── AllocatorHandle ── AllocatorShared ── list of all heaps; caps
//!
//! chunk:  (new) ──► Current ──no free block──► Full ──first free──► Listed ──all free──► Unused
//!                      ▲                                               │ refill             │
//!                      └───────────────────────────────────────────────┴──── any class ─────┤
//!                                                                        trim, idle: (freed)◄┘
//! ```
//!
//! Invariants, which comments on safety cite by number:
//!
//! 1. A chunk begins at a multiple of its size, and no block begins where its chunk does. So
//!    rounding a block's address down gives its chunk.
//! 2. A chunk belongs to one heap for as long as it exists. It exists while one of its blocks is in
//!    use or in any list but the chunk's own, and its heap exists as long as it has a chunk.
//! 3. One thread at most owns a heap, and only the owner accesses what is not said to be shared.
//!    Ownership passes only through the mark *idle* of the heap's `RemoteFreeList`. A thread owns
//!    the heaps that its `ThreadHeaps` and thread-local pointers lead to; their `owner` is its key,
//!    and no other thread frees them.
//! 4. A block that is not in use is in one list, and its links belong to the owner of that list:
//!    of a chunk, a bin or `PendingBlocks` the heap's owner; of a batch the thread that gathers it;
//!    of a `RemoteFreeList` nobody, until all of it is taken.
//! 5. A heap is freed only once it is *closed*, which is done when the last handle is dropped. So
//!    the list of an allocator's heaps may be walked as long as there is a handle.
//! 6. The provenance of memory that goes to a collection is exposed. A pointer that comes back is
//!    used only to read the allocator's own pointer to the same memory.
//!
//! From the bottom up:
//!
//! * [`size_class`]: the sizes of blocks; [`error`], [`stats`]: what callers get to see
//! * [`poison`], [`chunk_registry`]: bytes of free blocks, and addresses of chunks, for [`block_checks`]
//! * [`chunk`], [`chunk_list`]: chunks, and the links of free blocks
//! * [`block_checks`]: finds misuse of blocks
//! * [`remote_free_list`]: how blocks that other threads freed get back to their heap
//! * [`heap`], with its [`bin`]s, [`heap_counters`] and [`heap_owner`]; [`shared`]: what the heaps of an
//!   allocator share
//! * [`bulk_free`]: frees many blocks to one heap; [`remote_free_batch`]: frees blocks to others'
//!   heaps
//! * [`thread_heaps`]: the heaps of a thread; [`allocator_handle`]: handles to an allocator
//! * [`block_allocator`]: `BlockAllocator`; `api2`: its `Allocator` of the crate `allocator-api2`,
//!   for which `exposed` recovers provenance

pub(crate) mod allocator_handle;
#[cfg(feature = "allocator-api2")]
mod api2;
mod bin;
pub(crate) mod block_allocator;
mod block_checks;
pub(crate) mod bulk_free;
mod chunk;
mod chunk_list;
mod chunk_registry;
pub(crate) mod error;
#[cfg(feature = "allocator-api2")]
pub(crate) mod exposed;
pub(crate) mod heap;
mod heap_counters;
mod heap_owner;
mod poison;
mod remote_free_batch;
mod remote_free_list;
pub(crate) mod shared;
pub(crate) mod size_class;
pub(crate) mod stats;
pub(crate) mod thread_heaps;

crate::sync::described! {
    /// The entries of the [note](crate::note) for the structures here.
    pub(crate) const NOTES: &[&[crate::layout::Entry]] = &[chunk::NOTE, heap::note::NOTE, size_class::NOTE, thread_heaps::NOTE];
}
