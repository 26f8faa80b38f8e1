//! Remote frees that arrive at a heap, and whether a thread owns the heap.
//!
//! One word holds both the list and the ownership, so for each block that arrives, either the
//! heap's owner or the sender is responsible. The word points to the batch that arrived last, and
//! has two marks in its low bits. *Idle*: no thread owns the heap, and the thread that clears the
//! mark becomes the owner. *Closed*: the allocator has no handle any more, so no thread will search
//! its idle heaps; a sender that finds both marks becomes the owner, and frees the unused chunks.
//!
//! Senders push, and the owner takes all: a stack without a pop, as in
//! [`inbox`](crate::thread::inbox).

use super::chunk::{Block, next_batch, set_next_batch};
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::cell::Cell;
use crate::sync::{FreeWitness, const_fn, described};
use std::ptr::{self, NonNull};

const IDLE: usize = 1;
const CLOSED: usize = 2;
const MARKS: usize = IDLE | CLOSED;

fn marks(head: *mut Block) -> usize {
    head.addr() & MARKS
}

fn with_marks(head: *mut Block, marks: usize) -> *mut Block {
    head.map_addr(|at| (at & !MARKS) | marks)
}

/// Returns the newest batch; null if there is none.
fn batches(head: *mut Block) -> *mut Block {
    with_marks(head, 0)
}

/// The batches that have arrived at a heap, and the marks *idle* and *closed*.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(super) struct RemoteFreeList {
    head: AtomicPtr<Block>,
}

/// The owner of the heap after a [`push`](RemoteFreeList::push).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum PushOutcome {
    /// The heap's owner, or its next owner if it is idle, takes the batch later.
    Delivered,
    /// The sender has become the owner, and must abandon the heap again.
    HeapIsYours,
}

impl RemoteFreeList {
    /// Sends a batch to the heap. Lock-free.
    ///
    /// Unless the sender owns the heap afterwards, the sender must not access the heap any more:
    /// the batch may have held the heap's last block.
    ///
    /// # Safety
    /// The caller owns the batch of blocks of this heap that begins with `first`, and gives it up.
    pub(super) unsafe fn push(&self, first: NonNull<Block>) -> PushOutcome {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // SAFETY: the batch is the caller's until the exchange succeeds.
            unsafe { set_next_batch(first, batches(head)) };
            let (left, outcome) = match marks(head) {
                MARKS => (CLOSED, PushOutcome::HeapIsYours),
                marks => (marks, PushOutcome::Delivered),
            };
            // Release: pairs with the Acquire of `take_all`, so that earlier uses of the blocks
            // happen before their next ones. Model: memory_remote_free.
            // Acquire: pairs with the Release of `abandon`, for a sender that becomes the owner.
            // Model: memory_closed.
            match self.head.compare_exchange_weak(
                head,
                with_marks(first.as_ptr(), left),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return outcome,
                Err(now) => head = now,
            }
        }
    }

    /// Returns whether there is a batch to take.
    pub(super) fn has_batches(&self) -> bool {
        !batches(self.head.load(Ordering::Relaxed)).is_null()
    }

    /// Returns whether the allocator has no handle any more.
    pub(super) fn is_closed(&self) -> bool {
        // Acquire: pairs with the Release of `close`, so that closing the heap happens before it is
        // freed. Model: memory_closed_elsewhere.
        marks(self.head.load(Ordering::Acquire)) & CLOSED != 0
    }

    /// Takes all batches, linked by [`next_batch`], the newest first. Owner only.
    pub(super) fn take_all(&self) -> *mut Block {
        let only_marks = |head| ptr::without_provenance_mut(marks(head));
        let taken = |head| (!batches(head).is_null()).then(|| only_marks(head));
        // Acquire: pairs with the Release of `push`. Model: memory_remote_free.
        let before = (self.head).fetch_update(Ordering::Acquire, Ordering::Relaxed, taken);
        before.map_or(ptr::null_mut(), batches)
    }

    /// Gives up the ownership of the heap, if possible. Returns whether that was possible. Owner
    /// only.
    ///
    /// This is not possible if the allocator has closed and a batch waits, or if the allocator has
    /// closed since the owner read `was_closed`: no other thread would come to free the rest.
    pub(super) fn abandon(&self, was_closed: bool) -> bool {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            if marks(head) == CLOSED && (!was_closed || !batches(head).is_null()) {
                return false;
            }
            // Release: pairs with the Acquire of `adopt`, `close` and `push`, so that the next
            // owner sees all writes of this one. Model: memory_closed_unowned.
            match self.head.compare_exchange_weak(
                head,
                with_marks(head, marks(head) | IDLE),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => head = now,
            }
        }
    }

    /// Makes the caller the owner, if no thread owns the heap and its allocator has not closed.
    /// Returns whether the caller is the owner now.
    pub(super) fn adopt(&self) -> bool {
        let mut head = self.head.load(Ordering::Relaxed);
        while marks(head) == IDLE {
            // Acquire: pairs with the Release of `abandon`. Model: memory_adoption.
            match self.head.compare_exchange_weak(
                head,
                batches(head),
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => head = now,
            }
        }
        false
    }

    /// Marks that the allocator has no handle any more. Returns true if no thread owned the heap,
    /// so that the caller owns it now. If false, only the heap's owner may access it from then on.
    pub(super) fn close(&self) -> bool {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // Acquire: pairs with the Release of `abandon`. Model: memory_closed_unowned.
            // Release: pairs with the Acquire of `is_closed` and `push`.
            // Model: memory_closed_elsewhere.
            match self.head.compare_exchange_weak(
                head,
                with_marks(head, CLOSED),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return marks(head) == IDLE,
                Err(now) => head = now,
            }
        }
    }
}

impl Drop for RemoteFreeList {
    fn drop(&mut self) {
        self.head.freed();
    }
}

/// Batches that the owner has taken from the list, and not put back in chunks yet.
pub(super) struct PendingBlocks {
    /// The rest of the current batch.
    block: Cell<*mut Block>,
    /// The batch after the current one.
    batch: Cell<*mut Block>,
}

impl PendingBlocks {
    const_fn! {
        pub(super) fn new() -> Self {
            Self {
                block: Cell::new(ptr::null_mut()),
                batch: Cell::new(ptr::null_mut()),
            }
        }
    }

    /// Returns the next block; if none is left, first takes the batches that have arrived at the
    /// heap. Owner only.
    pub(super) fn next(&self, remote_frees: &RemoteFreeList) -> Option<NonNull<Block>> {
        if self.block.get().is_null() {
            let first = match NonNull::new(self.batch.get()) {
                Some(batch) => batch,
                None => NonNull::new(remote_frees.take_all())?,
            };
            // SAFETY: the first block of a batch that was taken, so it is the owner's.
            self.batch.set(unsafe { next_batch(first) });
            self.block.set(first.as_ptr());
        }
        let block = NonNull::new(self.block.get())?;
        // SAFETY: a block of a batch that was taken, so it is the owner's.
        self.block.set(unsafe { super::chunk::next(block) });
        Some(block)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.block.get().is_null() && self.batch.get().is_null()
    }
}

described! {
    use std::mem::offset_of;

    impl PendingBlocks {
        pub(super) const BLOCK: usize = offset_of!(Self, block);
        pub(super) const BATCH: usize = offset_of!(Self, batch);
    }
}
