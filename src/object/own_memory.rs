//! Finds out whether an address lies in memory that [`free_by_hand`](super::foreign_delete::free_by_hand) or a
//! class frees.

use super::header::Thin;
use super::object_memory::block_of;
use crate::sync::cell::Cell;
use crate::sync::{array_of, local};
use std::alloc::Layout;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The bytes of a region: those of a chunk of blocks, which is aligned to its size.
const REGION: usize = 65_536;

/// The regions that have had blocks. A chunk that was given back to the system stays in the set,
/// so an object that other code puts there later is taken for one of the library.
static REGIONS: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// The bytes of memory whose addresses share a map.
const SHARD: usize = 1 << 20;
const SHARDS: usize = 64;

/// Sizes by address.
type Sizes = HashMap<usize, usize, BuildHasherDefault<AddressHasher>>;

/// A multiplicative hash of an address.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    fn write_usize(&mut self, n: usize) {
        let mixed = (self.0 ^ n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

/// The sizes of memory that is no block. The last map is for those of more bytes than a shard.
static LARGE: [Mutex<Sizes>; SHARDS + 1] =
    [const { Mutex::new(Sizes::with_hasher(BuildHasherDefault::new())) }; SHARDS + 1];

const RECENT: usize = 16;

/// Regions that a thread knows to be in the set.
pub(super) type KnownRegions = [Cell<usize>; RECENT];

local! {
    /// The regions that the calling thread knows.
    static KNOWN: KnownRegions = array_of!(Cell::new(0); RECENT);
}

/// Returns the place of the regions that the calling thread knows.
pub(super) fn known_regions() -> NonNull<KnownRegions> {
    KNOWN.with(|known| NonNull::from(known))
}

/// Returns whether a block is in a known region.
#[inline(always)]
pub(super) fn is_known(known: &KnownRegions, block: NonNull<u8>) -> bool {
    let region = block.addr().get() / REGION;
    known[region % RECENT].get() == region
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the map for memory that begins in this shard.
fn map(begin: usize, size: usize) -> &'static Mutex<Sizes> {
    let is_huge = size > SHARD;
    &LARGE[if is_huge {
        SHARDS
    } else {
        begin / SHARD % SHARDS
    }]
}

/// Notes new memory.
#[inline(always)]
pub(in super::super) fn note(memory: NonNull<u8>, layout: Layout) {
    let begin = memory.addr().get();
    if block_of(layout).is_none() {
        return note_large(begin, layout.size());
    }
    KNOWN.with(|known| {
        if !is_known(known, memory) {
            let region = begin / REGION;
            lock(&REGIONS).insert(region);
            known[region % RECENT].set(region);
        }
    });
}

/// Notes a new block.
pub(crate) fn note_block(block: NonNull<u8>) {
    let layout = Layout::new::<usize>();
    debug_assert!(block_of(layout).is_some());
    note(block, layout);
}

#[inline(never)]
fn note_large(begin: usize, size: usize) {
    lock(map(begin, size)).insert(begin, size);
}

/// Forgets memory that is about to be freed, or kept by weak references.
#[inline(always)]
pub(in super::super) fn forget(memory: NonNull<u8>, layout: Layout) {
    if block_of(layout).is_none() {
        forget_large(memory.addr().get(), layout.size());
    }
}

#[inline(never)]
fn forget_large(begin: usize, size: usize) {
    lock(map(begin, size)).remove(&begin);
}

/// Returns whether the header of an object lies in noted memory.
pub(crate) fn contains(thin: Thin) -> bool {
    let at = thin.addr().get() - 1;
    if lock(&REGIONS).contains(&(at / REGION)) {
        return true;
    }
    // Linear in the memory of a shard: only ends by hand with references left come here.
    let is_in = |map: &Mutex<Sizes>| {
        lock(map)
            .iter()
            .any(|(begin, size)| at.wrapping_sub(*begin) < *size)
    };
    let shard = at / SHARD % SHARDS;
    // Memory may begin in the shard before, and end in this one.
    is_in(&LARGE[shard]) || is_in(&LARGE[(shard + SHARDS - 1) % SHARDS]) || is_in(&LARGE[SHARDS])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::{alloc, dealloc};
    use std::ptr::without_provenance_mut;

    /// Returns the thin address of an object whose header ends at this offset.
    fn thin(memory: NonNull<u8>, offset: usize) -> Thin {
        // Only the address is looked at.
        NonNull::new(memory.as_ptr().wrapping_add(offset)).unwrap()
    }

    #[test]
    fn memory_that_is_no_block_is_known_from_its_first_to_its_last_byte_until_it_is_forgotten() {
        // The last ones lie in more shards than one.
        for size in [5_000, SHARD, SHARD + 1, 3 * SHARD] {
            let layout = Layout::from_size_align(size, 64).unwrap();
            assert!(block_of(layout).is_none());
            // SAFETY: the layout has a size.
            let memory = NonNull::new(unsafe { alloc(layout) }).unwrap();
            assert!(!contains(thin(memory, 1)) && !contains(thin(memory, size)));
            note(memory, layout);
            for inside in [1, size / 2, size] {
                assert!(contains(thin(memory, inside)), "{inside} of {size}");
            }
            assert!(!contains(thin(memory, 0)) && !contains(thin(memory, size + 1)));
            forget(memory, layout);
            assert!(!contains(thin(memory, 1)) && !contains(thin(memory, size)));
            // SAFETY: memory of `alloc` with the same layout.
            unsafe { dealloc(memory.as_ptr(), layout) };
        }
    }

    #[test]
    fn memory_is_found_in_the_shard_of_its_begin_and_in_the_next_one() {
        // Addresses that no allocation of a test has. Those of the second row are in the last shard and in the
        // first one.
        for begin in [5 * SHARD - 100, SHARDS * SHARD - 100, 7 * SHARD] {
            let memory = NonNull::new(without_provenance_mut(begin)).unwrap();
            let layout = Layout::from_size_align(5_000, 4).unwrap();
            note(memory, layout);
            for inside in [1, 99, 100, 101, 5_000] {
                assert!(contains(thin(memory, inside)), "{inside} at {begin}");
            }
            assert!(!contains(thin(memory, 0)) && !contains(thin(memory, 5_001)));
            assert!(!contains(thin(memory, SHARDS * SHARD + 1)));
            forget(memory, layout);
            assert!(!contains(thin(memory, 101)));
        }
    }

    #[test]
    fn a_block_is_known_by_its_region() {
        // An address that no allocation of a test has.
        let region = 3 * RECENT + 5;
        let block = NonNull::new(without_provenance_mut(region * REGION + 64)).unwrap();
        let next = thin(block, REGION);
        assert!(!contains(thin(block, 1)));
        // SAFETY: the place is a thread-local of this thread.
        let known = unsafe { known_regions().as_ref() };
        assert!(!is_known(known, block));
        note_block(block);
        assert!(is_known(known, block) && !is_known(known, next));
        assert!(contains(thin(block, 1)) && contains(thin(block, REGION - 64)));
        assert!(!contains(thin(block, REGION - 63)) && contains(thin(block, 0)));
        // What blocks were in stays known.
        forget(block, Layout::new::<usize>());
        assert!(contains(thin(block, 1)));
    }
}
