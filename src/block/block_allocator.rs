//! `BlockAllocator`: the public side.

use super::error::AllocError;
use super::shared::{Handle, Inner, Settings};
use super::size_class::{SIZES, class_of};
use super::stats::BlockStats;
use super::thread_heaps::{self, PROCESS};
use crate::sync::{alloc, dealloc};
use std::alloc::Layout;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Memory for small objects, in blocks of 16 to 640 bytes: each thread allocates from a heap
/// of its own, and frees to it, without an atomic read-modify-write.
///
/// Pools make their objects out of one: [`AutoreleasePool::create`](crate::AutoreleasePool).
/// There is one for the process, and a [manager can have its own](crate::PoolManagerBuilder::memory),
/// to count what a part of a program uses, to cap it, or to have it gone when the part is.
/// Any [`Ref`](crate::Ref) can be made [in one](crate::Ref::new_in), and with the feature
/// `allocator-api2`, so can collections.
///
/// After Box2D's `b2BlockAllocator`: its fourteen sizes of blocks, and 48, 80 and 112 bytes
/// between them. Where that one is for a single thread and gives nothing back, this one has a
/// heap for each thread, whose chunks (of 64 KiB, each for blocks of one size) are what pages
/// are in mimalloc.
///
/// # When not to use it
/// For what is large, or lives as long as the program: memory that is cut into blocks of one
/// size is not used for another before all of a chunk is free. For many values that die
/// together, a [`StackAllocator`](crate::StackAllocator).
///
/// # Threads
/// Handles are `Send`, `Sync`, and cheap to clone. A block may be freed on any thread. If it
/// is not the one whose heap the block is from, the block goes home: in batches of 64, or
/// when the thread has time (at the end of a [frame](crate::FrameLoop) or of a
/// [looper's](crate::Looper) command), ends, or calls [`trim`](Self::trim). It is used again
/// when its heap next runs out of blocks of some size, 1,024 such blocks at a time. The heap
/// of a thread that has ended waits for one that needs a heap.
///
/// # Giving back
/// Chunks without a block in use go back to the system by [`trim`](Self::trim); at the end
/// of frames and of loopers' commands, half of those that were not needed for 60 of them,
/// 16 at a time; and all but two when a thread ends. So a thread that has neither a
/// [`FrameLoop`](crate::FrameLoop) nor a [`Looper`](crate::Looper) keeps the chunks that it
/// has needed at its busiest: call `trim` after that. One block in use keeps its chunk.
///
/// When the last handle goes, what is not in use goes back at once, and the rest as blocks
/// come home: blocks stay valid until they are freed, with or without a handle. Other threads
/// give back what they have when they next free a block of it, have time, use an allocator for
/// the first time, or end.
///
/// # Cost
/// A few nanoseconds to allocate and free at home, some more elsewhere: see
/// `cargo bench --bench memory`. 64 KiB of address space, of which no page is touched before
/// it is needed, for each size and thread that uses it.
///
/// # Misuse
/// In debug builds, and with the feature `checks`: a block that is freed twice, as one of
/// another size, or that is none at all, one that is written to after it was freed, abort the
/// process, with size, address and owner.
///
/// ```
/// use releasepool::{BlockAllocator, Ref};
/// let blocks = BlockAllocator::new();
/// let point = Ref::new_in([1.0, 2.0], &blocks);
/// assert_eq!(blocks.stats().live_bytes, 32); // with its header
/// drop(blocks);
/// assert_eq!(*point, [1.0, 2.0]); // still there
/// ```
#[derive(Clone, Debug)]
pub struct BlockAllocator(pub(crate) Arc<Handle>);

/// Settings of a [`BlockAllocator`]; from [`BlockAllocator::builder`].
#[derive(Clone, Debug, Default)]
#[must_use = "a builder makes nothing until `build`"]
pub struct BlockAllocatorBuilder(Settings);

impl BlockAllocatorBuilder {
    /// Beyond how many bytes of chunks `hook` is told what the allocator has. Once, and again
    /// if there is more after there was less.
    ///
    /// It is called on the thread that made the last chunk, which may be inside an
    /// allocation of anything; it may allocate, free, and [trim](BlockAllocator::trim). Its
    /// panics, and those of what it has captured, are reported as [events](crate::event). It is
    /// dropped with the last handle.
    pub fn soft_cap(
        mut self,
        bytes: usize,
        hook: impl Fn(&BlockStats) + Send + Sync + 'static,
    ) -> Self {
        self.0.soft_cap = Some(bytes);
        self.0.on_soft_cap = Some(Arc::new(hook));
        self
    }

