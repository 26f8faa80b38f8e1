//! The parts of a heap that other threads may access besides its list of remote frees: its owner,
//! and its counters.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Counter, FreeWitness};
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
        // key before another thread can own the heap. This is a swap because models perform loads
        // as read-modify-writes, which loom does not order with stores.
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
        // Relaxed: a thread finds its own key here only if it wrote the key itself, and a nudge of
        // a former owner does no harm.
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

/// Counters of a heap. Any thread reads them. Only the heap's owner writes them, except those that
/// are marked as shared.
///
/// *Waste* is internal fragmentation: the bytes by which blocks are larger than requested.
#[derive(Debug, Default)]
pub(super) struct HeapCounters {
    /// The number of chunks, by which the owner decides whether the heap can be freed.
    chunks: AtomicU64,
    /// The number of chunks without a block in use.
    pub(super) unused: Counter,
    /// The waste of all blocks that were handed out.
    pub(super) waste_allocated: Counter,
    /// The waste of all blocks that the owner freed.
    pub(super) waste_freed: Counter,
    /// The waste of all blocks that other threads freed, plus the amount by which resizing in place
    /// has lowered waste, modulo 2^64. Shared.
    pub(super) waste_lowered: Counter,
    /// The number of blocks that other threads freed and that the owner has put back.
    pub(super) freed_remotely: Counter,
    /// The number of blocks that other threads sent and that the owner has not put back. Shared.
    pub(super) inbox: Counter,
    /// Not 0 if the owner should free its unused chunks. Shared.
    trim_requested: AtomicU64,
}

impl HeapCounters {
    /// Returns the number of chunks: exact for the owner, a statistic for others.
    pub(super) fn chunks(&self) -> u64 {
        // Relaxed: the owner reads the number that it wrote; the next owner sees the number as it
        // sees the rest of the heap.
        self.chunks.load(Ordering::Relaxed)
    }

    /// Sets the number of chunks. Owner only.
    pub(super) fn set_chunks(&self, n: u64) {
        // Relaxed: only an owner decides by this number, and the next owner sees it as it sees the
        // rest of the heap.
        self.chunks.store(n, Ordering::Relaxed);
    }

    /// Asks the owner to trim the heap when it next reads the request.
    pub(super) fn request_trim(&self) {
        // Release: pairs with the Acquire in `begin_trim`, so that a trim that clears this request
        // finds the blocks that this thread has sent before. Model: caps_request. This is a swap
        // because loom does not order the stores and the swaps of two threads.
        self.trim_requested.swap(1, Ordering::Release);
    }

    pub(super) fn is_trim_requested(&self) -> bool {
        // Relaxed: a nudged owner sees the request before the nudge, as its inbox orders the two.
        self.trim_requested.load(Ordering::Relaxed) != 0
    }

    /// Clears the request, as the owner is about to trim.
    pub(super) fn begin_trim(&self) {
        // Acquire: pairs with the Release in `request_trim`. Model: caps_request. A swap, not a
        // store: another thread may have made a newer request since the owner read the first. The
        // swap clears both, and sees the blocks that were sent before both; a store could clear the
        // newer one unseen, and the trim could then read an older head of the remote frees.
        self.trim_requested.swap(0, Ordering::Acquire);
    }

    /// Tells the models that the memory is about to be freed.
    pub(super) fn freed(&mut self) {
        self.chunks.freed();
        self.trim_requested.freed();
    }

    /// Returns the internal fragmentation of the blocks in use.
    pub(super) fn waste(&self) -> u64 {
        // Modulo 2^64, as resizing may have made `waste_lowered` negative. The difference may be
        // negative, as other threads change the counters between these relaxed loads.
        let lowered = self.waste_freed.get();
        let lowered = lowered.wrapping_add(self.waste_lowered.get());
        let left = self.waste_allocated.get().wrapping_sub(lowered) as i64;
        left.max(0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waste_that_is_lowered_before_it_is_counted_is_none() {
        let counters = HeapCounters::default();
        counters.waste_lowered.add_shared(3);
        assert_eq!(counters.waste(), 0);
        counters.waste_allocated.add(5);
        assert_eq!(counters.waste(), 2);
    }
}
