//! Memory for objects: blocks, from heaps that threads own.
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
//! `SAFETY` comments cite these invariants by number:
//!
//! 1. A chunk begins at a multiple of its size, and no block begins at its chunk's address. So
//!    rounding a block's address down gives its chunk.
//! 2. A chunk belongs to one heap for ever. It exists at least while one of its blocks is in use or
//!    in any list but the chunk's own; and a heap exists as long as it has a chunk.
//! 3. At most one thread owns a heap. Other threads access only `SharedHeader`s, atomics, links
//!    under the lock of `HEAPS`, and fields that no longer change. Ownership passes only by the
//!    mark *idle* of a `RemoteFreeList`. A thread owns the heaps to which its `ThreadHeaps` and
//!    thread-local pointers lead: each has the thread's key as `owner`; no other thread frees it.
//! 4. A block that is not in use is in exactly one list, whose owner owns the block's links. The
//!    heap's owner owns the lists of chunks, bins and `PendingBlocks`; a thread owns a batch that
//!    it gathers; no thread owns a `RemoteFreeList` until one takes all of it.
//! 5. A heap is freed only once it is *closed*, by the drop of the allocator's last handle. So the
//!    list of an allocator's heaps may be walked as long as a handle exists.
//! 6. The provenance of a block that goes to a collection is exposed. By that provenance only the
//!    header of the block's chunk is read; the block is used by the pointer in that header.
//!
//! The files, in the order in which an allocation, and then a free, runs through them:
//!
//! * [`block_allocator`]: `BlockAllocator`, and handles to an allocator
//! * [`thread_heaps`]: the heaps of a thread, and its batches of blocks of other threads' heaps
//! * [`heap`]: heaps and their bins, and frees of many blocks at once to one heap; [`heap_shared`]: what other threads access of a heap;
//!   [`shared`]: the state that the heaps of an allocator share, and statistics
//! * [`chunk`]: chunks, their lists, and the links of free blocks; [`size_class`]: the sizes of blocks
//! * [`block_checks`]: finds misuse of blocks
//! * [`remote_free_list`]: blocks freed by other threads and returned to their heap
//! * `collections`: implements `Allocator` of the crate `allocator-api2` for all our allocators

pub(crate) mod block_allocator;
mod block_checks;
mod chunk;
#[cfg(feature = "allocator-api2")]
pub(crate) mod collections;
pub(crate) mod heap;
mod heap_shared;
mod remote_free_list;
pub(crate) mod shared;
pub(crate) mod size_class;
pub(crate) mod thread_heaps;

crate::sync::described! {
    /// The entries of the [note](crate::note) for the structures of this folder.
    pub(crate) const NOTES: &[&[crate::layout::Entry]] = &[chunk::NOTE, heap::NOTE, size_class::NOTE, thread_heaps::NOTE];
}
