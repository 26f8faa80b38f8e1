//! What others may know of a heap.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Counter, FreeWitness};

/// Written by the owner, but where it says so; read by all.
#[derive(Debug)]
pub(crate) struct Figures {
    /// The owner decides by it whether the heap can go.
    chunks: AtomicU64,
    pub(super) unused: Counter,
    /// Bytes by which blocks that were handed out are larger than what was asked for.
    pub(super) waste: Counter,
    /// The same of blocks that the owner took back.
    pub(super) waste_back: Counter,
    /// The same of blocks that others sent home; and, modulo 2^64, by how much less it is since
    /// blocks were resized in place. Shared.
    pub(super) waste_sent: Counter,
    /// Freed by other threads.
    pub(super) remote: Counter,
    /// On the way home. Shared.
    pub(super) inbox: Counter,
    /// Not 0: the owner is to give back what it does not need. Shared.
    trim_asked: AtomicU64,
}

impl Figures {
    pub(super) fn new() -> Self {
        Self {
            chunks: AtomicU64::new(0),
            unused: Counter::new(),
            waste: Counter::new(),
            waste_back: Counter::new(),
            waste_sent: Counter::new(),
            remote: Counter::new(),
            inbox: Counter::new(),
            trim_asked: AtomicU64::new(0),
        }
    }

    /// Chunks of the heap: for its owner, or for people.
    pub(super) fn chunks(&self) -> u64 {
        // Relaxed: the owner's own; the next owner sees it as it sees all of the heap.
        self.chunks.load(Ordering::Relaxed)
    }

    /// For the owner.
    pub(super) fn set_chunks(&self, n: u64) {
        // Relaxed: as in `chunks`.
        self.chunks.store(n, Ordering::Relaxed);
    }

    /// Has the owner give back what it does not need, whenever it sees this.
    pub(super) fn ask_to_trim(&self) {
        // Relaxed: it says nothing of any memory.
        self.trim_asked.store(1, Ordering::Relaxed);
    }

    pub(super) fn is_asked_to_trim(&self) -> bool {
        // Relaxed: as in `ask_to_trim`.
        self.trim_asked.load(Ordering::Relaxed) != 0
    }

    /// The owner is about to do what it was asked for.
    pub(super) fn trims(&self) {
        // Relaxed: as in `ask_to_trim`.
        self.trim_asked.store(0, Ordering::Relaxed);
    }

    /// The memory is about to be given back.
    pub(super) fn freed(&mut self) {
        self.chunks.freed();
        self.trim_asked.freed();
    }
}
