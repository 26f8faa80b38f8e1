//! Blocks that a thread has freed and that belong to others: sent home in batches, for one
//! read-modify-write each.

use super::chunk::{Block, set_next};
use super::heap::Heap;
use super::remote_free_list::Sent;
use crate::sync::SMALL;
use crate::sync::cell::Cell;
use std::ptr::{self, NonNull};

/// Blocks in a batch, at most.
const BATCH: usize = if SMALL { 2 } else { 64 };

/// Heaps that batches are gathered for at a time: a power of two.
const SLOTS: usize = if SMALL { 2 } else { 8 };

/// See the module.
pub(crate) struct RemoteFreeBatches([Slot; SLOTS]);

struct Slot {
    /// Whose blocks are gathered. It is there as long as there is one of them.
    heap: Cell<*const Heap>,
    first: Cell<*mut Block>,
    len: Cell<usize>,
    waste: Cell<usize>,
}

impl RemoteFreeBatches {
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| Slot {
            heap: Cell::new(ptr::null()),
            first: Cell::new(ptr::null_mut()),
            len: Cell::new(0),
            waste: Cell::new(0),
        }))
    }

    /// Sends the block home, sooner or later.
    ///
    /// # Safety
    /// The block is of the heap, and nobody uses it.
    #[inline]
    pub(crate) unsafe fn add(&self, heap: NonNull<Heap>, block: NonNull<Block>, waste: usize) {
        // Heaps are some 2 KiB apart.
        let slot = &self.0[(heap.addr().get() / 2_048) % SLOTS];
        if !ptr::eq(slot.heap.get(), heap.as_ptr()) {
            slot.send();
            slot.heap.set(heap.as_ptr());
        }
        // SAFETY: the block is ours.
        unsafe { set_next(block, slot.first.get()) };
        slot.first.set(block.as_ptr());
        slot.waste.set(slot.waste.get() + waste);
        slot.len.set(slot.len.get() + 1);
        if slot.len.get() == BATCH {
            slot.send();
        }
    }

    /// Sends all home that is still here.
    pub(crate) fn send(&self) {
        self.0.iter().for_each(Slot::send);
    }
}

impl Slot {
    #[cold]
    fn send(&self) {
        if let Some(first) = NonNull::new(self.first.replace(ptr::null_mut())) {
            let heap = NonNull::new(self.heap.get().cast_mut()).expect("whose blocks these are");
            // SAFETY: a batch of this heap, which the slot owned.
            unsafe { send(heap, first, self.len.take(), self.waste.take()) };
        }
    }
}

/// Sends one block home.
///
/// # Safety
/// The block is of the heap, and nobody uses it.
pub(crate) unsafe fn send_one(heap: NonNull<Heap>, block: NonNull<Block>, waste: usize) {
    // SAFETY: by the caller's promise.
    unsafe {
        set_next(block, ptr::null_mut());
        send(heap, block, 1, waste);
    }
}

/// Sends a batch home.
///
/// # Safety
/// The caller owns the batch of `len` blocks of `heap` that begins with `first`.
unsafe fn send(heap: NonNull<Heap>, first: NonNull<Block>, len: usize, waste: usize) {
    let sent = {
        // SAFETY: a heap is there as long as one of its blocks is not home.
        let heap = unsafe { heap.as_ref() };
        heap.figures.inbox.add_shared(len as u64);
        heap.figures.waste_sent.add_shared(waste as u64);
        // SAFETY: by the caller's promise.
        unsafe { heap.returns.push(first) }
    };
    if sent == Sent::HomeIsYours {
        // SAFETY: so it says.
        unsafe { Heap::give_up(heap) };
    }
}
