//! Which thread owns a heap.

use crate::sync::FreeWitness;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::thread::key::ThreadKey;

/// The key of the thread that owns a heap, in one word; `ThreadKey::NOBODY` if none does.
#[repr(transparent)]
pub(super) struct HeapOwner(AtomicU64);

fn word(key: ThreadKey) -> u64 {
    u64::from(key.index()) << 32 | u64::from(key.generation())
}

impl HeapOwner {
    /// Creates the owner of a new heap: no thread.
    pub(super) fn nobody() -> Self {
        Self(AtomicU64::new(word(ThreadKey::NOBODY)))
    }

    pub(super) fn set(&self, key: ThreadKey) {
        // Relaxed: a thread finds its own key here only if it wrote it itself, and takes it away
        // before another thread can own the heap. A swap, as the models make loads as
        // read-modify-writes, and loom has no order of those and stores.
        self.0.swap(word(key), Ordering::Relaxed);
    }

    pub(super) fn is(&self, key: ThreadKey) -> bool {
        self.get() == word(key)
    }

    fn get(&self) -> u64 {
        // Relaxed: as in `set`.
        self.0.load(Ordering::Relaxed)
    }

    /// Describes the heap by its owner, for reports.
    pub(super) fn label(&self) -> String {
        let owner = self.get();
        if owner == word(ThreadKey::NOBODY) {
            return "a heap without a thread".to_owned();
        }
        let key = ThreadKey::new((owner >> 32) as u32, owner as u32);
        format!("thread {key}'s heap")
    }

    /// Tells the models that the memory is about to be freed.
    pub(super) fn freed(&mut self) {
        self.0.freed();
    }
}
