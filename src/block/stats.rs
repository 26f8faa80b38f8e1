//! `BlockStats`.

/// Statistics of a [`BlockAllocator`](crate::BlockAllocator), at about one moment: other threads go
/// on meanwhile.
///
/// Cheap enough to be read in every frame: some twenty loads for each thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockStats {
    /// Blocks in use. A block freed by a thread other than its heap's counts until the heap's
    /// thread has put it back.
    pub live_blocks: u64,
    /// Bytes of the blocks in use.
    pub live_bytes: u64,
    /// Internal fragmentation: bytes by which the blocks in use are larger than requested. Not
    /// exact while remote frees are in flight.
    pub waste: u64,
    /// Bytes that the allocator has got from the system, in chunks of 64 KiB.
    pub chunk_bytes: u64,
    /// The most that `chunk_bytes` has ever been.
    pub peak_chunk_bytes: u64,
    /// Bytes of chunks without a block in use.
    pub unused_bytes: u64,
    /// Remote frees: how many blocks threads other than their heap's have ever freed and that were
    /// put back.
    pub remote_frees: u64,
    /// Remote frees in flight: blocks that other threads have freed and that were not put back yet.
    /// Does not count blocks that a thread still gathers into a batch (at most 64 for each other
    /// heap).
    pub inbox: u64,
    /// Heaps: as many as threads have used the allocator at once.
    pub heaps: u64,
    /// Heaps of threads that have ended, which wait to be adopted by other threads.
    pub orphans: u64,
    /// How many requests ever went to the global allocator, because they were too large for a block
    /// or aligned to more than blocks are, or because a collection got no block to shrink into.
    pub large: u64,
    /// Bytes of those requests.
    pub large_bytes: u64,
}
