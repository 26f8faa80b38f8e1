//! Finds the allocations that a program has made with its C library's allocator.
//!
//! The only layout that is known is that of glibc's malloc, in the versions that [`arena`] lists.
//! Memory of other allocators is found by the gaps between objects.

mod arena;
mod chunks;

pub(super) use chunks::Allocation;

use super::regions::Regions;
use crate::image::Image;
use std::ops::Range;

/// The facts that are known of an allocator.
#[derive(Debug, Default)]
pub(super) struct Heap {
    /// All allocations, by address.
    pub(super) allocations: Vec<Allocation>,
    /// Memory that the allocator manages, by address: what lies there and in no allocation is free.
    pub(super) managed: Vec<Range<u64>>,
    /// The memory of the allocator's own variables.
    pub(super) state: Vec<Range<u64>>,
    /// The facts that make the result less certain, for people.
    pub(super) caveats: Vec<String>,
}

/// Finds what glibc's malloc has allocated. If the program has another C library, or an unknown
/// version of glibc, the result is only a caveat.
pub(super) fn find(image: &dyn Image, regions: &Regions<'_>) -> Heap {
    let mut heap = Heap::default();
    let layout = match arena::layout(image) {
        Ok(layout) => layout,
        Err(reason) => {
            heap.caveats.push(format!(
                "{reason}, so the bounds of allocations are guessed from the objects between \
                 them: \"unreachable\" is less certain"
            ));
            return heap;
        }
    };
    let arenas = arena::find(image, regions, &layout);
    let (ranges, state) = arenas.ranges(regions, &layout);
    heap.state = state;
    let mut found = Vec::new();
    for range in ranges {
        let (end, is_broken) = chunks::walk(regions, range.clone(), &arenas.tops, &mut found);
        heap.managed.push(range.start..end);
        if is_broken {
            heap.caveats.push(format!(
                "the chunks of malloc could be followed only from {:#x} to {:#x} of {:#x}: \
                 memory after that is less certain",
                range.start, end, range.end
            ));
        }
    }
    heap.managed.sort_unstable_by_key(|range| range.start);
    chunks::find_mapped(regions, &heap.managed, &mut found);
    found.sort_unstable_by_key(|chunk| chunk.start);
    let free = chunks::free(regions, &layout, &arenas, &found);
    for chunk in found.iter().filter(|chunk| chunk.is_mapped()) {
        heap.managed.push(chunk.start..chunk.end());
    }
    heap.managed.sort_unstable_by_key(|range| range.start);
    debug_assert!(heap.managed.is_sorted_by(|a, b| a.end <= b.start));
    heap.allocations = chunks::allocations(found, &free);
    heap
}
