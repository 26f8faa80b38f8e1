//! `BlockAllocator` and its builder; handles to an allocator: allocating and trimming, which need a
//! handle, and closing the allocator with the last handle.

use super::chunk::CHUNK_BYTES;
use super::heap::Heap;
use super::shared::{AllocError, AllocatorSettings, AllocatorShared, BlockStats, SoftCapHook};
use super::size_class::{SIZES, class_of};
use super::thread_heaps::{self, ThreadHeaps};
use crate::sync::lazy;
use crate::unwind::reporting;
use std::alloc::Layout;
use std::fmt;
use std::panic::RefUnwindSafe;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// An allocator for objects, in blocks of 16 to 64,768 bytes: each thread allocates from a
/// heap of its own, and frees to it, without an atomic read-modify-write.
///
/// Pools make objects in blocks of the [process-wide allocator](Self::process). One of your own
/// counts or [caps](BlockAllocatorBuilder::hard_cap) the memory of a part of a program, such as a
/// level, and frees it with the level: for a [manager](crate::pool::PoolManagerBuilder::memory),
/// for any [`Ref`](crate::Ref::new_in), or, with the feature `allocator-api2`, for collections.
/// Larger objects take memory of the global allocator, which caps and statistics count, too.
///
/// # When not to use it
/// For objects that live as long as the program: a chunk of 64 KiB is cut into blocks of one size,
/// and a single block in use keeps it. For many values that die together, a
/// [`StackAllocator`](crate::memory::StackAllocator).
///
/// # Threads
/// Handles are `Send`, `Sync`, and cheap to clone. Any thread may free a block, also after the last
/// handle is dropped. A block of another thread's heap [goes back to
/// it](crate::guide::design#blocks).
///
/// # When memory is freed
/// Chunks without a block in use are freed by [`trim`](Self::trim), gradually at the ends of frames
/// and of loopers' commands, when a thread ends (all but two), and when the last handle is dropped.
/// So a thread without a loop keeps what it needed at its busiest: call `trim` after such a time.
/// [More](crate::guide::setup#memory-that-threads-keep).
///
/// # Caps
/// The caps of the [builder](Self::builder) count every byte that the allocator holds: its chunks,
/// and large memory in use, by objects, [`alloc`](Self::alloc) and collections. At a full [hard
/// cap](BlockAllocatorBuilder::hard_cap), `alloc` and [`Ref::try_new_in`](crate::Ref::try_new_in)
/// return [`AllocError::Capped`], and [`Ref::new_in`](crate::Ref::new_in) and
/// [`create`](crate::AutoreleasePool::create) panic. So a level of a game, say, can have a limit,
/// and give all of its memory back when it ends:
///
/// ```
/// use releasepool::memory::{AllocError, BlockAllocator};
/// use releasepool::Ref;
/// let level = BlockAllocator::builder().hard_cap(1 << 20).build(); // at most 1 MiB
/// let monsters: Vec<_> = (0..100).map(|n| Ref::new_in([n; 20], &level)).collect();
/// let load = |_| Ref::try_new_in([0_u8; 100_000], &level);
/// let textures = (0..9).map(load).collect::<Result<Vec<_>, _>>()?;
/// assert!(matches!(load(9), Err(AllocError::Capped { .. })));
/// drop((monsters, textures));
/// level.trim(); // or drop the last handle
/// let stats = level.stats();
/// assert_eq!((stats.chunk_bytes, stats.live_large_bytes), (0, 0));
/// # Ok::<(), AllocError>(())
/// ```
///
/// # Cost
/// A few nanoseconds to allocate, and to free on the same thread; some more to free on another. 64
/// KiB of address space for each size that a thread uses. With a cap, a large object has 16 bytes more, or as
/// many as it is aligned to, and takes some read-modify-writes of memory that threads share. In debug
/// builds, and with the feature `checks`, a block that is freed twice, with another size, or written
/// to after its free aborts the process.
///
/// ```
/// use releasepool::{Ref, memory::BlockAllocator};
/// let blocks = BlockAllocator::new();
/// let point = Ref::new_in([1.0, 2.0], &blocks);
/// assert_eq!(blocks.stats().live_bytes, 32); // with its header
/// drop(blocks);
/// assert_eq!(*point, [1.0, 2.0]); // still there
/// ```
#[derive(Clone, Debug)]
pub struct BlockAllocator(pub(crate) Arc<AllocatorHandle>);

