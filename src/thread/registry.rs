//! The registry of live threads: key → record, lock-free.
//!
//! A table of buckets that only grows (each twice as large as the one before), so a slot never
//! moves. A slot's state is one word: generation, phase, and the number of threads that are reading
//! its record. Look-ups are wait-free: a reader announces itself, looks, and leaves. A thread that
//! leaves does not wait for readers; the *next* thread takes a slot only while it has no reader,
//! and then drops the record that the previous thread left in it.
//!
//! Free slots form a list (a Treiber stack), so a thread that enters looks at few of them: it takes
//! the newest free slot, or grows the table if there is none. The head of the list is one word with
//! a tag that each push increments. So a pop fails and retries if other threads have popped the
//! slot that it saw and pushed it back meanwhile (the ABA problem). A pop would go wrong only if a
//! multiple of 2^32 pushes came during it.

use super::key::ThreadKey;
use super::record::Record;
use crate::layout::FixedArc;
use crate::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::sync::cell::UnsafeCell;
use crate::sync::{FreeWitness, SMALL, alloc, const_fn, dealloc, described, global, null_pointers};
use std::alloc::Layout;
use std::ptr;
use std::sync::Arc;

/// The number of slots in the first bucket; each further bucket has twice as many.
const FIRST: usize = if SMALL { 1 } else { 32 };
const BUCKETS: usize = if SMALL { 5 } else { 26 };

const READER: u64 = 1;
const READERS: u64 = (1 << 30) - 1;
const PHASE: u64 = 3 << 30;
const FREE: u64 = 0;
const CLAIMING: u64 = 1 << 30;
const LIVE: u64 = 2 << 30;
const GENERATION: u64 = 1 << 32;

/// A slot of the registry, for one thread at a time.
struct RegistrySlot {
    state: AtomicU64,
    /// Written by the claiming thread in phase `CLAIMING`; read by readers that announced
    /// themselves in phase `LIVE`.
    record: UnsafeCell<FixedArc<Record>>,
    /// The next free slot, in the format of the list's head; meaningless while this slot is not in
    /// the list.
    next: AtomicU64,
}

/// The table of threads.
#[derive(Default)]
pub(crate) struct Registry {
    buckets: [AtomicPtr<RegistrySlot>; BUCKETS],
    /// The number of slots ever handed out.
    len: AtomicUsize,
    /// The head of the list of free slots: in the upper half a tag; in the lower half the index of
    /// the newest free slot plus 1, or 0 if the list is empty.
    free: AtomicU64,
}

const INDEX: u64 = (1 << 32) - 1;
const TAG: u64 = 1 << 32;

/// A slot in phase `CLAIMING`, which belongs to the thread that claims it.
struct ClaimedSlot<'r> {
    index: usize,
    slot: &'r RegistrySlot,
    state: u64,
}

// SAFETY: accesses to `record` are ordered by the slot's state (invariant 2 of `thread`), and
// `Arc<Record>` is Send and Sync.
unsafe impl Send for Registry {}
// SAFETY: for the reason given for `Send`.
unsafe impl Sync for Registry {}

global! {
    /// The table of the threads that use the crate.
    pub(crate) static REGISTRY: Registry = Registry::new();
}

/// Returns the bucket of slot `index` and the slot's place in the bucket.
fn locate(index: usize) -> (usize, usize) {
    let nth = index / FIRST + 1;
    let bucket = nth.ilog2() as usize;
    (bucket, index + FIRST - slots_in(bucket))
}

fn slots_in(bucket: usize) -> usize {
    FIRST << bucket
}

/// Returns the head that replaces `head` when slot `index` is pushed onto the list of free slots.
fn pushed(head: u64, index: usize) -> u64 {
    (head & !INDEX).wrapping_add(TAG) | (index as u64 + 1)
}

fn generation(state: u64) -> u32 {
    (state / GENERATION) as u32
}

impl Registry {
    const_fn! {
        pub(crate) fn new() -> Self {
            Self {
                buckets: null_pointers(),
                len: AtomicUsize::new(0),
                free: AtomicU64::new(0),
            }
        }
    }

    fn slot(&self, index: usize) -> Option<&RegistrySlot> {
        let (bucket, place) = locate(index);
        // Acquire: pairs with the Release in `add_bucket`, so that the slots are seen initialized.
        // Model: registry_iterate.
        let slots = self.buckets.get(bucket)?.load(Ordering::Acquire);
        if slots.is_null() {
            return None;
        }
        // SAFETY: `place` is below `slots_in(bucket)`, and the bucket lives as long as the registry
        // (invariant 1 of `thread`).
        Some(unsafe { &*slots.add(place) })
    }

