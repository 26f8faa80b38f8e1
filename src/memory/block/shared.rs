//! The state that the heaps of one allocator share: the list of heaps, caps, and counters; and why an
//! allocation fails.
//!
//! This file and `heap.rs` refer to each other: a heap holds its allocator, which lists its heaps.

use super::chunk::{CHUNK_BYTES, ChunkPtr};
use super::heap::Heap;
use super::size_class::{ALIGN, SIZES};
use crate::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use crate::sync::{Counter, FreeWitness};
use crate::unwind::reporting;
use std::alloc::{Layout, handle_alloc_error};
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Weak};

/// The hook that an allocator calls with its statistics when it exceeds its soft cap.
pub(super) type SoftCapHook = dyn Fn(&BlockStats) + Send + Sync;

/// The settings of an allocator.
#[derive(Clone, Default)]
pub(super) struct AllocatorSettings {
    pub(super) soft_cap: Option<usize>,
    pub(super) on_soft_cap: Option<Arc<SoftCapHook>>,
    pub(super) hard_cap: Option<usize>,
}

impl fmt::Debug for AllocatorSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllocatorSettings")
            .field("soft_cap", &self.soft_cap)
            .field("hard_cap", &self.hard_cap)
            .finish_non_exhaustive()
    }
}

/// The state that the heaps and handles of one allocator share. It lives as long as any of them.
#[derive(Debug)]
pub(crate) struct AllocatorShared {
    /// The newest heap, linked to the others by `Heap::next`. No heap is removed before the
    /// allocator has closed.
    heaps: AtomicPtr<Heap>,
    soft_cap: Option<usize>,
    hard_cap: Option<usize>,
    /// The handle owns the hook: this struct lives until the last block is freed, and the hook's
    /// captures must not be dropped inside a free.
    on_soft_cap: Option<Weak<SoftCapHook>>,
    /// Chunks that exist or are being made.
    chunks: AtomicU64,
    peak_chunks: Counter,
    /// Not 0 once the hook has been called; 0 again when the allocator is below its soft cap.
    soft_cap_reported: AtomicU64,
    /// Requests that went to the global allocator, and their bytes.
    large: Counter,
    large_bytes: Counter,
}

impl AllocatorShared {
    pub(super) fn new(settings: &AllocatorSettings) -> Self {
        Self {
            heaps: AtomicPtr::new(ptr::null_mut()),
            soft_cap: settings.soft_cap,
            hard_cap: settings.hard_cap,
            on_soft_cap: settings.on_soft_cap.as_ref().map(Arc::downgrade),
            chunks: AtomicU64::new(0),
            peak_chunks: Counter::new(),
            soft_cap_reported: AtomicU64::new(0),
            large: Counter::new(),
            large_bytes: Counter::new(),
        }
    }

    /// Returns all heaps. For callers with a handle: heaps may be freed once the allocator has
    /// closed.
    pub(super) fn heaps(&self) -> impl Iterator<Item = NonNull<Heap>> {
        // Acquire: pairs with the Release in `enlist`, so that making a heap happens before other
        // threads access it. Model: memory_adoption.
        let mut at = NonNull::new(self.heaps.load(Ordering::Acquire));
        std::iter::from_fn(move || {
            let heap = at?;
            // SAFETY: the heap is in the list, and the caller has a handle (invariant 5 of
            // `block`).
            let this = unsafe { heap.as_ref() };
            this.made.read();
            // Reads the link before returning the heap, as the caller may free the heap.
            at = NonNull::new(this.next.get().cast_mut());
            Some(heap)
        })
    }

    /// Returns a heap, which the caller owns from here on: one that no thread owned, or a new one.
    /// For callers with a handle.
    pub(super) fn claim(self: &Arc<Self>) -> NonNull<Heap> {
        // SAFETY: the heap is in the list, and the caller has a handle (invariant 5 of `block`).
        let idle = self
            .heaps()
            .find(|heap| unsafe { heap.as_ref() }.remote_frees.adopt());
        idle.unwrap_or_else(|| {
            let heap = Heap::make(self.clone());
            // SAFETY: the heap was just made, so it is in no list, and no other thread knows it.
            unsafe { self.enlist(heap) };
            heap
        })
    }

