//! Finds out whether an address lies in memory that [`free_by_hand`](super::by_hand::free_by_hand) or a
//! foreign class frees.

use crate::object::header::Thin;
use crate::object::object_memory::block_of;
use crate::sync::cell::Cell;
use crate::sync::{AddressHasher, PlainMap, array_of, local};
use std::alloc::Layout;
use std::ptr::NonNull;

/// The bytes of a region: as many as a chunk of blocks has, which is aligned to its size.
const REGION: usize = 65_536;

/// The regions of all memory that was ever noted. A region stays in the set when its memory goes
/// back to the system, so an object that other code puts there later is taken for the library's.
static REGIONS: PlainMap<usize, (), AddressHasher> = PlainMap::new();

const RECENT: usize = 16;

/// Regions that a thread knows to be in the set, so that it need not lock the set.
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

/// Returns the layout of the large memory for an object that no block fits: whole regions, which no
/// other memory shares. `None` if the size would overflow.
pub(crate) fn large_layout(object: Layout) -> Option<Layout> {
    Some(object.align_to(REGION).ok()?.pad_to_align())
}

/// Notes new memory: a block, or memory of a [`large_layout`]. `layout` is that of the object.
#[inline(always)]
pub(crate) fn note(memory: NonNull<u8>, layout: Layout) {
    KNOWN.with(|known| {
        if block_of(layout).is_none() || !is_known(known, memory) {
            note_regions(known, memory, layout.size());
        }
    });
}

#[cold]
fn note_regions(known: &KnownRegions, memory: NonNull<u8>, size: usize) {
    let first = memory.addr().get() / REGION;
    for region in first..first + size.div_ceil(REGION) {
        let place = &known[region % RECENT];
        if place.replace(region) != region {
            REGIONS.insert(region, ());
        }
    }
}

/// Returns whether the header of an object lies in a region of noted memory.
pub(crate) fn contains(thin: Thin) -> bool {
    REGIONS.contains(&((thin.addr().get() - 1) / REGION))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::without_provenance_mut;

    /// The first of a range of addresses at which nothing is ever allocated. Aligned to a region;
    /// nothing is accessed there.
    const NOWHERE: usize = if usize::BITS == 64 { 1 << 60 } else { 0 };

    fn at(address: usize) -> NonNull<u8> {
        NonNull::new(without_provenance_mut(address)).unwrap()
    }

    /// Returns the thin address of an object whose header ends at this offset.
    fn thin(memory: NonNull<u8>, offset: usize) -> Thin {
        at(memory.addr().get() + offset)
    }

    #[test]
    fn large_memory_is_known_from_its_first_to_its_last_byte() {
        for (begin, size) in [
            (7, REGION / 2),
            (9, REGION),
            (12, REGION + 1),
            (200, 40 * REGION),
        ] {
            let memory = at(NOWHERE + begin * REGION);
            let object = Layout::from_size_align(size, 4).unwrap();
            let whole = large_layout(object).unwrap().size();
            assert!(whole >= size && whole % REGION == 0 && whole - size < REGION);
            let inside = [1, 2, size / 2, size, whole];
            assert!(!inside.iter().any(|offset| contains(thin(memory, *offset))));
            // A smaller object was there before.
            note(memory, Layout::new::<usize>());
            // Notes the memory twice: the thread's own table has only the last regions.
            for _ in 0..2 {
                note(memory, object);
            }
            assert!(
                inside.iter().all(|offset| contains(thin(memory, *offset))),
                "{size} bytes"
            );
            assert!(!contains(thin(memory, 0)) && !contains(thin(memory, whole + 1)));
        }
        let most = Layout::from_size_align(isize::MAX as usize, 1).unwrap();
        assert_eq!(large_layout(most), None);
        let over_aligned = Layout::from_size_align(1, 4 * REGION).unwrap();
        assert_eq!(large_layout(over_aligned).unwrap().align(), 4 * REGION);
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
        note(block, Layout::new::<usize>());
        assert!(is_known(known, block) && !is_known(known, next));
        assert!(contains(thin(block, 1)) && contains(thin(block, REGION - 64)));
        assert!(!contains(thin(block, REGION - 63)) && contains(thin(block, 0)));
    }
}