    /// Adds one more slot, and its bucket if necessary; returns the slot's index. The slot belongs
    /// to the caller alone, as it is not in the list of free slots.
    ///
    /// # Panics
    /// If more threads live at once than the table can hold (2 × 10⁹).
    fn grow(&self) -> usize {
        // Relaxed: the index only says where to look; buckets and slots carry their own ordering.
        let index = self.len.fetch_add(1, Ordering::Relaxed);
        let (bucket, _) = locate(index);
        assert!(
            bucket < BUCKETS,
            "too many threads at once for the registry"
        );
        // Relaxed: only tests whether the bucket exists.
        if self.buckets[bucket].load(Ordering::Relaxed).is_null() {
            self.add_bucket(bucket);
        }
        index
    }

    /// Makes a bucket, unless another thread does so meanwhile.
    #[cold]
    fn add_bucket(&self, bucket: usize) {
        let slots = new_bucket(bucket);
        // Release: pairs with the Acquire in `slot`. Model: registry_iterate.
        let won = self.buckets[bucket].compare_exchange(
            ptr::null_mut(),
            slots,
            Ordering::Release,
            Ordering::Relaxed,
        );
        if won.is_err() {
            // SAFETY: the bucket was just made, and the failed exchange did not publish it.
            unsafe { free_bucket(slots, bucket) };
        }
    }

    /// Enters a thread: claims a slot for the record that `make` makes from the thread's key.
    pub(crate) fn claim(&self, make: impl FnOnce(ThreadKey) -> Arc<Record>) -> Arc<Record> {
        let ClaimedSlot { index, slot, state } = self.claim_slot();
        let record = make(ThreadKey::new(index as u32, generation(state)));
        let new = record.clone();
        // SAFETY: in phase CLAIMING, only the claiming thread accesses the record (invariant 2 of
        // `thread`).
        let _old = slot
            .record
            .with_mut(|place| unsafe { (*place).replace(new) });
        // Release: pairs with the Acquire of a reader's announcement, so that the reader sees the
        // record. It is an addition, as readers come and go meanwhile. Model: registry_iterate.
        slot.state.fetch_add(LIVE - CLAIMING, Ordering::Release);
        record
    }