/// Settings of a [`BlockAllocator`]; from [`BlockAllocator::builder`].
///
/// # Example
/// ```
/// use releasepool::memory::BlockAllocator;
///
/// let textures = BlockAllocator::builder().hard_cap(1 << 20).build(); // at most 1 MiB
/// assert_eq!(textures.stats().live_blocks, 0);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder makes nothing until `build`"]
pub struct BlockAllocatorBuilder(AllocatorSettings);

impl BlockAllocatorBuilder {
    /// Calls `hook` with the statistics when the allocator [holds](BlockAllocator#caps) more than
    /// `bytes`: once each time that the memory it holds rises above `bytes`.
    ///
    /// The hook is called on the thread that got the last memory, perhaps in the middle of an
    /// allocation of any kind. The hook may allocate, free, and [trim](BlockAllocator::trim).
    /// Panics of the hook, and of its captures' destructors, are reported as
    /// [events](crate::event). The hook is dropped with the last handle.
    ///
    /// ```
    /// use releasepool::memory::BlockAllocator;
    /// let textures = BlockAllocator::builder()
    ///     .soft_cap(16 << 20, |stats| eprintln!("textures: {} bytes", stats.live_bytes))
    ///     .build();
    /// # drop(textures);
    /// ```
    pub fn soft_cap(
        mut self,
        bytes: usize,
        hook: impl Fn(&BlockStats) + Send + Sync + 'static,
    ) -> Self {
        self.0.soft_cap = Some(bytes);
        self.0.on_soft_cap = Some(Arc::new(hook));
        self
    }

    /// Limits the memory that the allocator [holds](BlockAllocator#caps) to `bytes`. A request that
    /// would exceed the limit [trims](BlockAllocator::trim) the allocator, is tried once more, and
    /// then fails: it does not wait. Only a shrinking collection may exceed the limit, as it moves.
    ///
    /// The trim frees at once the unused chunks of this thread and of threads that have ended, and asks the
    /// other threads to free theirs. Each of them answers when it next drains or closes any pool outside of
    /// destructors, makes a frame, or runs out of blocks of any allocator; a loop that sleeps is woken for
    /// it. So a failed request may be repeated after a while. A thread that is blocked outside of a loop, or
    /// computes without any of these, cannot answer: it keeps even its unused chunks. Call `trim` on such a
    /// thread before it blocks or computes.
    ///
    /// With a hard cap, threads send blocks of other threads' heaps back one by one, not in
    /// batches. Large memory counts as freed at once, on any thread.
    pub fn hard_cap(mut self, bytes: usize) -> Self {
        self.0.hard_cap = Some(bytes);
        self
    }

    /// Creates the allocator.
    #[must_use]
    pub fn build(self) -> BlockAllocator {
        BlockAllocator(Arc::new(AllocatorHandle::new(self.0)))
    }
}

impl BlockAllocator {
    /// Creates an allocator with heaps of its own, without caps.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Returns a builder, for an allocator with caps.
    pub fn builder() -> BlockAllocatorBuilder {
        BlockAllocatorBuilder::default()
    }

    /// Returns the process-wide allocator, for pools of managers without an allocator of their own.
    ///
    /// ```
    /// use releasepool::memory::BlockAllocator;
    /// use releasepool::AutoreleasePool;
    /// let before = BlockAllocator::process().stats().live_blocks;
    /// let pool = AutoreleasePool::new();
    /// pool.create(1);
    /// assert_eq!(BlockAllocator::process().stats().live_blocks, before + 1);
    /// ```
    #[must_use]
    pub fn process() -> Self {
        Self(PROCESS.clone())
    }

    pub(crate) fn shared(&self) -> &Arc<AllocatorShared> {
        &self.0.shared
    }

    /// Allocates uninitialized memory for this layout: a block, or, if the layout is larger than
    /// 64,768 bytes or aligned to more than 64, memory of the global allocator. For a layout of size 0
    /// it returns a dangling pointer with the layout's alignment, which takes no memory and never
    /// fails.
    ///
    /// The pointer has provenance for more than the block, which [`dealloc`](Self::dealloc) needs:
    /// free the memory by `dealloc`, and not by the `Allocator` that collections use.
    ///
    /// ```
    /// use releasepool::memory::{AllocError, BlockAllocator};
    /// use std::alloc::Layout;
    /// let blocks = BlockAllocator::new();
    /// let layout = Layout::new::<[u32; 4]>();
    /// let block = blocks.alloc(layout)?;
    /// // SAFETY: the block is large enough and aligned; it is freed once, with its layout.
    /// unsafe {
    ///     block.cast::<[u32; 4]>().write([1, 2, 3, 4]);
    ///     blocks.dealloc(block, layout);
    /// }
    /// assert_eq!(blocks.stats().live_blocks, 0);
    /// # Ok::<(), AllocError>(())
    /// ```
    ///
    /// # Errors
    /// [`AllocError::OutOfMemory`], and [`AllocError::Capped`] at the hard cap.
    #[inline]
    pub fn alloc(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let Some(class) = class_of(layout) else {
            return self.large(layout);
        };
        let shared = self.shared();
        let waste = SIZES[class] - layout.size();
        let heap = thread_heaps::last_heap(shared);
        alloc_block(heap, Some(shared), class, waste)
    }

