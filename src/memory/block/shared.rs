//! The state that the heaps of one allocator share: the list of heaps, caps, and counters; and the
//! error of an allocation.
//!
//! This file and `heap.rs` refer to each other: a heap holds its allocator, which lists its heaps.

use super::heap::Heap;
use crate::macros::debug_fields;
use crate::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use crate::sync::{Counter, FreeWitness, alloc, dealloc};
use crate::unwind::reporting;
use std::alloc::{Layout, handle_alloc_error};
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

debug_fields! { AllocatorSettings: |this| soft_cap = this.soft_cap, hard_cap = this.hard_cap, .. }

/// The state of one allocator. It lives as long as any of its heaps, handles and [`Owner`]s.
#[derive(Debug)]
pub(crate) struct AllocatorShared {
    /// The newest heap, linked to the others by `Heap::next`. No heap is freed before the allocator
    /// closes; afterwards nothing walks the list.
    heaps: AtomicPtr<Heap>,
    soft_cap: Option<usize>,
    hard_cap: Option<usize>,
    /// `AllocatorHandle` owns the hook: this struct lives until the last block is freed, and the
    /// hook's captures must not be dropped inside a free.
    on_soft_cap: Option<Weak<SoftCapHook>>,
    /// Bytes of chunks that exist or are being made; in a limited allocator, of large memory, too.
    held: AtomicU64,
    peak: Counter,
    /// Not 0 once the hook has been called; 0 again once the soft cap is no longer exceeded.
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
            held: AtomicU64::new(0),
            peak: Counter::new(),
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

    /// Makes memory of this many bytes by `make`, unless more than `cap` would then be held. The
    /// error names the layout that was `asked` for.
    #[cold]
    pub(super) fn admit<M>(
        &self,
        bytes: usize,
        cap: Option<usize>,
        asked: Layout,
        make: impl FnOnce() -> Option<M>,
    ) -> Result<M, AllocError> {
        let bytes = bytes as u64;
        let Some(cap) = cap else {
            let made = make().ok_or(AllocError::OutOfMemory { layout: asked })?;
            // Relaxed: the count publishes nothing. Nobody frees the memory before it is counted.
            let before = self.held.fetch_add(bytes, Ordering::Relaxed);
            self.peak.raise_shared(before + bytes);
            return Ok(made);
        };
        let more = |held: u64| held.checked_add(bytes).filter(|more| *more <= cap as u64);
        // Relaxed: memory is counted before it is made, and until after it was freed, so the count
        // is never less than what these requests hold. The count publishes nothing. The exchange
        // tests and counts in one step, so requests never exceed the cap together, and a refused
        // request leaves no trace by which another would be refused. Model: caps_large.
        let before = (self.held).fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        let before = before.map_err(|held| AllocError::Capped {
            cap,
            held: held as usize,
        })?;
        let Some(made) = make() else {
            // If only these bytes exceeded the soft cap, `release` lets the hook be called again.
            self.release(bytes);
            return Err(AllocError::OutOfMemory { layout: asked });
        };
        self.peak.raise_shared(before + bytes);
        Ok(made)
    }

    pub(super) fn hard_cap(&self) -> Option<usize> {
        self.hard_cap
    }

    /// Returns whether the allocator has a cap, for which large memory counts, too.
    pub(crate) fn is_limited(&self) -> bool {
        self.hard_cap.is_some() || self.soft_cap.is_some()
    }

    /// Subtracts bytes that were freed, or that were counted but not made.
    pub(super) fn release(&self, bytes: u64) {
        // Relaxed: the count publishes nothing. Memory is counted until after it was freed, so no
        // request gets the room of memory that still exists.
        let left = self.held.fetch_sub(bytes, Ordering::Relaxed) - bytes;
        if self.soft_cap.is_some_and(|cap| left <= cap as u64) {
            // Relaxed: depending on timing, the hook is called once more or once less.
            self.soft_cap_reported.store(0, Ordering::Relaxed);
        }
    }

    /// Allocates memory for a layout that no block fits, from the global allocator, if no more than
    /// `cap` is then held. The layout's size is not 0. For callers with a handle.
    #[inline]
    pub(crate) fn alloc_large(
        &self,
        layout: Layout,
        cap: Option<usize>,
    ) -> Result<NonNull<u8>, AllocError> {
        // SAFETY: the layout's size is not 0.
        let make = || NonNull::new(unsafe { alloc(layout) });
        let memory = if self.is_limited() {
            let memory = self.admit(layout.size(), cap, layout, make)?;
            self.check_soft_cap();
            memory
        } else {
            make().ok_or(AllocError::OutOfMemory { layout })?
        };
        self.large.add_shared(1);
        self.large_bytes.add_shared(layout.size() as u64);
        Ok(memory)
    }