    /// Claims the newest free slot without a reader, or a new slot.
    fn claim_slot(&self) -> ClaimedSlot<'_> {
        // Allocates only if a free slot is being read.
        let mut being_read = Vec::new();
        let claimed = loop {
            let Some(index) = self.pop_free() else {
                let index = self.grow();
                break self.try_claim(index).expect("a new slot has no readers");
            };
            match self.try_claim(index) {
                Some(claimed) => break claimed,
                None => being_read.push(index),
            }
        };
        for index in being_read {
            self.push_free(index);
        }
        claimed
    }

    /// Claims the free slot `index`, new or popped; returns `None` if a thread is reading it.
    fn try_claim(&self, index: usize) -> Option<ClaimedSlot<'_>> {
        let slot = self.slot(index)?;
        // Relaxed: the exchange checks the value.
        let state = slot.state.load(Ordering::Relaxed);
        debug_assert_eq!(state & PHASE, FREE);
        if state & READERS != 0 {
            return None;
        }
        let claimed = state + GENERATION + CLAIMING;
        // Acquire: pairs with the Release by which the last reader, and the previous thread, left,
        // so that their use of the record happens before the record is replaced.
        // Model: registry_lookup_reuse.
        slot.state
            .compare_exchange(state, claimed, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        Some(ClaimedSlot {
            index,
            slot,
            state: claimed,
        })
    }

    /// Pushes a free slot, which is not in the list of free slots, onto that list.
    fn push_free(&self, index: usize) {
        let slot = || {
            self.slot(index)
                .expect("a slot that exists never goes away")
        };
        // Relaxed: the exchange fails if the head has changed.
        let mut head = self.free.load(Ordering::Relaxed);
        loop {
            // Relaxed: the exchange below publishes the link.
            slot().next.store(head & INDEX, Ordering::Relaxed);
            // Release: pairs with the Acquire in `pop_free`, so that a pop sees `next`, and the
            // slot free. Model: registry_free_list.
            match self.free.compare_exchange(
                head,
                pushed(head, index),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Pops the newest free slot off the list.
    fn pop_free(&self) -> Option<usize> {
        loop {
            // Acquire: pairs with the Release in `push_free`; pops in between continue its
            // release sequence. Model: registry_free_list.
            let head = self.free.load(Ordering::Acquire);
            let index = ((head & INDEX) as usize).checked_sub(1)?;
            let slot = self.slot(index)?;
            // Relaxed: if this reads another value than the one that was pushed with the tag in
            // `head`, the tag has changed, too, and the exchange fails.
            let next = slot.next.load(Ordering::Relaxed);
            // Relaxed: the exchange publishes nothing; it keeps the tag.
            if self
                .free
                .compare_exchange(
                    head,
                    head & !INDEX | next,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                )
                .is_ok()
            {
                return Some(index);
            }
        }
    }

    /// Removes the thread with this key. Its record stays in the slot until the next thread claims
    /// the slot.
    pub(crate) fn leave(&self, key: ThreadKey) {
        let index = key.index() as usize;
        let slot = self.slot(index);
        let slot = slot.expect("a thread leaves the slot that it claimed");
        // Release: pairs with the Acquire in `all` and `get`, so that a caller that no longer finds
        // the thread sees all that the thread did. Model: shutdown_exit.
        slot.state.fetch_sub(LIVE, Ordering::Release);
        // A slot whose generations are exhausted is never reused.
        if key.generation() != u32::MAX {
            self.push_free(index);
        }
    }

    /// Returns the record of the thread with this key, if it has not left. Wait-free.
    pub(crate) fn get(&self, key: ThreadKey) -> Option<Arc<Record>> {
        let slot = self.slot(key.index() as usize)?;
        // Acquire: pairs with the Release by which `claim` publishes the record, and with that in
        // `leave`. Model: shutdown_exit_post.
        let state = slot.state.fetch_add(READER, Ordering::Acquire);
        let found = if state & PHASE == LIVE && generation(state) == key.generation() {
            // SAFETY: the slot was LIVE when this reader announced itself, so the record is
            // published and is not replaced before the reader leaves (invariant 2 of `thread`).
            slot.record.with(|record| unsafe { (*record).get() })
        } else {
            None
        };
        // Release: pairs with the Acquire of the next claim. Model: registry_lookup_reuse.
        slot.state.fetch_sub(READER, Ordering::Release);
        found
    }

    /// Returns the records of all threads that have not left, in the order of their slots. All that
    /// threads did before they left happens before this returns.
    pub(crate) fn all(&self) -> Vec<Arc<Record>> {
        let len = self.len.load(Ordering::Relaxed);
        let live = (0..len).filter_map(|index| {
            // Only a first test: `get` tests again whether the slot is LIVE.
            // Acquire: pairs with the Release in `leave`. Model: shutdown_exit_post.
            let state = self.slot(index)?.state.load(Ordering::Acquire);
            if state & PHASE != LIVE {
                return None;
            }
            self.get(ThreadKey::new(index as u32, generation(state)))
        });
        live.collect()
    }
}

fn bucket_layout(bucket: usize) -> Layout {
    Layout::array::<RegistrySlot>(slots_in(bucket)).expect("a bucket fits the address space")
}

fn new_bucket(bucket: usize) -> *mut RegistrySlot {
    let layout = bucket_layout(bucket);
    // SAFETY: slots are not zero-sized, so the layout is not.
    let slots = unsafe { alloc(layout) }.cast::<RegistrySlot>();
    if slots.is_null() {
        std::alloc::handle_alloc_error(layout);
    }
    for i in 0..slots_in(bucket) {
        let slot = RegistrySlot {
            state: AtomicU64::new(FREE),
            record: UnsafeCell::new(FixedArc::NONE),
            next: AtomicU64::new(0),
        };
        // SAFETY: the slot is within the allocation, which is ours alone.
        unsafe { slots.add(i).write(slot) };
    }
    slots
}

/// Frees a bucket.
///
/// # Safety
/// `new_bucket` made `slots` for this bucket number, and nothing uses it any more.
unsafe fn free_bucket(slots: *mut RegistrySlot, bucket: usize) {
    for i in 0..slots_in(bucket) {
        // SAFETY: the slot is within the bucket, which the caller owns exclusively.
        let slot = unsafe { &mut *slots.add(i) };
        slot.state.freed();
        slot.next.freed();
        // SAFETY: the caller owns the bucket; each slot is dropped once.
        unsafe { ptr::drop_in_place(slot) };
    }
    // SAFETY: `new_bucket` allocated it with this layout.
    unsafe { dealloc(slots.cast(), bucket_layout(bucket)) };
}

/// For models and tests; [`REGISTRY`] is never dropped.
impl Drop for Registry {
    fn drop(&mut self) {
        for (bucket, slots) in self.buckets.iter().enumerate() {
            // Relaxed: `&mut self` is exclusive.
            let slots = slots.load(Ordering::Relaxed);
            if !slots.is_null() {
                // SAFETY: `&mut self` is exclusive, so nothing else uses the bucket.
                unsafe { free_bucket(slots, bucket) };
            }
        }
    }
}

described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    pub(crate) const NOTE: &[Entry] = entries! {
        registry {
            buckets = offset_of!(Registry, buckets),
            bucket_count = BUCKETS,
            first = FIRST,
            len = offset_of!(Registry, len),
        }
        slot {
            size = size_of::<RegistrySlot>(),
            state = offset_of!(RegistrySlot, state),
            phase_mask = PHASE,
            live = LIVE,
            record = offset_of!(RegistrySlot, record),
        }
    };
}

#[cfg(test)]
mod registry_tests;
