//! Finds out whether an address lies in memory that [`free_by_hand`](super::by_hand::free_by_hand) or a
//! class frees.

use crate::object::header::Thin;
use crate::object::object_memory::block_of;
use crate::sync::cell::Cell;
use crate::sync::{AddressHasher, PlainMap, array_of, local};
use std::alloc::Layout;
use std::ptr::NonNull;

/// The bytes of a region: those of a chunk of blocks, which is aligned to its size.
const REGION: usize = 65_536;

/// The regions that have had blocks. A chunk that was given back to the system stays in the set,
/// so an object that other code puts there later is taken for one of the library.
static REGIONS: PlainMap<usize, (), AddressHasher> = PlainMap::new();

/// The bytes of memory whose addresses share a map.
const SHARD: usize = 1 << 20;
const SHARDS: usize = 64;

/// Sizes by address.
type Sizes = PlainMap<usize, usize, AddressHasher>;

/// The sizes of memory that is no block. The last map is for those of more bytes than a shard.
static LARGE: [Sizes; SHARDS + 1] = [const { Sizes::new() }; SHARDS + 1];

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

/// Returns the map for memory that begins in this shard.
fn map(begin: usize, size: usize) -> &'static Sizes {
    let is_huge = size > SHARD;
    &LARGE[if is_huge {
        SHARDS
    } else {
        begin / SHARD % SHARDS
    }]
}

/// Notes new memory.
#[inline(always)]
pub(crate) fn note(memory: NonNull<u8>, layout: Layout) {
    let begin = memory.addr().get();
    if block_of(layout).is_none() {
        return note_large(begin, layout.size());
    }
    KNOWN.with(|known| {
        if !is_known(known, memory) {
            let region = begin / REGION;
            REGIONS.insert(region, ());
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
    map(begin, size).insert(begin, size);
}

/// Forgets memory that is about to be freed, or kept by weak references.
#[inline(always)]
pub(crate) fn forget(memory: NonNull<u8>, layout: Layout) {
    if block_of(layout).is_none() {
        forget_large(memory.addr().get(), layout.size());
    }
}

#[inline(never)]
fn forget_large(begin: usize, size: usize) {
    map(begin, size).remove(&begin);
}

/// Returns whether the header of an object lies in noted memory.
pub(crate) fn contains(thin: Thin) -> bool {
    let at = thin.addr().get() - 1;
    if REGIONS.contains(&(at / REGION)) {
        return true;
    }
    // Linear in the memory of a shard: only ends by hand with references left come here.
    let is_in = |map: &Sizes| map.any(|begin, size| at.wrapping_sub(*begin) < *size);
    let shard = at / SHARD % SHARDS;
    // Memory may begin in the shard before, and end in this one.
    is_in(&LARGE[shard]) || is_in(&LARGE[(shard + SHARDS - 1) % SHARDS]) || is_in(&LARGE[SHARDS])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::without_provenance_mut;

    /// The begin of addresses that no allocation has, at the first shard. Only addresses are looked at.
    const NOWHERE: usize = if usize::BITS == 64 { 1 << 60 } else { 0 };

    fn at(address: usize) -> NonNull<u8> {
        NonNull::new(without_provenance_mut(address)).unwrap()
    }

    /// Returns the thin address of an object whose header ends at this offset.
    fn thin(memory: NonNull<u8>, offset: usize) -> Thin {
        at(memory.addr().get() + offset)
    }

    #[test]
    fn memory_that_is_no_block_is_known_from_its_first_to_its_last_byte_until_it_is_forgotten() {
        for (begin, size) in [
            (7 * SHARD, 5_000),
            // From one shard into the next one; from the last one into the first one.
            (5 * SHARD - 100, 5_000),
            (SHARDS * SHARD - 100, 5_000),
            // As large as a shard, and larger.
            (9 * SHARD, SHARD),
            (12 * SHARD + 64, SHARD + 1),
            (20 * SHARD + 64, 3 * SHARD),
        ] {
            let memory = at(NOWHERE + begin);
            let layout = Layout::from_size_align(size, 4).unwrap();
            assert!(block_of(layout).is_none());
            let inside = [1, 99, 100, 101, size / 2, size];
            let finds = |offset: &usize| contains(thin(memory, *offset));
            assert!(!inside.iter().any(finds));
            note(memory, layout);
            assert!(inside.iter().all(finds), "{size} bytes at {begin}");
            assert!(!finds(&0) && !finds(&(size + 1)) && !finds(&(SHARDS * SHARD + 1)));
            forget(memory, layout);
            assert!(!inside.iter().any(finds));
        }
    }

    #[test]
    fn a_block_is_known_by_its_region() {
        let region = NOWHERE / REGION + 3 * RECENT + 5;
        let block = at(region * REGION + 64);
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
