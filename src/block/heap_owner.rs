//! Which thread owns a heap.

use crate::sync::FreeWitness;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::thread::key::ThreadKey;
use crate::thread::registry::REGISTRY;

/// The key of the thread that owns a heap, in one word; `ThreadKey::NOBODY` if no thread owns it.
#[repr(transparent)]
pub(super) struct HeapOwner(AtomicU64);

fn word(key: ThreadKey) -> u64 {
    u64::from(key.index()) << 32 | u64::from(key.generation())
}

fn key(word: u64) -> ThreadKey {
    ThreadKey::new((word >> 32) as u32, word as u32)
}

impl HeapOwner {
    /// Returns the `HeapOwner` of a new heap: no thread owns it.
    pub(super) fn nobody() -> Self {
        Self(AtomicU64::new(word(ThreadKey::NOBODY)))
    }

    pub(super) fn set(&self, key: ThreadKey) {
        // Relaxed: a thread finds its own key here only if it wrote the key itself, and removes the
        // key before another thread can own the heap. A swap, as models make loads as
        // read-modify-writes, which loom does not order with stores.
        self.0.swap(word(key), Ordering::Relaxed);
    }

    pub(super) fn is(&self, key: ThreadKey) -> bool {
        self.get() == word(key)
    }

    /// Makes the owner, if there is one, answer the heap's trim request when it next drains a pool.
    pub(super) fn nudge(&self) {
        let owner = self.get();
        if owner == word(ThreadKey::NOBODY) {
            return;
        }
        // If the owner ends, or another thread adopts the heap meanwhile, the next request nudges
        // the new owner.
        if let Some(record) = REGISTRY.get(key(owner)) {
            record.nudge();
        }
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
        format!("thread {}'s heap", key(owner))
    }

    /// Tells the models that the memory is about to be freed.
    pub(super) fn freed(&mut self) {
        self.0.freed();
    }
}
