//! Heaps: the blocks of one thread, from one allocator.
//!
//! Only the owner hands blocks out and puts them back, without an atomic read-modify-write. Blocks
//! that other threads free arrive through a [`RemoteFreeList`]. When the owner ends, another thread
//! adopts the heap as a whole: so a block's heap never changes, and a thread that frees a block
//! need not know the heap's current owner.
//!
//! For each class there is a *bin*: a list of blocks to hand out next, all from the class's
//! *current* chunk. A freed block goes to its chunk's list; when the bin's list has run out, a
//! chunk's list replaces it, as a page's does in mimalloc (Leijen, Zorn and de Moura, 2019).

use super::block_checks;
use super::chunk::{AllChunks, Block, BulkPut, CHUNK_BYTES, ChunkList, ChunkPtr, ChunkState, next};
use super::heap_shared::{HeapCounters, HeapOwner};
use super::remote_free_list::{PendingBlocks, RemoteFreeList};
use super::shared::{AllocError, AllocatorShared, BlockStats};
use super::size_class::{ALIGN, SIZES};
use crate::sync::cell::Cell;
use crate::sync::{Counter, Link, Roll, SMALL, Witness, boxed, described, prefetch, unbox};
use crate::thread::key::ThreadKey;
use crossbeam_utils::CachePadded;
use std::alloc::Layout;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// How many remote frees an owner puts back at a time: more than a refill cuts, so that the owner
/// keeps up with the senders; but a limited number, so that no request waits long.
const COLLECTED_AT_ONCE: usize = if SMALL { 4 } else { 1_024 };

/// The window of [`Heap::idle`], in calls: `idle` frees chunks that a whole window did not need.
const IDLE_WINDOW: u32 = if SMALL { 2 } else { 60 };

/// The greatest number of chunks that one call of [`Heap::idle`] frees.
const FREED_PER_IDLE: usize = 16;

/// The greatest number of unused chunks that an abandoned heap keeps.
const KEPT_UNOWNED: usize = 2;

/// The blocks of one class that are handed out next.
struct Bin {
    pub(super) free: Cell<*mut Block>,
    /// How many blocks were ever handed out.
    pub(super) allocated: Counter,
    /// How many blocks were ever put back.
    pub(super) freed: Counter,
    /// The chunk of the blocks in `free`.
    pub(super) current: Cell<Option<ChunkPtr>>,
    /// Other chunks of the class that have free blocks.
    pub(super) listed: ChunkList,
}

impl Bin {
    pub(super) fn new() -> Self {
        Self {
            free: Cell::new(ptr::null_mut()),
            allocated: Counter::new(),
            freed: Counter::new(),
            current: Cell::new(None),
            listed: ChunkList::default(),
        }
    }

    /// Takes the next block out. Owner only.
    #[inline(always)]
    pub(super) fn pop(&self) -> Option<NonNull<Block>> {
        let block = NonNull::new(self.free.get())?;
        // SAFETY: blocks in the bin belong to the heap's owner, the caller (invariant 4 of
        // `block`).
        let next = unsafe { next(block) };
        self.free.set(next);
        prefetch(next);
        Some(block)
    }
}

/// All heaps, for readers outside of the process: once an allocator has closed, only blocks lead to
/// its heaps.
pub(crate) static HEAPS: Roll = Roll::new();

/// The blocks of one thread, from one allocator.
pub(crate) struct Heap {
    bins: [Bin; SIZES.len()],
    /// Chunks without a block in use.
    unused: ChunkList,
    chunks: AllChunks,
    /// The heap's link in [`HEAPS`].
    link: Link,
    /// The fewest chunks in `unused` since the window began; while `idle` frees the spare chunks in
    /// several calls, twice the number that is left to free.
    least_unused: Cell<usize>,
    /// Calls of `idle` since the window began.
    window: Cell<u32>,
    /// Blocks taken from `remote_frees` and not put back in chunks yet.
    pending: PendingBlocks,
    pub(super) witness: Witness,
    /// Written when the heap is made or freed; read by threads that find the heap or send to it.
    pub(super) made: Witness,
    pub(super) counters: HeapCounters,
    /// The pointer to the heap itself, with provenance for all of it.
    this: Cell<*mut Heap>,
    /// The allocator's next heap. Never changes once other threads can see the heap.
    pub(super) next: Cell<*const Heap>,
    pub(super) allocator: Arc<AllocatorShared>,
    pub(super) owner: HeapOwner,
    pub(super) remote_frees: CachePadded<RemoteFreeList>,
}