    /// Allocates for a layout that no block fits: nothing for size 0, else memory of the global
    /// allocator.
    #[cold]
    fn large(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        if layout.size() == 0 {
            let dangling = ptr::without_provenance_mut(layout.align());
            return Ok(NonNull::new(dangling).expect("an alignment is not 0"));
        }
        let shared = self.shared();
        or_trimmed(shared, || shared.alloc_large(layout, shared.hard_cap()))
    }

    /// Allocates memory for an object that no block fits, from an allocator with a cap.
    pub(crate) fn alloc_owned(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        or_trimmed(self.shared(), || self.shared().alloc_owned(layout))
    }

    /// Frees memory, on any thread. For a layout of size 0 nothing happens, with any pointer.
    ///
    /// # Safety
    /// If the layout's size is not 0: `p` is the pointer that [`alloc`](Self::alloc) of this
    /// allocator returned for this layout, with all of its provenance (one that was made from a
    /// reference has less), and it is freed once.
    #[inline]
    pub unsafe fn dealloc(&self, p: NonNull<u8>, layout: Layout) {
        match class_of(layout) {
            // SAFETY: `alloc` returned a block of this class for the layout, and the caller gives
            // it up.
            Some(class) => unsafe { thread_heaps::free(p, class, SIZES[class] - layout.size()) },
            None if layout.size() == 0 => {}
            // SAFETY: no block fits this layout, so `alloc` got the memory by `alloc_large`.
            None => unsafe { self.shared().free_large(p, layout) },
        }
    }

    /// Frees the unused chunks of the calling thread, and of threads that have ended;
    /// asks other threads to free theirs, as at a [hard cap](BlockAllocatorBuilder::hard_cap).
    /// Returns how many bytes this call has freed.
    ///
    /// First sends blocks that this thread has freed back to other threads' heaps, and puts back
    /// all blocks that other threads have sent: this may take a while.
    pub fn trim(&self) -> usize {
        thread_heaps::send_batches();
        trim(self.shared())
    }

    /// Returns statistics. Models of your own code should not call this, as the model checker does
    /// not model counters.
    #[must_use]
    pub fn stats(&self) -> BlockStats {
        self.shared().stats()
    }
}

// No panic leaves a heap in a broken state: foreign code runs only between complete operations.
impl RefUnwindSafe for AllocatorHandle {}

impl Default for BlockAllocator {
    fn default() -> Self {
        Self::new()
    }
}

lazy! {
    /// The process-wide allocator, for pools of managers without an allocator of their own.
    pub(crate) static PROCESS: Arc<AllocatorHandle> =
        Arc::new(AllocatorHandle::new(AllocatorSettings::default()));
}

/// The state that the clones of a `BlockAllocator` share. The drop of the last clone drops the
/// state and closes the allocator: from then on, a heap is freed once no thread owns it and all of
/// its blocks were put back.
pub(crate) struct AllocatorHandle {
    pub(crate) shared: Arc<AllocatorShared>,
    /// Keeps the hook alive: `shared` refers to it weakly.
    on_soft_cap: Option<Arc<SoftCapHook>>,
}

impl AllocatorHandle {
    pub(super) fn new(settings: AllocatorSettings) -> Self {
        Self {
            shared: Arc::new(AllocatorShared::new(&settings)),
            on_soft_cap: settings.on_soft_cap,
        }
    }
}

impl fmt::Debug for AllocatorHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}

impl Drop for AllocatorHandle {
    fn drop(&mut self) {
        // Blocks that this thread has freed, and keeps in batches, must not keep heaps alive.
        thread_heaps::send_batches();
        for heap in self.shared.heaps() {
            // SAFETY: nothing frees a heap before it is closed, below (invariant 5 of `block`).
            let was_ours = thread_heaps::disown(unsafe { heap.as_ref() });
            // SAFETY: nothing frees a heap before it is closed (invariant 5 of `block`).
            if unsafe { heap.as_ref() }.remote_frees.close() || was_ours {
                // SAFETY: this thread owns the heap: it was the owner already, or `close` has made
                // it the owner.
                unsafe { Heap::abandon(heap) };
            }
        }
        // Dropping the hook drops its captures, whose destructors are foreign code. The caller may
        // be ending a pool or a thread, so no panic may leave this function.
        let hook = self.on_soft_cap.take();
        reporting(|| drop(hook));
    }
}

