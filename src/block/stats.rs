//! What an allocator has.

use super::chunk::CHUNK;
use super::shared::Inner;
use super::size_class::SIZES;

/// What a [`BlockAllocator`](crate::BlockAllocator) has, at about one moment: other threads
/// go on meanwhile.
///
/// Cheap enough to be looked at in every frame: some twenty loads for each thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockStats {
    /// Blocks in use. One that was freed by another thread than it belongs to counts until
    /// it has come home and been sorted there.
    pub live_blocks: u64,
    /// Bytes of those.
    pub live_bytes: u64,
    /// Bytes by which blocks in use are larger than what was asked for. Not exact while
    /// blocks are on their way home.
    pub waste: u64,
    /// Bytes that the allocator has got from the system, in chunks of 64 KiB.
    pub chunk_bytes: u64,
    /// The most that this ever was.
    pub peak_chunk_bytes: u64,
    /// Bytes of chunks without a block in use.
    pub unused_bytes: u64,
    /// Blocks that came home from other threads, since the beginning.
    pub remote_frees: u64,
    /// Blocks that other threads have sent home, and that have not been sorted there yet.
    /// What a thread has freed and not sent yet (64 blocks for each other thread, at most)
    /// is not counted.
    pub inbox: u64,
    /// Heaps: as many as threads have used the allocator at once.
    pub heaps: u64,
    /// Heaps of threads that have ended, which wait for another.
    pub orphans: u64,
    /// Requests that were too large or aligned to more than blocks are, and went to the
    /// global allocator; and those of collections that could not get a block to shrink into, and
    /// shrank into memory of the global allocator. Since the beginning.
    pub large: u64,
    /// Bytes of those.
    pub large_bytes: u64,
}

impl Inner {
    /// Only for who has a handle.
    pub(crate) fn stats(&self) -> BlockStats {
        let mut stats = BlockStats {
            large: self.large.get(),
            large_bytes: self.large_bytes.get(),
            peak_chunk_bytes: self.peak_chunk_bytes(),
            ..BlockStats::default()
        };
        for heap in self.heaps() {
            // SAFETY: in the list, and the allocator has a handle.
            let heap = unsafe { heap.as_ref() };
            let figures = &heap.figures;
            for (class, size) in SIZES.iter().enumerate() {
                let live = heap.live(class);
                stats.live_blocks += live;
                stats.live_bytes += live * *size as u64;
            }
            // Modulo 2^64, as blocks that shrank have made `waste_sent` less. Blocks that come and
            // go meanwhile may make the sum negative.
            let back = figures.waste_back.get();
            let back = back.wrapping_add(figures.waste_sent.get());
            let waste = figures.waste.get().wrapping_sub(back) as i64;
            stats.waste += waste.max(0) as u64;
            stats.chunk_bytes += figures.chunks() * CHUNK as u64;
            stats.unused_bytes += figures.unused.get() * CHUNK as u64;
            stats.remote_frees += figures.remote.get();
            stats.inbox += figures.inbox.get();
            stats.heaps += 1;
            stats.orphans += u64::from(!heap.has_owner());
        }
        stats
    }
}