impl Heap {
    /// Creates a heap that the caller owns; its `owner` is still `NOBODY`.
    pub(super) fn make(allocator: Arc<AllocatorShared>) -> NonNull<Self> {
        let heap = boxed(Self {
            bins: std::array::from_fn(|_| Bin::new()),
            unused: ChunkList::default(),
            chunks: AllChunks::default(),
            link: Link::new(),
            least_unused: Cell::new(0),
            window: Cell::new(0),
            pending: PendingBlocks::new(),
            witness: Witness::new(),
            made: Witness::new(),
            counters: HeapCounters::default(),
            this: Cell::new(ptr::null_mut()),
            next: Cell::new(ptr::null()),
            allocator,
            owner: HeapOwner::nobody(),
            remote_frees: CachePadded::default(),
        });
        // SAFETY: `boxed` has just made the heap, which is not shared yet.
        let this = unsafe { heap.as_ref() };
        this.this.set(heap.as_ptr());
        this.made.write();
        // SAFETY: the heap was just made; `abandon` removes its link before the heap is freed.
        unsafe { HEAPS.add(&this.link) };
        heap
    }

    /// Returns the heap of a chunk.
    #[inline(always)]
    pub(super) fn of(chunk: ChunkPtr) -> NonNull<Self> {
        // `empty_chunk` makes chunks with a pointer to a heap.
        chunk.heap().cast()
    }

    /// Describes the heap of a chunk by its owner, for reports.
    pub(super) fn owner_label(chunk: ChunkPtr) -> String {
        // SAFETY: a heap exists as long as it has a chunk (invariant 2 of `block`).
        unsafe { Self::of(chunk).as_ref() }.owner.label()
    }

    /// Adds the heap's statistics to those of its allocator.
    pub(super) fn add_to(&self, stats: &mut BlockStats) {
        let counters = &self.counters;
        for (class, size) in SIZES.iter().enumerate() {
            let live = self.live(class);
            stats.live_blocks += live;
            stats.live_bytes += live * *size as u64;
        }
        stats.waste += counters.waste();
        stats.chunk_bytes += counters.chunks() * CHUNK_BYTES as u64;
        stats.unused_bytes += counters.unused.get() * CHUNK_BYTES as u64;
        stats.remote_frees += counters.freed_remotely.get();
        stats.inbox += counters.inbox.get();
        stats.heaps += 1;
        stats.orphans += u64::from(self.owner.is(ThreadKey::NOBODY));
    }

    /// Returns how many blocks of the class are in use, or freed elsewhere and not put back.
    fn live(&self, class: usize) -> u64 {
        let bin = &self.bins[class];
        // `freed` is read first: a block that is allocated and freed between the two reads must not
        // make the difference negative.
        let freed = bin.freed.get();
        bin.allocated.get().saturating_sub(freed)
    }

    /// Hands out an uninitialized block, if the bin has one; the block is `waste` bytes
    /// larger than was asked for.
    ///
    /// # Safety
    /// The caller owns the heap; `class` is a size class.
    #[inline(always)]
    pub(super) unsafe fn alloc(&self, class: usize, waste: usize) -> Option<NonNull<u8>> {
        self.witness.write();
        // SAFETY: `class` is below the number of bins, by the caller's promise.
        let bin = unsafe { self.bins.get_unchecked(class) };
        let block = bin.pop()?;
        Some(self.hand_out(bin, block, class, waste))
    }

    /// Hands out an uninitialized block; refills the bin first if it is empty.
    ///
    /// # Safety
    /// The caller owns the heap; `class` is a size class.
    pub(super) unsafe fn alloc_or_refill(
        &self,
        class: usize,
        waste: usize,
    ) -> Result<NonNull<u8>, AllocError> {
        self.witness.write();
        let block = self.refill(class)?;
        Ok(self.hand_out(&self.bins[class], block, class, waste))
    }

    #[inline(always)]
    fn hand_out(
        &self,
        bin: &Bin,
        block: NonNull<Block>,
        class: usize,
        waste: usize,
    ) -> NonNull<u8> {
        bin.allocated.add(1);
        if waste != 0 {
            self.counters.waste_allocated.add(waste as u64);
        }
        // SAFETY: the block was taken out of the bin, so it belongs to the caller, and is of the
        // bin's class.
        unsafe { block_checks::handed_out(block.cast(), class, Self::owner_label) };
        block.cast()
    }

