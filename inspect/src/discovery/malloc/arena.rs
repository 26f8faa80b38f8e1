//! The arenas of malloc, and the memory that they manage.

use super::version::{BINS, MallocLayout, is_libc};
use crate::discovery::regions::{Region, Regions};
use crate::image::Image;
use std::ops::Range;

/// The heaps of arenas other than the first begin at multiples of this, and are no larger.
const HEAP_BYTES: u64 = 64 << 20;

/// The most arenas that are followed.
const MOST: usize = 1 << 14;

/// How many bins of an arena, at most, are not well linked, because a thread was stopped while it
/// changed some.
const CHANGING: usize = 2;

/// The size of the header of a heap that is not the first arena's: in versions before 2.35, and
/// since then.
const HEAP_HEADERS: [u64; 2] = [32, 48];

/// The arenas of a program.
#[derive(Debug, Default)]
pub(super) struct Arenas {
    /// The first one, which is a variable of the C library.
    main: Option<u64>,
    /// The addresses of all arenas.
    all: Vec<u64>,
    /// The topmost chunk of each, by address.
    tops: Vec<u64>,
}

impl Arenas {
    /// Returns the addresses of all arenas.
    pub(super) fn all(&self) -> &[u64] {
        &self.all
    }

    /// Returns the topmost chunks, which are free, by address.
    pub(super) fn tops(&self) -> &[u64] {
        &self.tops
    }

    /// Returns the memory that has the arenas' chunks, from the first chunk on, and the memory that
    /// the arenas themselves are in.
    pub(super) fn ranges(
        &self,
        regions: &Regions<'_>,
        layout: &MallocLayout,
    ) -> (Vec<Range<u64>>, Vec<Range<u64>>) {
        let main = self.main.and_then(|main| main_range(regions, main, layout));
        let mut ranges = Vec::from_iter(main);
        let mut state = Vec::from_iter(self.main.map(|main| main..main + layout.size));
        for region in regions.all() {
            let first = region.start().next_multiple_of(HEAP_BYTES);
            for heap in (first..region.end()).step_by(HEAP_BYTES as usize) {
                if let Some(range) = self.heap_range(regions, heap, layout) {
                    state.push(heap..range.start);
                    ranges.push(range);
                }
            }
        }
        (ranges, state)
    }

    /// Returns the memory of the chunks in the heap at an address, if one is there.
    fn heap_range(
        &self,
        regions: &Regions<'_>,
        heap: u64,
        layout: &MallocLayout,
    ) -> Option<Range<u64>> {
        let [arena, previous, size, writable] =
            [0, 8, 16, 24].map(|offset| regions.word(heap + offset));
        let (arena, previous, size) = (arena?, previous?, size?);
        if !self.all.contains(&arena) || size > writable? || !(64..=HEAP_BYTES).contains(&size) {
            return None;
        }
        let first = if previous == 0 {
            // The arena itself is at the beginning, and the first payload is aligned.
            if !HEAP_HEADERS.contains(&arena.wrapping_sub(heap)) {
                return None;
            }
            (arena + layout.size).next_multiple_of(16)
        } else {
            // The header's size is known from the first heap of the arena.
            heap + arena % HEAP_BYTES
        };
        Some(first..heap + size)
    }
}

/// Finds the arenas: the first by its shape in the C library's variables, the others from there.
pub(super) fn find(image: &dyn Image, regions: &Regions<'_>, layout: &MallocLayout) -> Arenas {
    let mut arenas = Arenas::default();
    let libc = image.modules().iter().find(|module| is_libc(module));
    let Some(module) = libc.or(image.modules().first()) else {
        return arenas;
    };
    let variables = regions
        .all()
        .iter()
        .filter(|region| (module.start..module.end).contains(&region.start()));
    let candidates = variables.flat_map(|region| {
        let addresses = (region.start()..region.end()).step_by(8);
        addresses.filter_map(|at| Some((wrong_bins(regions, region, at, layout)?, at)))
    });
    arenas.main = candidates.min().map(|(_, at)| at);
    let Some(main) = arenas.main else {
        return arenas;
    };
    let mut next = main;
    while arenas.all.len() < MOST {
        arenas.all.push(next);
        arenas
            .tops
            .extend(regions.word(next.wrapping_add(layout.top)));
        match regions.word(next.wrapping_add(layout.next)) {
            Some(arena) if arena != main && arena != 0 => next = arena,
            _ => break,
        }
    }
    arenas.tops.sort_unstable();
    arenas
}

/// Returns how many bins of an arena at an address are wrong; `None` if they are too many. A bin is
/// empty, so it links to itself, or the chunks in it link back.
fn wrong_bins(
    regions: &Regions<'_>,
    region: &Region<'_>,
    at: u64,
    layout: &MallocLayout,
) -> Option<usize> {
    let is_wrong = |bin: &u64| {
        let links = at + layout.bins + 16 * bin;
        // A bin is treated as a chunk, whose links come after two words.
        let own = links - 16;
        match (region.word(links), region.word(links + 8)) {
            (Some(next), Some(previous)) if next == own || previous == own => next != previous,
            (Some(next), Some(previous)) => {
                regions.word(next.wrapping_add(24)) != Some(own)
                    || regions.word(previous.wrapping_add(16)) != Some(own)
            }
            _ => true,
        }
    };
    let wrong = (0..BINS).filter(is_wrong).take(CHANGING + 1).count();
    (wrong <= CHANGING).then_some(wrong)
}

/// Returns the memory of the first arena's chunks.
fn main_range(regions: &Regions<'_>, main: u64, layout: &MallocLayout) -> Option<Range<u64>> {
    let top = regions.word(main + layout.top)?;
    let size = regions.word(top.wrapping_add(8))? & !7;
    let end = top.checked_add(size)?;
    let bytes = regions.word(main + layout.system_bytes)?;
    let region = regions.find(top)?;
    // Unless others took memory from the system, it begins so many bytes before its end; the
    // program's thread-locals may be before it if it is linked statically.
    let start = end
        .checked_sub(bytes)
        .filter(|start| region.contains(*start));
    Some(start.unwrap_or(region.start())..end)
}
