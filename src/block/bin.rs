//! Bins, from which a heap hands out blocks.

use super::chunk::{Block, ChunkPtr, next};
use super::chunk_list::ChunkList;
use crate::sync::cell::Cell;
use crate::sync::{Counter, prefetch};
use std::ptr::{self, NonNull};

/// The blocks of one class that are handed out next.
pub(super) struct Bin {
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
            listed: ChunkList::new(),
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