    /// Frees a block of the class.
    ///
    /// # Safety
    /// The caller owns the heap; the block is of `chunk`, which is of this heap and class, and the
    /// caller gives it up.
    #[inline(always)]
    pub(super) unsafe fn free(
        &self,
        chunk: ChunkPtr,
        block: NonNull<Block>,
        class: usize,
        waste: usize,
    ) {
        // SAFETY: the caller owns the heap; a block's class is a size class.
        unsafe { self.count_freed(class, 1, waste) };
        self.witness.write();
        // SAFETY: by the contract, the block is of this chunk, and the caller gives it up.
        let (was_full, unused) = unsafe { chunk.put(block) };
        if was_full || unused {
            self.relist(chunk);
        }
    }

    /// Counts `n` freed blocks of the class, and the sum of their waste.
    ///
    /// # Safety
    /// The caller owns the heap; `class` is a size class.
    #[inline(always)]
    unsafe fn count_freed(&self, class: usize, n: usize, waste: usize) {
        if waste != 0 {
            self.counters.waste_freed.add(waste as u64);
        }
        // SAFETY: `class` is below the number of bins, by the caller's promise.
        let bin = unsafe { self.bins.get_unchecked(class) };
        bin.freed.add(n as u64);
    }

    /// Counts a block that any thread has resized in place: its waste was `before` bytes,
    /// and is now `after`.
    #[cfg(feature = "allocator-api2")]
    #[inline]
    pub(super) fn count_resize(&self, before: usize, after: usize) {
        if before != after {
            let less = (before as u64).wrapping_sub(after as u64);
            self.counters.waste_lowered.add_shared(less);
        }
    }

    /// Ends `put`, a series of blocks that were put back in one chunk, and moves the chunk to
    /// another list if necessary. Takes `put` by value, so that callers can keep it in registers.
    #[inline(never)]
    fn finish_put(&self, put: Option<BulkPut>) {
        if let Some(put) = put {
            let chunk = put.chunk;
            if put.end() {
                self.relist(chunk);
            }
        }
    }

    /// Moves a chunk that now has a free block, or only free blocks, to the list where it belongs.
    #[cold]
    #[inline(never)]
    fn relist(&self, chunk: ChunkPtr) {
        let listed = &self.bins[chunk.class()].listed;
        if chunk.state() == ChunkState::Full {
            chunk.set_state(ChunkState::Listed);
            listed.push(chunk);
        }
        if chunk.is_unused() && chunk.state() == ChunkState::Listed {
            listed.remove(chunk);
            chunk.set_state(ChunkState::Unused);
            self.unused.push(chunk);
            self.counters.unused.set(self.unused.len() as u64);
        }
    }

    /// Takes the first block of a bin; if the bin is empty, first gets blocks for it.
    fn refill(&self, class: usize) -> Result<NonNull<Block>, AllocError> {
        if self.has_remote_frees() {
            self.collect(COLLECTED_AT_ONCE);
        }
        let bin = &self.bins[class];
        let chunks = self.counters.chunks();
        loop {
            if let Some(first) = bin.pop() {
                if self.counters.chunks() != chunks {
                    // Calls the hook, which is foreign code and may use this heap. The block has
                    // already left the bin, so a hook that trims does not free the new chunk.
                    self.allocator.check_soft_cap();
                }
                return Ok(first);
            }
            if let Some(chunk) = bin.current.get() {
                bin.free.set(chunk.take_free());
                if !bin.free.get().is_null() {
                    continue;
                }
                chunk.set_state(ChunkState::Full);
                bin.current.set(None);
            }
            let listed = bin.listed.pop();
            let chunk = match listed {
                Some(chunk) => chunk,
                None => self.empty_chunk(class)?,
            };
            chunk.set_state(ChunkState::Current);
            bin.current.set(Some(chunk));
        }
    }

    /// Returns a chunk without a block in use, for the class: an unused chunk of the heap, or a new
    /// one.
    fn empty_chunk(&self, class: usize) -> Result<ChunkPtr, AllocError> {
        let chunk = match self.unused.pop() {
            Some(chunk) => {
                let unused = self.unused.len();
                self.counters.unused.set(unused as u64);
                self.least_unused.set(self.least_unused.get().min(unused));
                chunk
            }
            None => {
                let this = NonNull::new(self.this.get()).expect("set by `make`");
                let new = || ChunkPtr::new(this.cast());
                let asked = Layout::from_size_align(SIZES[class], ALIGN);
                let asked = asked.expect("every size class is a valid layout");
                let cap = self.allocator.hard_cap();
                let chunk = self.allocator.admit(CHUNK_BYTES, cap, asked, new)?;
                self.counters.set_chunks(self.counters.chunks() + 1);
                self.chunks.push(chunk);
                chunk
            }
        };
        chunk.assign(class);
        Ok(chunk)
    }