/// Returns the calling thread's heap of an allocator that has a handle; `None` once the thread has
/// exited.
fn heap_of(allocator: &Arc<AllocatorShared>) -> Option<NonNull<Heap>> {
    if let Some(heap) = thread_heaps::last_heap(allocator) {
        return Some(heap);
    }
    let heaps = ThreadHeaps::current()?;
    let is_process = Arc::ptr_eq(allocator, &PROCESS.shared);
    let known = if is_process {
        thread_heaps::process_heap()
    } else {
        heaps.find(allocator)
    };
    let heap = known.unwrap_or_else(|| heaps.add(allocator, is_process));
    thread_heaps::set_last_heap(heap);
    Some(heap)
}

/// Allocates a block of `class`, which is `waste` bytes larger than was asked for: from `heap`, a
/// heap of the calling thread; or, if there is none or it has run out, from `allocator`, which has
/// a handle; or, if that is `None`, from the process-wide allocator.
#[inline(always)]
pub(crate) fn alloc_block(
    heap: Option<NonNull<Heap>>,
    allocator: Option<&Arc<AllocatorShared>>,
    class: usize,
    waste: usize,
) -> Result<NonNull<u8>, AllocError> {
    if let Some(heap) = heap {
        // SAFETY: the calling thread owns its heaps (invariant 3 of `block`).
        if let Some(block) = unsafe { alloc_at_hand(heap, class, waste) } {
            return Ok(block);
        }
    }
    alloc_slowly(allocator, class, waste)
}

/// Hands out an uninitialized block of this heap, if the bin of `class` has one.
///
/// # Safety
/// The calling thread owns the heap; `class` is a size class.
#[inline(always)]
pub(crate) unsafe fn alloc_at_hand(
    heap: NonNull<Heap>,
    class: usize,
    waste: usize,
) -> Option<NonNull<u8>> {
    // SAFETY: a heap that a thread owns exists (invariant 3 of `block`); the rest is the contract.
    unsafe { heap.as_ref().alloc(class, waste) }
}

#[cold]
#[inline(never)]
fn alloc_slowly(
    allocator: Option<&Arc<AllocatorShared>>,
    class: usize,
    waste: usize,
) -> Result<NonNull<u8>, AllocError> {
    thread_heaps::answer_trim_requests();
    let allocator = allocator.unwrap_or_else(|| &PROCESS.shared);
    let from_any_heap = || {
        if let Some(heap) = heap_of(allocator) {
            // SAFETY: the calling thread owns its heaps (invariant 3 of `block`).
            return unsafe {
                let heap = heap.as_ref();
                let block = heap.alloc(class, waste);
                block.map_or_else(|| heap.alloc_or_refill(class, waste), Ok)
            };
        }
        let heap = allocator.claim();
        // SAFETY: this thread owns the heap from `claim` until `abandon`.
        unsafe {
            let block = heap.as_ref().alloc_or_refill(class, waste);
            Heap::abandon(heap);
            block
        }
    };
    or_trimmed(allocator, from_any_heap)
}

/// Allocates; if the hard cap or the system has no room, trims the allocator and tries once more.
fn or_trimmed(
    allocator: &Arc<AllocatorShared>,
    alloc: impl Fn() -> Result<NonNull<u8>, AllocError>,
) -> Result<NonNull<u8>, AllocError> {
    alloc().or_else(|_| {
        trim(allocator);
        alloc()
    })
}

/// Frees the unused chunks of the calling thread's heap and of heaps that no thread owns, and asks
/// other threads to free theirs. Returns how many bytes were freed. The allocator must have a
/// handle.
fn trim(allocator: &Arc<AllocatorShared>) -> usize {
    let own = heap_of(allocator);
    let mut chunks = 0;
    for at in allocator.heaps() {
        // SAFETY: the heap is in the list, and the allocator has a handle (invariant 5 of `block`).
        let heap = unsafe { at.as_ref() };
        if Some(at) == own {
            chunks += heap.trim();
        } else if heap.remote_frees.adopt() {
            chunks += heap.trim();
            // SAFETY: `adopt` has made this thread the owner.
            unsafe { Heap::abandon(at) };
        } else {
            heap.counters.request_trim();
            heap.owner.nudge();
        }
    }
    chunks * CHUNK_BYTES
}