    /// How many bytes of chunks there may be, at most. Requests that would take more fail,
    /// after the allocator has been [trimmed](BlockAllocator::trim).
    pub fn hard_cap(mut self, bytes: usize) -> Self {
        self.0.hard_cap = Some(bytes);
        self
    }

    /// Makes the allocator.
    #[must_use]
    pub fn build(self) -> BlockAllocator {
        BlockAllocator(Arc::new(Handle::new(self.0)))
    }
}

impl BlockAllocator {
    /// An allocator with heaps of its own, without caps.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// An allocator with settings.
    pub fn builder() -> BlockAllocatorBuilder {
        BlockAllocatorBuilder::default()
    }

    /// The process's own: that of all pools whose manager has no other.
    ///
    /// ```
    /// use releasepool::{AutoreleasePool, BlockAllocator};
    /// let before = BlockAllocator::process().stats().live_blocks;
    /// let pool = AutoreleasePool::new();
    /// pool.create(1);
    /// assert_eq!(BlockAllocator::process().stats().live_blocks, before + 1);
    /// ```
    #[must_use]
    pub fn process() -> Self {
        Self(PROCESS.clone())
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.0.0
    }

    /// Allocates memory for this layout, uninitialised: a block, or, if it is larger than 640
    /// bytes or aligned to more than 16, memory of the global allocator. A layout of size 0 gets
    /// a dangling pointer with the layout's alignment: it takes no memory, and never fails.
    ///
    /// The pointer has the provenance of more than the block: [`dealloc`](Self::dealloc)
    /// needs that, so the memory goes back by `dealloc` and not as that of a collection.
    ///
    /// # Errors
    /// [`AllocError::OutOfMemory`] and [`AllocError::Capped`].
    #[inline]
    pub fn alloc(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let Some(class) = class_of(layout) else {
            return self.large(layout);
        };
        let inner = self.inner();
        let waste = SIZES[class] - layout.size();
        thread_heaps::alloc(thread_heaps::last_heap(inner), Some(inner), class, waste)
    }

    /// Allocates what no block is for: nothing at all, or memory of the global allocator.
    #[cold]
    fn large(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        if layout.size() == 0 {
            let dangling = ptr::without_provenance_mut(layout.align());
            return Ok(NonNull::new(dangling).expect("a power of two"));
        }
        self.inner().count_large(layout);
        // SAFETY: the layout has a size, by the test above.
        let memory = unsafe { alloc(layout) };
        NonNull::new(memory).ok_or(AllocError::OutOfMemory { layout })
    }

    /// Gives memory back, on any thread. A layout of size 0 has none: any pointer will do, and
    /// nothing happens.
    ///
    /// # Safety
    /// If the layout has a size: the memory came from [`alloc`](Self::alloc) of this allocator,
    /// by this layout, is given back once, and by the very pointer, not by one to a part of the
    /// block only (as a reference is).
    #[inline]
    pub unsafe fn dealloc(&self, p: NonNull<u8>, layout: Layout) {
        match class_of(layout) {
            // SAFETY: by the caller's promise.
            Some(class) => unsafe { thread_heaps::free(p, class, SIZES[class] - layout.size()) },
            None if layout.size() == 0 => {}
            // SAFETY: by the caller's promise.
            None => unsafe { dealloc(p.as_ptr(), layout) },
        }
    }

    /// Gives chunks without a block in use back to the system: those of the calling thread,
    /// and of threads that have ended; other threads are asked to do so when they next run
    /// out of blocks, or have time. How many bytes were given back at once.
    ///
    /// Sends home what the calling thread has freed of others', and sorts all that has come
    /// home: this may take a while.
    pub fn trim(&self) -> usize {
        thread_heaps::send_outgoing();
        self.inner().trim()
    }

    /// What there is. Not for the models of your own code: figures are not part of them.
    #[must_use]
    pub fn stats(&self) -> BlockStats {
        self.inner().stats()
    }
}

// Whatever panics, heaps are left in order.
impl UnwindSafe for BlockAllocator {}
impl RefUnwindSafe for BlockAllocator {}

impl Default for BlockAllocator {
    fn default() -> Self {
        Self::new()
    }
}
