//! Finds all items of a program, and divides its other memory into areas.

use super::areas::{self, Area, without};
use super::malloc;
use super::objects::{Item, Recognizer};
use super::regions::{Regions, WORD};
use crate::graph::RootKind;
use crate::image::Image;
use crate::layout::PageLayout;
use crate::library::Library;
use rayon::prelude::*;
use std::ops::Range;

/// The number of allocations that a thread takes at a time.
const PART: usize = 1 << 14;

/// The most bytes by which a page's allocation is longer than the page.
const ROUNDING: u64 = 64;

/// Objects and plain memory.
pub(super) struct Items {
    /// The items, by address, without overlaps.
    pub(super) items: Vec<Item>,
    /// Memory of unknown allocators, by address, where the bounds of items are guessed.
    guessed: Vec<Range<u64>>,
    /// The areas of other memory.
    pub(super) areas: Vec<Area>,
    /// Structures of the library, without its pages of entries: whole allocations, if the allocator
    /// is known.
    pub(super) structures: Vec<Range<u64>>,
    /// The facts that make the result less certain, for people.
    pub(super) caveats: Vec<String>,
}

impl Items {
    /// Finds all items.
    pub(super) fn find(
        image: &dyn Image,
        regions: &Regions<'_>,
        recognizer: &Recognizer<'_>,
        library: &Library,
    ) -> Self {
        let heap = malloc::find(image, regions);
        let own = own_memory(library);
        let mut taken = [&heap.managed[..], &heap.state, &own, &statics(library)].concat();
        taken.sort_unstable_by_key(|range| range.start);
        let areas = areas::find(image, regions, &taken);
        let parts = heap.allocations.par_chunks(PART);
        let items = parts.flat_map_iter(|part| recognizer.in_allocations(regions, part));
        let mut items: Vec<Item> = items.collect();
        // Of the library's own memory, only blocks that are in use are items.
        let mut unmanaged = own.clone();
        unmanaged.retain(|range| !overlaps(&heap.managed, range));
        let mut structures = unmanaged.clone();
        items.retain(|item| {
            let range = item.start..item.end();
            let is_own = overlaps(&own, &range);
            structures.extend(is_own.then_some(range));
            !is_own
        });
        structures.retain(|range| !is_page(regions, range, &library.layout.page));
        for block in library.blocks.iter().filter(|block| block.in_use) {
            let region = regions.find(block.address);
            let of = |region| recognizer.in_block(region, block.address, block.size.into());
            items.extend(region.map(of));
        }
        let mut found = Self {
            items,
            guessed: Vec::new(),
            areas: Vec::new(),
            structures,
            caveats: heap.caveats,
        };
        let of_region = |a: &Area, b: &Area| {
            let region = regions.find(a.range.start);
            region.is_some_and(|region| region.contains(b.range.start))
        };
        for areas in areas.chunk_by(of_region) {
            found.add_areas(regions, recognizer, areas, &unmanaged);
        }
        if found.is_guessed() && found.caveats.is_empty() {
            found.caveats.push(
                "there are objects in memory of an allocator that is not glibc's malloc, so the \
                 bounds of allocations are guessed from the objects between them: \"unreachable\" \
                 is less certain"
                    .to_owned(),
            );
        }
        // The sort is fast: the items are a few parts, each of them in order.
        found.items.sort_by_key(|item| item.start);
        found.items.dedup_by(|next, item| next.start < item.end());
        found
    }

    /// Adds the memory of a region that no known allocator has. If there are objects in it, or
    /// memory of the library's own, it belongs to an unknown allocator, and what is between objects
    /// counts as plain items.
    fn add_areas(
        &mut self,
        regions: &Regions<'_>,
        recognizer: &Recognizer<'_>,
        areas: &[Area],
        own: &[Range<u64>],
    ) {
        let is_anonymous = |area: &&Area| area.kind == RootKind::Anonymous;
        let region = areas
            .first()
            .and_then(|area| regions.find(area.range.start));
        let Some(region) = region.filter(|_| areas.iter().any(|area| is_anonymous(&area))) else {
            self.areas.extend_from_slice(areas);
            return;
        };
        let mut objects = Vec::new();
        for area in areas.iter().filter(is_anonymous) {
            recognizer.in_memory(region, area.range.clone(), &mut objects);
        }
        if objects.is_empty() && !overlaps(own, &(region.start..region.end)) {
            self.areas.extend_from_slice(areas);
            return;
        }
        let extents: Vec<_> = objects.iter().map(|item| item.start..item.end()).collect();
        for area in areas {
            if !is_anonymous(&area) {
                self.areas.push(area.clone());
                continue;
            }
            let gaps = without(area.range.clone(), &extents);
            let gaps = gaps
                .iter()
                .map(|gap| Item::plain(gap.start, gap.end - gap.start));
            self.items.extend(gaps);
            self.guessed.push(area.range.clone());
        }
        self.items.extend(objects);
    }

    /// Returns whether it is known that an item begins where an allocation does.
    pub(super) fn is_exact(&self, item: &Item) -> bool {
        !overlaps(&self.guessed, &(item.start..item.end()))
    }

    /// Returns whether an unknown allocator has objects, or memory of the library.
    pub(super) fn is_guessed(&self) -> bool {
        !self.guessed.is_empty()
    }
}

/// Returns the memory that is the library's own, by address.
fn own_memory(library: &Library) -> Vec<Range<u64>> {
    let own = library
        .own_memory
        .iter()
        .map(|(start, len)| *start..start.saturating_add(*len));
    let chunks = library.chunks.iter();
    let chunks = chunks.map(|chunk| chunk.address..chunk.address.saturating_add(chunk.size));
    let mut all: Vec<_> = own.chain(chunks).collect();
    all.sort_unstable_by_key(|range| range.start);
    all
}

/// Returns the library's statics that refer to objects: `Library::all_entries` has what they hold.
fn statics(library: &Library) -> Vec<Range<u64>> {
    let layout = &library.layout;
    let (orphans, kept, retired) = (&layout.orphans, &layout.kept, &layout.retired);
    let sizes = [
        ("orphans", orphans.releases.max(orphans.calls) + WORD),
        ("retired", retired.count * retired.size),
        ("kept", kept.objects.max(kept.count) + WORD),
    ];
    let range = |(name, size)| {
        let at = library.names.address(name).ok()?;
        Some(at..at.saturating_add(size))
    };
    sizes.into_iter().filter_map(range).collect()
}

/// Returns whether `range` overlaps one of `ranges`, which must be sorted by address.
fn overlaps(ranges: &[Range<u64>], range: &Range<u64>) -> bool {
    let first = ranges.partition_point(|other| other.end <= range.start);
    ranges
        .get(first)
        .is_some_and(|other| other.start < range.end)
}

/// Returns whether some memory is a page of entries, by its size and its tag.
pub(super) fn is_page(regions: &Regions<'_>, memory: &Range<u64>, layout: &PageLayout) -> bool {
    let bytes = memory.end - memory.start;
    (layout.size..layout.size + ROUNDING).contains(&bytes) && {
        let tag = memory.start + layout.tag;
        let word = regions.word(tag & !(WORD - 1));
        word.is_some_and(|word| (word >> (tag % WORD * 8)) as u32 == layout.tag_value as u32)
    }
}