    /// Returns whether `collect` would find a block.
    fn has_remote_frees(&self) -> bool {
        self.remote_frees.has_batches() || !self.pending.is_empty()
    }

    /// Puts up to `most` remote frees back in their chunks. Owner only.
    pub(super) fn collect(&self, most: usize) {
        let mut collected = 0;
        while collected < most {
            let Some(block) = self.pending.next(&self.remote_frees) else {
                break;
            };
            // SAFETY: a remote free is a block, and keeps the provenance of its chunk.
            let chunk = unsafe { ChunkPtr::of(block.cast()) };
            // SAFETY: this thread owns the heap. The block is of this heap, and the thread that
            // freed the block gave it up. The waste is 0 here, as the sender has counted it.
            unsafe { self.free(chunk, block, chunk.class(), 0) };
            collected += 1;
        }
        self.counters.freed_remotely.add(collected as u64);
        self.counters.inbox.subtract_shared(collected as u64);
    }

    /// Puts the blocks that are still in bins back in their chunks. Owner only.
    fn empty_bins(&self) {
        for bin in &self.bins {
            let Some(chunk) = bin.current.take() else {
                continue;
            };
            while let Some(block) = NonNull::new(bin.free.get()) {
                // SAFETY: blocks in the bin belong to the owner, the caller, and are of the
                // current chunk.
                unsafe {
                    bin.free.set(next(block));
                    chunk.put(block);
                }
            }
            chunk.set_state(ChunkState::Full);
            if chunk.has_room() {
                self.relist(chunk);
            }
        }
    }

    /// Frees at most `most` unused chunks, but leaves `kept`. Returns how many it freed. Owner
    /// only.
    fn free_unused(&self, most: usize, kept: usize) -> usize {
        let n = most.min(self.unused.len().saturating_sub(kept));
        for chunk in (0..n).map_while(|_| self.unused.pop()) {
            self.chunks.remove(chunk);
            // SAFETY: `empty_chunk` made the chunk, which was in the list of unused chunks: all of
            // its blocks are in its own free list.
            unsafe { chunk.delete() };
            self.allocator.release(CHUNK_BYTES as u64);
        }
        self.counters.set_chunks(self.counters.chunks() - n as u64);
        self.counters.unused.set(self.unused.len() as u64);
        self.least_unused
            .set(self.least_unused.get().min(self.unused.len()));
        n
    }

    /// Collects all remote frees; frees all unused chunks, and returns their number. Owner only.
    pub(super) fn trim(&self) -> usize {
        self.counters.begin_trim();
        self.collect(usize::MAX);
        self.empty_bins();
        self.free_unused(usize::MAX, 0)
    }

    /// Trims the heap if another thread has asked for it. Owner only.
    pub(super) fn answer_trim_request(&self) {
        if self.counters.is_trim_requested() {
            self.trim();
        }
    }

    /// Collects some remote frees, and frees chunks that were not needed for a while. The owner
    /// calls this when it has time.
    // Like `PageCache`, `idle` frees what was unused during a whole window. But the window of a
    // `PageCache` is a number of pages, as a thread without a loop must shrink its cache, too; that
    // of `idle` is a number of calls by loops, as freeing a chunk of 64 KiB takes microseconds.
    pub(super) fn idle(&self) {
        if self.has_remote_frees() {
            self.collect(COLLECTED_AT_ONCE);
        }
        self.answer_trim_request();
        let window = self.window.get() + 1;
        self.window.set(window);
        if window >= IDLE_WINDOW {
            // Frees only half of the chunks that the window did not need, and in several calls, so
            // that a program that needs chunks now and then pays less each time.
            let spare = self.least_unused.get().div_ceil(2);
            let n = self.free_unused(FREED_PER_IDLE.min(spare), 0);
            if n == spare {
                self.window.set(0);
                self.least_unused.set(self.unused.len());
            } else {
                self.least_unused.set(2 * (spare - n));
            }
        }
    }

