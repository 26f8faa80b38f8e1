//! Lists of chunks.

use super::chunk::{ChunkPtr, ChunkState};
use crate::sync::cell::Cell;
use crate::sync::{const_fn, described};

/// A doubly linked list of chunks, linked through their headers. Owner only.
pub(super) struct ChunkList {
    first: Cell<Option<ChunkPtr>>,
    len: Cell<usize>,
}

impl ChunkList {
    const_fn! {
        pub(super) fn new() -> Self {
            Self {
                first: Cell::new(None),
                len: Cell::new(0),
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len.get()
    }

    /// Adds a chunk that is in no list at the front, and sets its state, which names this list.
    pub(super) fn push(&self, chunk: ChunkPtr, state: ChunkState) {
        let next = self.first.replace(Some(chunk));
        if let Some(next) = next {
            next.owned.prev.set(Some(chunk));
        }
        chunk.owned.prev.set(None);
        chunk.owned.next.set(next);
        chunk.set_state(state);
        self.len.set(self.len.get() + 1);
    }

    /// Removes a chunk that is in this list.
    pub(super) fn remove(&self, chunk: ChunkPtr) {
        let (prev, next) = (chunk.owned.prev.get(), chunk.owned.next.get());
        match prev {
            Some(prev) => prev.owned.next.set(next),
            None => self.first.set(next),
        }
        if let Some(next) = next {
            next.owned.prev.set(prev);
        }
        self.len.set(self.len.get() - 1);
    }

    /// Removes the first chunk.
    pub(super) fn pop(&self) -> Option<ChunkPtr> {
        let first = self.first.get()?;
        self.remove(first);
        Some(first)
    }
}

/// All chunks of a heap, linked through their headers, for readers outside of the process: a chunk
/// without a free block is in no [`ChunkList`]. Owner only.
pub(super) struct AllChunks {
    first: Cell<Option<ChunkPtr>>,
}

impl AllChunks {
    const_fn! {
        pub(super) fn new() -> Self {
            Self { first: Cell::new(None) }
        }
    }

    /// Adds a new chunk.
    pub(super) fn add(&self, chunk: ChunkPtr) {
        let next = self.first.replace(Some(chunk));
        if let Some(next) = next {
            next.owned.prev_of_all.set(Some(chunk));
        }
        chunk.owned.next_of_all.set(next);
    }

    /// Removes a chunk that is about to be freed.
    pub(super) fn remove(&self, chunk: ChunkPtr) {
        let (prev, next) = (chunk.owned.prev_of_all.get(), chunk.owned.next_of_all.get());
        match prev {
            Some(prev) => prev.owned.next_of_all.set(next),
            None => self.first.set(next),
        }
        if let Some(next) = next {
            next.owned.prev_of_all.set(prev);
        }
    }
}

described! {
    impl AllChunks {
        pub(super) const FIRST: usize = std::mem::offset_of!(Self, first);
    }
}