    /// Frees memory on any thread, also if the allocator has closed.
    ///
    /// # Safety
    /// `alloc_large` of this allocator returned the memory for this layout, and the caller gives it
    /// up.
    pub(crate) unsafe fn free_large(&self, memory: NonNull<u8>, layout: Layout) {
        // SAFETY: `alloc_large` got it from `sync::alloc`; the rest is the contract.
        unsafe { dealloc(memory.as_ptr(), layout) };
        if self.is_limited() {
            self.release(layout.size() as u64);
        }
    }

    /// Allocates large memory for an object, which may outlive all handles. The memory is *owned*:
    /// it begins with an [`Owner`], which names the allocator that counts its bytes.
    pub(super) fn alloc_owned(self: &Arc<Self>, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let Ok((whole, offset)) = Layout::new::<Owner>().extend(layout) else {
            return Err(AllocError::TooLarge { count: 1, layout });
        };
        let memory = self.alloc_large(whole, self.hard_cap)?;
        // SAFETY: `memory` is fresh, and has room for an owner at its beginning and for the object
        // at `offset`.
        unsafe {
            memory.cast().write(Owner(self.clone()));
            Ok(memory.add(offset))
        }
    }

    /// Frees the memory of an object, on any thread.
    ///
    /// # Safety
    /// `alloc_owned` of any allocator returned the memory for this layout, and the caller gives it
    /// up.
    pub(crate) unsafe fn free_owned(memory: NonNull<u8>, layout: Layout) {
        let whole = Layout::new::<Owner>().extend(layout);
        let (whole, offset) = whole.expect("`alloc_owned` has made this layout");
        // SAFETY: `alloc_owned` got the memory, of the layout `whole`, by `alloc_large` of
        // `allocator`, and wrote the owner to its beginning. The caller gives up the memory.
        unsafe {
            let memory = memory.sub(offset);
            let Owner(allocator) = memory.cast().read();
            allocator.free_large(memory, whole);
        }
    }

    /// Calls the hook once each time that the allocator comes to exceed its soft cap. The hook is
    /// foreign code, which may use all heaps. For callers with a handle.
    pub(super) fn check_soft_cap(&self) {
        // Relaxed: depending on timing, the hook is called once more or once less.
        let held = || self.held.load(Ordering::Relaxed);
        let is_exceeded = self.soft_cap.is_some_and(|cap| held() > cap as u64);
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
            peak_bytes: self.peak.get(),
            ..BlockStats::default()
        };
        for heap in self.heaps() {
            // SAFETY: the heap is in the list, and the caller has a handle (invariant 5 of
            // `block`).
            unsafe { heap.as_ref() }.add_to(&mut stats);
        }
        if self.is_limited() {
            // Relaxed: only a statistic.
            let held = self.held.load(Ordering::Relaxed);
            stats.live_large_bytes = held.saturating_sub(stats.chunk_bytes);
        }
        stats
    }
}

/// Stands before a large object of a limited allocator, and names that allocator.
#[repr(C, align(16))]
struct Owner(Arc<AllocatorShared>);

/// Returns how many bytes of owned memory precede an object of this alignment.
pub(crate) const fn owned_offset(align: usize) -> usize {
    size_of::<Owner>().next_multiple_of(align)
}

impl Drop for AllocatorShared {
    fn drop(&mut self) {
        self.heaps.freed();
        self.held.freed();
        self.soft_cap_reported.freed();
    }
}

/// Statistics of a [`BlockAllocator`](crate::memory::BlockAllocator), at about one moment: other threads go
/// on meanwhile.
///
/// Cheap enough to be read in every frame: some eighty loads for each heap.
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
#[derive(Clone, Copy, Debug, Default)]
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
    /// The most that `chunk_bytes` and `live_large_bytes` have ever been together.
    pub peak_bytes: u64,
    /// Bytes of chunks without a block in use.
    pub unused_bytes: u64,
    /// Remote frees: the number of blocks that a thread other than their heap's has freed and that
    /// were put back, ever.
    pub remote_frees: u64,
    /// Remote frees in flight: blocks that other threads have freed and that were not put back yet.
    /// Does not count blocks that a thread still gathers into a batch (for each other heap at most
    /// 64, of at most 1 KiB each).
    pub inbox: u64,
    /// Heaps: the greatest number of threads that have used the allocator at once.
    pub heaps: u64,
    /// Heaps of threads that have ended, which wait to be adopted by other threads.
    pub orphans: u64,
    /// How many requests ever went to the global allocator, because they were too large for a block
    /// or aligned to more than blocks are, or because a collection got no block to shrink into.
    pub large: u64,
    /// Bytes of the requests that `large` counts.
    pub large_bytes: u64,
    /// Bytes of large memory in use, in an allocator with a cap, which counts them; else 0.
    pub live_large_bytes: u64,
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
    /// The global allocator has no memory.
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
        /// The memory that the allocator holds, in bytes.
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
