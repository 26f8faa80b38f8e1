//! Retired references on the way to drains that release them. [`epoch`] explains pins and tags.
//!
//! ```text
//! retired, in threads' queues ──> a batch with a tag ──> orphans: any outermost drain
//!              └── seal ────────────┘       └── no pin is older ──┘
//! ```
//!
//! 1. A reference counts as deferred from before it is pushed until it counts as an orphan.
//! 2. The batch in a place belongs to the thread that has exchanged the place's tag for [`BUSY`].
//! 3. At most [`PLACES`] batches wait at a time. Later retired references wait in the queues.

use super::page::{PageChain, RetiredPages};
use crate::epoch;
use crate::ledger::PoolLabel;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::cell::Cell;
use crate::sync::{array_of, const_fn, described, global};
use crate::thread::inbox::Chain;
use crate::thread::key::ThreadKey;
use crate::thread::orphans::ORPHANS;

/// How many batches may wait for pins at a time. Two, as pins that overlap may hold back one batch
/// after the other.
const PLACES: usize = 2;

/// The tag of a place without a batch.
const EMPTY: u64 = 0;

/// The tag of a place while a thread puts a batch in or takes it out.
const BUSY: u64 = u64::MAX;

/// A place for a batch that waits for older pins to end.
struct Place {
    /// The tag of the batch, or [`EMPTY`] or [`BUSY`].
    tag: AtomicU64,
    batch: Cell<Chain>,
}

/// The batches that wait for older pins to end.
pub(crate) struct Retired([Place; PLACES]);

// SAFETY: one thread at a time has access to a batch (rule 2), and a chain is `Send`.
unsafe impl Sync for Retired {}

global! {
    pub(crate) static RETIRED: Retired = Retired::new();
}

impl Place {
    const_fn! {
        fn new() -> Self {
            Self {
                tag: AtomicU64::new(EMPTY),
                batch: Cell::new(Chain::EMPTY),
            }
        }
    }

    /// Exchanges the tag for `BUSY`, if it is still `tag`.
    fn claim(&self, tag: u64) -> bool {
        // Acquire: pairs with the Release of the thread that had the batch before. Model: orphans_two_batches.
        let claimed = self
            .tag
            .compare_exchange(tag, BUSY, Ordering::Acquire, Ordering::Relaxed);
        claimed.is_ok()
    }

    fn set(&self, tag: u64) {
        // Release: pairs with the Acquire in `claim`, and with the heavy fence that follows `tag`.
        // Model: epoch_collectors.
        self.tag.store(tag, Ordering::Release);
    }

    fn tag(&self) -> u64 {
        // Relaxed: a collection uses the tag only after a heavy fence, which acquires what the
        // Release in `set` published: the removals from slots come before that fence.
        self.tag.load(Ordering::Relaxed)
    }

    /// Moves all retired references, as a batch, to this place, if the place is empty.
    fn fill(&self) {
        if !self.claim(EMPTY) {
            return;
        }
        let mut batch = Chain::EMPTY;
        epoch::take_retired(|queue| {
            let queue = RetiredPages(queue);
            let Some(entries) = queue.take() else {
                return true;
            };
            entries.set_label(PoolLabel::SLOTS);
            let n = entries.len() as u64;
            // SAFETY: by the contract of `retire`, all objects may be sent to other threads.
            batch.push_front(unsafe { PageChain::message(entries, n, ThreadKey::NOBODY) });
            false
        });
        if batch.is_empty() {
            epoch::batch_ends();
            self.set(EMPTY);
        } else {
            self.batch.set(batch);
            self.set(epoch::seal());
        }
    }

    /// Passes the batch with this tag to the orphans, unless another thread does.
    fn release(&self, tag: u64) {
        if self.claim(tag) {
            for batch in self.batch.replace(Chain::EMPTY) {
                let n = batch.weight();
                ORPHANS.adopt(batch);
                epoch::count_passed_on(n);
            }
            epoch::batch_ends();
            self.set(EMPTY);
        }
    }
}

impl Retired {
    const_fn! {
        fn new() -> Self {
            Self(array_of![Place::new(); PLACES])
        }
    }

    fn tags(&self) -> [u64; PLACES] {
        self.0.each_ref().map(Place::tag)
    }

    /// Returns an empty place, if there are retired references to fill it with.
    fn place_to_fill(&self, has_retired: bool) -> Option<&Place> {
        (self.0.iter()).find(|place| has_retired && place.tag() == EMPTY)
    }

    /// Returns whether a collection may find anything to do: a hint, without a fence.
    fn is_worth(&self) -> bool {
        let is_ready = || {
            let tags = self.tags();
            let oldest = epoch::glance();
            tags.iter().any(|tag| *tag != EMPTY && *tag < oldest)
        };
        self.place_to_fill(epoch::has_retired()).is_some() || is_ready()
    }

    /// Collects; `oldest_pin` returns the oldest epoch that is announced, after a heavy fence.
    pub(crate) fn collect(&self, oldest_pin: impl FnOnce() -> u64) {
        if let Some(place) = self.place_to_fill(epoch::has_retired()) {
            place.fill();
        }
        // Reads the tags before the fence: a later batch may have left its slots after the fence.
        // Model: epoch_filled.
        let tags = self.tags();
        let oldest = oldest_pin();
        for (place, tag) in self.0.iter().zip(tags) {
            if tag != EMPTY && tag < oldest {
                place.release(tag);
            }
        }
    }

    /// Returns whether no reference waits, when all threads have been joined.
    #[cfg(any(releasepool_shuttle, all(loom, feature = "loom")))]
    pub(crate) fn counts_are_zero(&self) -> bool {
        self.tags() == [EMPTY; PLACES] && epoch::deferred() == 0
    }
}

/// Returns how many retired references and orphans wait or are being released, except those that
/// the calling thread itself is releasing.
pub(crate) fn outstanding() -> usize {
    // Reads the orphans last: retired references become orphans, so none is missed.
    let deferred = epoch::deferred();
    deferred + ORPHANS.outstanding()
}

/// Collects: passes to the orphans those references that slots have retired and that no pin delays.
/// Returns whether the orphans have any release for a drain to make.
#[cold]
#[inline(never)]
pub(crate) fn collect() -> bool {
    if RETIRED.is_worth() {
        RETIRED.collect(epoch::oldest_pin);
    }
    epoch::note_collection();
    ORPHANS.has_releases()
}

described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    pub(crate) const NOTE: &[Entry] = entries! {
        retired {
            size = size_of::<Place>(),
            count = PLACES,
            batch = offset_of!(Place, batch),
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_takes_a_place_only_if_there_are_references_for_it_and_it_is_empty() {
        let place_of = |tags: [u64; PLACES], has_retired| {
            let retired = Retired::new();
            (retired.0.iter().zip(tags)).for_each(|(place, tag)| place.set(tag));
            let place = retired.place_to_fill(has_retired);
            place.map(|place| retired.0.iter().position(|of| std::ptr::eq(of, place)))
        };
        assert_eq!(place_of([EMPTY, EMPTY], false), None);
        assert_eq!(place_of([7, EMPTY], true), Some(Some(1)));
        assert_eq!(place_of([EMPTY, 7], true), Some(Some(0)));
        assert_eq!(place_of([7, BUSY], true), None);
    }
}