    /// Adds a heap to the list.
    ///
    /// # Safety
    /// The heap is in no list, and the caller has exclusive access to it.
    unsafe fn enlist(&self, heap: NonNull<Heap>) {
        let mut head = self.heaps.load(Ordering::Relaxed);
        loop {
            // SAFETY: until the exchange succeeds, the caller has exclusive access.
            unsafe { heap.as_ref() }.next.set(head);
            // Release: pairs with the Acquire in `heaps`. Model: memory_adoption.
            match self.heaps.compare_exchange_weak(
                head,
                heap.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Makes a chunk by `make`, unless the hard cap forbids one more.
    pub(super) fn admit(
        &self,
        class: usize,
        make: impl FnOnce() -> Option<ChunkPtr>,
    ) -> Result<ChunkPtr, AllocError> {
        // Relaxed: a chunk is counted before it is made, and until after it was freed, so the count
        // is never less than the number of chunks. The count publishes nothing.
        let held = (self.chunks.fetch_add(1, Ordering::Relaxed) as usize + 1) * CHUNK_BYTES;
        let chunk = match self.hard_cap {
            Some(cap) if held > cap => Err(AllocError::Capped {
                cap,
                held: held - CHUNK_BYTES,
            }),
            _ => make().ok_or_else(|| {
                let layout = Layout::from_size_align(SIZES[class], ALIGN);
                let layout = layout.expect("every size class is a valid layout");
                AllocError::OutOfMemory { layout }
            }),
        };
        match chunk {
            Ok(_) => self.peak_chunks.raise_shared((held / CHUNK_BYTES) as u64),
            // The count that was too high may have had the soft cap reported.
            Err(_) => self.count_freed_chunk(),
        }
        chunk
    }

    pub(super) fn is_capped(&self) -> bool {
        self.hard_cap.is_some()
    }

    /// Counts a request of this layout that goes to the global allocator.
    pub(crate) fn count_large(&self, layout: Layout) {
        self.large.add_shared(1);
        self.large_bytes.add_shared(layout.size() as u64);
    }

    /// Subtracts a chunk that was freed, or that was counted but not made.
    pub(super) fn count_freed_chunk(&self) {
        // Relaxed: as in `admit`.
        let left = self.chunks.fetch_sub(1, Ordering::Relaxed) as usize - 1;
        if self.soft_cap.is_some_and(|cap| left * CHUNK_BYTES <= cap) {
            // Relaxed: depending on timing, the hook is called once more or once less.
            self.soft_cap_reported.store(0, Ordering::Relaxed);
        }
    }

    /// Calls the hook if the allocator exceeds its soft cap: once, until it has been below the cap
    /// again. The hook is foreign code, which may use all heaps. For callers with a handle.
    pub(super) fn check_soft_cap(&self) {
        // Relaxed: as in `admit` and `count_freed_chunk`.
        let held = || self.chunks.load(Ordering::Relaxed) as usize * CHUNK_BYTES;
        let is_exceeded = self.soft_cap.is_some_and(|cap| held() > cap);
        if !is_exceeded || self.soft_cap_reported.swap(1, Ordering::Relaxed) != 0 {
            return;
        }
        if let Some(hook) = self.on_soft_cap.as_ref().and_then(Weak::upgrade) {
            let stats = self.stats();
            reporting(|| hook(&stats));
        }
    }

    /// Returns the allocator's statistics. For callers with a handle.
    pub(super) fn stats(&self) -> BlockStats {
        let mut stats = BlockStats {
            large: self.large.get(),
            large_bytes: self.large_bytes.get(),
            peak_chunk_bytes: self.peak_chunks.get() * CHUNK_BYTES as u64,
            ..BlockStats::default()
        };
        for heap in self.heaps() {
            // SAFETY: the heap is in the list, and the caller has a handle (invariant 5 of
            // `block`).
            unsafe { heap.as_ref() }.add_to(&mut stats);
        }
        stats
    }
}

impl Drop for AllocatorShared {
    fn drop(&mut self) {
        self.heaps.freed();
        self.chunks.freed();
        self.soft_cap_reported.freed();
    }
}

/// Statistics of a [`BlockAllocator`](crate::memory::BlockAllocator), at about one moment: other threads go
/// on meanwhile.
///
/// Cheap enough to be read in every frame: some twenty loads for each thread.
///
/// # Example
/// ```
/// use releasepool::memory::BlockAllocator;
/// use releasepool::Ref;
///
/// let blocks = BlockAllocator::new();
/// let _object = Ref::new_in([0_u8; 100], &blocks);
/// let stats = blocks.stats();
/// assert_eq!((stats.live_blocks, stats.heaps), (1, 1));
/// assert!(stats.live_bytes > 100 && stats.chunk_bytes >= 65_536);
/// ```
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
    /// Remote frees: the number of blocks that a thread other than their heap's has freed and that
    /// were put back, ever.
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

/// The reason why an allocation failed; the error of functions named `try_...`.
///
/// ```
/// use releasepool::memory::{AllocError, StackAllocator};
/// let arena = StackAllocator::with_capacity(1024);
/// let error = arena.try_alloc_slice(usize::MAX, |_| 0u64).unwrap_err();
/// assert!(matches!(error, AllocError::TooLarge { count: usize::MAX, .. }));
/// assert!(error.to_string().ends_with("values of 8 bytes are more than the address space holds"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AllocError {
    /// The size exceeds the address space, so no allocator was asked for it.
    #[error("{count} values of {} bytes are more than the address space holds", layout.size())]
    TooLarge {
        /// How many values.
        count: usize,
        /// The layout of each value.
        layout: Layout,
    },
    /// The global allocator has no memory left.
    #[error("no memory for {} bytes with an alignment of {}", layout.size(), layout.align())]
    OutOfMemory {
        /// The layout that was asked for.
        layout: Layout,
    },
    /// A [`BlockAllocator`](crate::memory::BlockAllocator) has reached its hard cap.
    #[error("the allocator holds {held} bytes, and its hard cap is {cap}")]
    Capped {
        /// The hard cap, in bytes.
        cap: usize,
        /// The chunk memory that the allocator holds, in bytes.
        held: usize,
    },
}

impl AllocError {
    /// Fails on behalf of a function that returns no error.
    ///
    /// # Panics
    /// If the size is too large, or a cap is reached; aborts if memory is exhausted.
    #[cold]
    pub(crate) fn fail(self) -> ! {
        match self {
            Self::TooLarge { .. } | Self::Capped { .. } => panic!("{self}"),
            Self::OutOfMemory { layout } => handle_alloc_error(layout),
        }
    }
}
