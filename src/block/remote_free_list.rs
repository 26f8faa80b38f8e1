//! The way home for blocks that were freed on other threads, and who a heap belongs to.
//!
//! Both are in one word, so no block can come in between without either the heap's owner or
//! the sender knowing. It points to the batch that came last, and has two marks in its low
//! bits. *Idle*: the heap belongs to nobody, and who takes the mark away owns it. *Closed*:
//! the allocator has no handle any more, and so nobody will ask for its idle heaps; a sender
//! that finds both marks takes the heap, and clears it up.
//!
//! Senders push, the owner takes all: a stack without pop, as in
//! [`inbox`](crate::thread::inbox).

use super::chunk::{Block, next_batch, set_next_batch};
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::cell::Cell;
use crate::sync::{FreeWitness, const_fn};
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

fn batches(head: *mut Block) -> *mut Block {
    with_marks(head, 0)
}

/// See the module.
#[derive(Debug)]
pub(crate) struct RemoteFreeList {
    head: AtomicPtr<Block>,
}

/// Whether a sender has become the owner of the heap that it sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Sent {
    Home,
    /// The sender owns it, and is to clear it up.
    HomeIsYours,
}

impl RemoteFreeList {
    /// Of a heap that belongs to its maker.
    pub(crate) fn new() -> Self {
        Self {
            head: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Sends a batch home. Lock-free.
    ///
    /// Unless the heap is the sender's now, it may not touch it any more: this may have been
    /// its last block.
    ///
    /// # Safety
    /// The caller owns the batch that begins with `first`, of blocks of this heap.
    pub(crate) unsafe fn push(&self, first: NonNull<Block>) -> Sent {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // SAFETY: by the caller's promise.
            unsafe { set_next_batch(first, batches(head)) };
            let (left, sent) = match marks(head) {
                MARKS => (CLOSED, Sent::HomeIsYours),
                marks => (marks, Sent::Home),
            };
            // Release: pairs with the Acquire of `take`, so that who uses the blocks again
            // comes after those who used them. Model: memory_remote_free.
            // Acquire: pairs with the Release of `leave`, for who becomes the owner.
            // Model: memory_closed.
            match self.head.compare_exchange_weak(
                head,
                with_marks(first.as_ptr(), left),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return sent,
                Err(now) => head = now,
            }
        }
    }

    /// Whether there is anything to take.
    pub(crate) fn has_messages(&self) -> bool {
        !batches(self.head.load(Ordering::Relaxed)).is_null()
    }

    /// Whether the allocator has no handle any more.
    pub(crate) fn is_closed(&self) -> bool {
        // Acquire: pairs with the Release of `close`, so that who then deletes the heap comes
        // after who has closed it. Model: memory_closed_elsewhere.
        marks(self.head.load(Ordering::Acquire)) & CLOSED != 0
    }

    /// For the owner: takes all batches, linked by [`next_batch`], the last first.
    pub(crate) fn take(&self) -> *mut Block {
        let mut head = self.head.load(Ordering::Relaxed);
        while !batches(head).is_null() {
            // Acquire: pairs with the Release of `push`. Model: memory_remote_free.
            match self.head.compare_exchange_weak(
                head,
                ptr::without_provenance_mut(marks(head)),
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return batches(head),
                Err(now) => head = now,
            }
        }
        ptr::null_mut()
    }

    /// For the owner: gives the heap up, if that is possible: not if the allocator has
    /// closed and there is something to take, or to clear up that was not when the owner
    /// looked, as nobody would come for it.
    pub(crate) fn leave(&self, was_closed: bool) -> bool {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            if marks(head) == CLOSED && (!was_closed || !batches(head).is_null()) {
                return false;
            }
            // Release: pairs with the Acquire of `adopt`, `close` and `push`, so that the
            // next owner sees the heap as we left it. Model: memory_closed_unowned.
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

    /// Takes the heap, if it belongs to nobody and its allocator has not closed.
    pub(crate) fn adopt(&self) -> bool {
        let mut head = self.head.load(Ordering::Relaxed);
        while marks(head) == IDLE {
            // Acquire: pairs with the Release of `leave`. Model: memory_adoption.
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

    /// The allocator has no handle any more. Whether the heap belonged to nobody, and is
    /// the caller's now. If not, the caller may not touch it any more.
    pub(crate) fn close(&self) -> bool {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // Acquire: pairs with the Release of `leave`. Model: memory_closed_unowned.
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

/// Batches in their turn, and their blocks: what an owner has taken and not yet got round to.
pub(crate) struct Pending {
    block: Cell<*mut Block>,
    /// After the batch that `block` is in.
    batch: Cell<*mut Block>,
}

impl Pending {
    const_fn! {
        pub(crate) fn new() -> Self {
            Self {
                block: Cell::new(ptr::null_mut()),
                batch: Cell::new(ptr::null_mut()),
            }
        }
    }

    /// The next block; when there is none, takes what has come home meanwhile.
    pub(crate) fn next(&self, returns: &RemoteFreeList) -> Option<NonNull<Block>> {
        if self.block.get().is_null() {
            let first = match NonNull::new(self.batch.get()) {
                Some(batch) => batch,
                None => NonNull::new(returns.take())?,
            };
            // SAFETY: what was taken is ours.
            self.batch.set(unsafe { next_batch(first) });
            self.block.set(first.as_ptr());
        }
        let block = NonNull::new(self.block.get())?;
        // SAFETY: what was taken is ours.
        self.block.set(unsafe { super::chunk::next(block) });
        Some(block)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.block.get().is_null() && self.batch.get().is_null()
    }
}