    /// Gives up the ownership of the heap. While the allocator has a handle, the next owner finds
    /// the heap in the allocator's list. If the allocator has closed, frees the heap; or, if a
    /// block was not put back, lets senders of remote frees own it in turn: the last one frees it.
    ///
    /// # Safety
    /// The caller owns the heap, and does not use it any more.
    pub(super) unsafe fn abandon(heap: NonNull<Self>) {
        {
            // SAFETY: the caller owns the heap, so nobody frees it.
            let this = unsafe { heap.as_ref() };
            this.witness.write();
            this.owner.set(ThreadKey::NOBODY);
            if !this.remote_frees.is_closed() {
                this.answer_trim_request();
                this.empty_bins();
                this.free_unused(usize::MAX, KEPT_UNOWNED);
            }
            loop {
                let closed = this.remote_frees.is_closed();
                if closed {
                    this.trim();
                    if this.counters.chunks() == 0 {
                        break;
                    }
                }
                if this.remote_frees.abandon(closed) {
                    return;
                }
            }
            // SAFETY: `make` has added the link.
            unsafe { HEAPS.remove(&this.link) };
        }
        // SAFETY: `boxed` made the heap. There is no chunk, so no block that another thread could
        // free; and the allocator has closed, so nobody walks its list of heaps (invariant 5 of
        // `block`).
        drop(unsafe { unbox(heap) });
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        self.owner.freed();
        self.counters.freed();
        self.witness.write();
        self.made.write();
    }
}

/// Frees blocks of one class to the caller's own heap, one after the other. Consecutive blocks
/// usually share a chunk, so the chunk's free list and count stay in registers until the chunk
/// changes; and the heap's counters change once, at the end.
#[must_use = "the heap is not in order before `end`"]
pub(crate) struct BulkFree<'h> {
    heap: &'h Heap,
    class: usize,
    waste: usize,
    n: usize,
    put: Option<BulkPut>,
}

impl<'h> BulkFree<'h> {
    /// Begins to free blocks that are `waste` bytes larger than was asked for.
    ///
    /// # Safety
    /// The caller owns the heap for as long as the `BulkFree` exists, and does nothing else with
    /// the heap meanwhile; `class` is a size class.
    #[inline(always)]
    pub(crate) unsafe fn begin(heap: &'h Heap, class: usize, waste: usize) -> Self {
        Self {
            heap,
            class,
            waste,
            n: 0,
            put: None,
        }
    }

    /// Returns whether a block is of this heap; if so, the block may be freed next.
    ///
    /// # Safety
    /// The block is of this class, with the provenance of its chunk.
    #[inline(always)]
    pub(crate) unsafe fn is_ours(&mut self, block: NonNull<u8>) -> bool {
        // SAFETY: a block with the provenance of its chunk, by the caller's promise.
        let chunk = unsafe { ChunkPtr::of(block) };
        if self.put.is_none_or(|put| put.chunk != chunk) {
            if !ptr::eq(Heap::of(chunk).as_ptr(), self.heap) {
                return false;
            }
            self.heap.finish_put(self.put);
            self.put = Some(BulkPut::begin(chunk));
        }
        true
    }

    /// Frees the block.
    ///
    /// # Safety
    /// `is_ours` has just returned true for `block`, and the caller gives the block up.
    #[inline(always)]
    pub(crate) unsafe fn free(&mut self, block: NonNull<u8>) {
        // SAFETY: a block of this class, which the caller gives up. `is_ours` has just made the
        // block's chunk the chunk of `self.put`.
        unsafe {
            block_checks::freed(block, self.class, Heap::owner_label);
            self.heap.witness.write();
            if let Some(put) = &mut self.put {
                put.put(block.cast());
            }
        }
        self.n += 1;
    }

    /// Puts the heap in order; must be called after the last block. This is not a destructor, as
    /// nothing here panics, and the value would then have to be in memory instead of registers.
    #[inline(always)]
    pub(crate) fn end(self) {
        self.heap.finish_put(self.put);
        // SAFETY: the caller of `begin` owns the heap, and `class` is a size class.
        unsafe {
            self.heap
                .count_freed(self.class, self.n, self.n * self.waste)
        };
    }
}

described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    pub(crate) const NOTE: &[Entry] = entries! {
        heap {
            size = size_of::<Heap>(),
            link = offset_of!(Heap, link),
            owner = offset_of!(Heap, owner),
            bins = offset_of!(Heap, bins),
            chunks = offset_of!(Heap, chunks) + AllChunks::FIRST,
            pending_block = offset_of!(Heap, pending) + PendingBlocks::BLOCK,
            pending_batch = offset_of!(Heap, pending) + PendingBlocks::BATCH,
            // A `CachePadded` begins with its value.
            remote_frees = offset_of!(Heap, remote_frees),
        }
        bin {
            size = size_of::<Bin>(),
            free = offset_of!(Bin, free),
        }
    };
}
