//! Frees of many blocks at once: of one class, to one heap of the calling thread; and of other
//! threads' heaps, in batches, with one read-modify-write for each batch.

use super::block_checks;
use super::chunk::{Block, BulkPut, ChunkPtr, set_next};
use super::heap::Heap;
use super::remote_free_list::PushOutcome;
use crate::sync::cell::Cell;
use crate::sync::{SMALL, described};
use std::ptr::{self, NonNull};

/// Frees blocks of one class to the caller's own heap, one after the other. Consecutive blocks
/// usually share a chunk, so its free list and count stay in registers until the chunk changes;
/// and the heap counts once, at the end.
#[must_use = "the heap is not in order before `end`"]
pub(crate) struct BulkFree<'h> {
    heap: &'h Heap,
    class: usize,
    fragmentation: usize,
    n: usize,
    put: Option<BulkPut>,
}

impl<'h> BulkFree<'h> {
    /// Begins to free blocks that are `fragmentation` bytes larger than was asked for.
    ///
    /// # Safety
    /// The caller owns the heap for as long as this lives, and does nothing else with it
    /// meanwhile; `class` is a size class.
    #[inline(always)]
    pub(crate) unsafe fn begin(heap: &'h Heap, class: usize, fragmentation: usize) -> Self {
        Self {
            heap,
            class,
            fragmentation,
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
    /// `is_ours` has just returned true for it, and the caller gives it up.
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

    /// Must be called after the last block. This is not a destructor, as nothing here panics, and a
    /// value with a destructor would have to be in memory instead of registers.
    #[inline(always)]
    pub(crate) fn end(self) {
        self.heap.finish_put(self.put);
        // SAFETY: the caller of `begin` owns the heap, and `class` is a size class.
        unsafe {
            self.heap
                .count_freed(self.class, self.n, self.n * self.fragmentation)
        };
    }
}

/// The greatest number of blocks in a batch.
const BATCH: usize = if SMALL { 2 } else { 64 };

/// The number of heaps for which a thread gathers batches at a time: a power of two.
const BATCHES: usize = if SMALL { 2 } else { 8 };

/// The batches that a thread gathers, by the address of the heap.
#[repr(transparent)]
pub(super) struct RemoteFreeBatches([RemoteFreeBatch; BATCHES]);

/// A list of blocks of one heap. It belongs to the thread until it is sent.
struct RemoteFreeBatch {
    /// The heap of the blocks, which exists as long as there is one of them (invariant 2 of
    /// `block`); null if there is none.
    heap: Cell<*const Heap>,
    first: Cell<*mut Block>,
    len: Cell<usize>,
    /// The length at which the batch is sent.
    most: Cell<usize>,
    fragmentation: Cell<usize>,
}

impl RemoteFreeBatches {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| RemoteFreeBatch {
            heap: Cell::new(ptr::null()),
            first: Cell::new(ptr::null_mut()),
            len: Cell::new(0),
            most: Cell::new(BATCH),
            fragmentation: Cell::new(0),
        }))
    }

    /// Adds a block to its heap's batch, and sends the batch if it is full.
    ///
    /// # Safety
    /// The block is of this heap, and the caller gives it up.
    #[inline]
    pub(super) unsafe fn add(
        &self,
        heap: NonNull<Heap>,
        block: NonNull<Block>,
        fragmentation: usize,
    ) {
        let batch = self.of(heap);
        if !ptr::eq(batch.heap.get(), heap.as_ptr()) {
            batch.send();
            batch.heap.set(heap.as_ptr());
            // SAFETY: a heap exists as long as one of its blocks was not put back (invariant 2 of
            // `block`).
            let is_capped = unsafe { heap.as_ref() }.allocator.is_capped();
            // With a hard cap, another thread may wait for this block, and could not see that this
            // thread keeps it in a batch.
            batch.most.set(if is_capped { 1 } else { BATCH });
        }
        // SAFETY: the caller gives up the block, so it belongs to this thread until it is sent.
        unsafe { set_next(block, batch.first.get()) };
        batch.first.set(block.as_ptr());
        batch
            .fragmentation
            .set(batch.fragmentation.get() + fragmentation);
        batch.len.set(batch.len.get() + 1);
        if batch.len.get() == batch.most.get() {
            batch.send();
        }
    }

    /// Returns the batch for a heap, in which there may be blocks of another one.
    #[inline(always)]
    fn of(&self, heap: NonNull<Heap>) -> &RemoteFreeBatch {
        // Heaps are about 2 KiB apart.
        &self.0[(heap.addr().get() / 2_048) % BATCHES]
    }

    /// Sends the blocks of a heap; the heap may be gone if there are none.
    #[cold]
    pub(super) fn send_to(&self, heap: NonNull<Heap>) {
        let batch = self.of(heap);
        if ptr::eq(batch.heap.get(), heap.as_ptr()) {
            batch.send();
        }
    }

    /// Sends all batches.
    pub(super) fn send(&self) {
        self.0.iter().for_each(RemoteFreeBatch::send);
    }
}

impl RemoteFreeBatch {
    /// Sends the batch, if there is a block in it.
    #[cold]
    fn send(&self) {
        if let Some(first) = NonNull::new(self.first.replace(ptr::null_mut())) {
            // The heap may be freed from here on, and its address may be that of another one.
            let heap = self.heap.replace(ptr::null()).cast_mut();
            let heap = NonNull::new(heap).expect("`add` has set it");
            // SAFETY: blocks of this heap, linked by `add`; this thread owns them, and gives them
            // up here.
            unsafe { send(heap, first, self.len.take(), self.fragmentation.take()) };
        }
    }
}

/// Sends one block to its heap.
///
/// # Safety
/// The block is of this heap, and the caller gives it up.
pub(super) unsafe fn send_one(heap: NonNull<Heap>, block: NonNull<Block>, fragmentation: usize) {
    // SAFETY: the caller gives up the block, which then is a batch of one.
    unsafe {
        set_next(block, ptr::null_mut());
        send(heap, block, 1, fragmentation);
    }
}

/// Sends a batch to its heap.
///
/// # Safety
/// The caller owns the batch of `len` blocks of `heap` that begins with `first`, and gives it up.
unsafe fn send(heap: NonNull<Heap>, first: NonNull<Block>, len: usize, fragmentation: usize) {
    let outcome = {
        // SAFETY: a heap exists as long as one of its blocks was not put back (invariant 2 of
        // `block`).
        let heap = unsafe { heap.as_ref() };
        let counters = &heap.counters;
        // Models do not see counters, and this must come before the push, after which the heap may be freed.
        heap.made.read();
        counters.inbox.add_shared(len as u64);
        counters
            .fragmentation_lowered
            .add_shared(fragmentation as u64);
        // SAFETY: the batch is the caller's, and of this heap.
        unsafe { heap.remote_frees.push(first) }
    };
    if outcome == PushOutcome::HeapIsYours {
        // SAFETY: `push` has made this thread the owner.
        unsafe { Heap::abandon(heap) };
    }
}

described! {
    use std::mem::offset_of;

    impl RemoteFreeBatches {
        pub(super) const COUNT: usize = BATCHES;
        pub(super) const SIZE: usize = size_of::<RemoteFreeBatch>();
        /// The offset of the first block's address in a batch.
        pub(super) const BLOCK: usize = offset_of!(RemoteFreeBatch, first);
    }
}
