//! Chunks: how malloc cuts its memory.
//!
//! ```text
//! [size of the chunk before, if that is free] [size, marks] [memory ...] [next chunk ...]
//! ^ the chunk                                               ^ what malloc returns
//! ```
//!
//! A chunk's memory includes the first word of the next chunk. A mark in the second word of the
//! next chunk says whether the chunk is in use. Some chunks look used, but are free: in threads'
//! caches, and in the arenas' fast bins.

use super::arena::{Arenas, CACHE_BINS, FAST_BINS, MallocLayout};
use crate::discovery::regions::{Region, Regions};
use crate::image::elf::PAGE;
use std::ops::Range;

/// The mark in a chunk's size that says that the chunk before is in use.
const AFTER_USED: u64 = 1;

/// The mark in a chunk's size that says that the chunk is a mapping of its own.
const MAPPED: u64 = 2;

/// The bits of a size that are marks.
const MARKS: u64 = 7;

/// The size of the smallest chunk.
const SMALLEST: u64 = 32;

/// The distance from a chunk to its memory, in bytes.
const TO_MEMORY: u64 = 16;

/// Memory that is allocated and not freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::discovery) struct Allocation {
    /// The address that the allocator returned.
    pub(in crate::discovery) start: u64,
    /// How many bytes can be used.
    pub(in crate::discovery) len: u64,
}

impl Allocation {
    /// Returns the address after the last usable byte.
    pub(in crate::discovery) fn end(self) -> u64 {
        self.start + self.len
    }
}

/// A chunk that malloc does not count as free; a thread's cache or a fast bin may have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// The address of the chunk.
    pub(super) start: u64,
    /// The size of the chunk, a multiple of 16, and whether the chunk is [mapped](MAPPED).
    head: u64,
}

impl Chunk {
    pub(super) fn new(start: u64, size: u64) -> Self {
        Self { start, head: size }
    }

    /// Returns a chunk that is a mapping of its own.
    pub(super) fn mapped(start: u64, size: u64) -> Self {
        let head = size | MAPPED;
        Self { start, head }
    }

    pub(super) fn size(self) -> u64 {
        self.head & !MAPPED
    }

    pub(super) fn is_mapped(self) -> bool {
        self.head & MAPPED != 0
    }

    pub(super) fn end(self) -> u64 {
        self.start + self.size()
    }

    fn allocation(self) -> Allocation {
        // No chunk follows a mapping, so there is no first word of a next chunk to use.
        let header = if self.is_mapped() {
            TO_MEMORY
        } else {
            TO_MEMORY - 8
        };
        Allocation {
            start: self.start + TO_MEMORY,
            len: self.size() - header,
        }
    }
}

/// Follows the chunks in `range`, up to the first of `tops`, which are sorted. Adds the chunks that
/// are not free. Returns where the memory that malloc manages ends, and whether damage has ended
/// the walk there.
pub(super) fn walk(
    regions: &Regions<'_>,
    range: Range<u64>,
    tops: &[u64],
    found: &mut Vec<Chunk>,
) -> (u64, bool) {
    let Some(region) = regions.find(range.start) else {
        return (range.start, false);
    };
    let next_top = tops.partition_point(|top| *top < range.start);
    let top = tops.get(next_top).copied().unwrap_or(u64::MAX);
    let mut at = range.start;
    let mut before: Option<Chunk> = None;
    loop {
        let head = region.word(at + 8).filter(|_| at < range.end);
        if head.is_some_and(|head| head & AFTER_USED != 0) {
            found.extend(before);
        }
        let Some(size) = head.map(|head| head & !MARKS) else {
            return (at, at != range.end);
        };
        if at == top {
            return (range.end, false);
        }
        // Two chunks smaller than any real one end a part of the heap if it goes on elsewhere.
        if size < SMALLEST {
            return (at, size != TO_MEMORY && size != 0);
        }
        if size % 16 != 0 || size > range.end - at {
            return (at, true);
        }
        before = Some(Chunk::new(at, size));
        at += size;
    }
}

/// Returns the memory of all chunks but those whose memory is at an address in `free`; both lists
/// are sorted by address.
pub(super) fn allocations(chunks: Vec<Chunk>, free: &[u64]) -> Vec<Allocation> {
    let mut free = free.iter().copied().peekable();
    let mut is_used = |allocation: &Allocation| {
        while free.next_if(|free| *free < allocation.start).is_some() {}
        free.peek() != Some(&allocation.start)
    };
    let allocations = chunks.into_iter().map(Chunk::allocation);
    // `collect` reuses the memory of `chunks`.
    allocations
        .filter(|allocation| is_used(allocation))
        .collect()
}

/// How far from the start of a mapping an aligned chunk is looked for, in bytes.
const FURTHEST: u64 = 128 << 10;

/// Adds chunks that are mappings of their own. They are outside of `managed`, the memory of arenas,
/// which is sorted by address.
pub(super) fn find_mapped(regions: &Regions<'_>, managed: &[Range<u64>], found: &mut Vec<Chunk>) {
    for region in regions.all() {
        if !region.name.is_empty() || region.shared {
            continue;
        }
        let mut at = region.start;
        while at < region.end {
            let after = managed.partition_point(|range| range.end <= at);
            if let Some(range) = managed.get(after).filter(|range| range.start <= at + PAGE) {
                at = range.end.next_multiple_of(PAGE);
            } else if let Some(size) = size_of(region, at) {
                found.push(aligned_within(region, at, size));
                at += size;
            } else {
                at += PAGE;
            }
        }
    }
}

/// Returns the size of the chunk at the beginning of a page, if there is one.
fn size_of(region: &Region<'_>, at: u64) -> Option<u64> {
    let (before, head) = (region.word(at)?, region.word(at + 8)?);
    let size = head & !MARKS;
    let fits = size >= PAGE && size % PAGE == 0 && size <= region.end - at;
    (before == 0 && head & MARKS == MAPPED && fits).then_some(size)
}

/// Returns the chunk whose memory was handed out. With a large alignment, that is a chunk inside
/// the mapping, whose first word is its distance from the mapping's beginning.
fn aligned_within(region: &Region<'_>, start: u64, size: u64) -> Chunk {
    let within = (TO_MEMORY..FURTHEST.min(size)).step_by(16).find(|&offset| {
        region.word(start + offset) == Some(offset)
            && region.word(start + offset + 8) == Some((size - offset) | MAPPED)
    });
    let offset = within.unwrap_or(0);
    Chunk::mapped(start + offset, size - offset)
}

/// The greatest number of chunks in one list of a cache that is believed: malloc's settings allow
/// no more.
const MOST_CACHED: u64 = u16::MAX as u64;

/// Returns the addresses of memory that looks used but is free, in caches and fast bins, in order.
/// `chunks` are sorted by address.
pub(super) fn free(
    regions: &Regions<'_>,
    layout: &MallocLayout,
    arenas: &Arenas,
    chunks: &[Chunk],
) -> Vec<u64> {
    let mut free = Vec::new();
    for arena in &arenas.all {
        for bin in 0..FAST_BINS {
            let first = regions.word(arena.wrapping_add(layout.fast_bins + 8 * bin));
            let first = first.filter(|first| *first != 0);
            let memory = first.map(|first| first.wrapping_add(TO_MEMORY));
            follow(
                regions,
                layout,
                memory,
                chunks.len() as u64,
                TO_MEMORY,
                &mut free,
            );
        }
    }
    let cache_size = (layout.cache_bytes() + 8).next_multiple_of(16);
    for chunk in chunks.iter().filter(|chunk| chunk.size() == cache_size) {
        add_cache(regions, layout, chunk.start + TO_MEMORY, chunks, &mut free);
    }
    free.sort_unstable();
    free
}

/// If a thread's cache is at `at`, adds the memory of its chunks to `free`; otherwise adds nothing.
/// The thread may have been stopped while it changed the cache: then one chunk may not be counted
/// yet. Or it was ending and emptying the cache: then there are fewer chunks than are counted.
fn add_cache(
    regions: &Regions<'_>,
    layout: &MallocLayout,
    at: u64,
    chunks: &[Chunk],
    free: &mut Vec<u64>,
) {
    let known = free.len();
    let mut changing = 0;
    for bin in 0..CACHE_BINS {
        let count_at = at + bin * layout.count_bytes;
        let shift = 8 * (count_at % 8);
        let count = regions.word(count_at & !7).unwrap_or(0) >> shift;
        let count = count & ((1 << (8 * layout.count_bytes)) - 1);
        let entry = at + CACHE_BINS * layout.count_bytes + 8 * bin;
        let first = regions.word(entry).filter(|first| *first != 0);
        let from = free.len();
        // Two more than are counted: one may not be counted yet, and a second one shows that the
        // list is too long.
        let most = count.min(MOST_CACHED) + 2;
        let ends = follow(regions, layout, first, most, 0, free);
        let size = 16 * bin + 32;
        let fits = |memory: &u64| {
            let place = chunks.binary_search_by_key(&(memory - TO_MEMORY), |chunk| chunk.start);
            place.is_ok_and(|place| chunks[place].size() == size)
        };
        let found = (free.len() - from) as u64;
        changing += found.saturating_sub(count);
        if !ends || changing > 1 || !free[from..].iter().all(fits) {
            free.truncate(known);
            return;
        }
    }
}

/// Adds the memory of the chunks in a list, at most `most`; returns whether that is the whole list.
/// A link plus `to_chunk` is the address of the next chunk's memory.
fn follow(
    regions: &Regions<'_>,
    layout: &MallocLayout,
    first: Option<u64>,
    most: u64,
    to_chunk: u64,
    free: &mut Vec<u64>,
) -> bool {
    let mut next = first;
    let mut left = most;
    while let Some(memory) = next {
        let link = regions
            .word(memory)
            .filter(|_| memory % 16 == 0 && left > 0);
        let Some(link) = link else {
            return false;
        };
        left -= 1;
        free.push(memory);
        let link = if layout.hidden_links {
            link ^ (memory >> 12)
        } else {
            link
        };
        next = (link != 0).then(|| link.wrapping_add(to_chunk));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::synthetic_image::Synthetic;

    const START: u64 = 0x5500_0000_0000;

    /// Returns the layout of glibc 2.36.
    fn layout() -> MallocLayout {
        MallocLayout {
            fast_bins: 16,
            top: 96,
            bins: 112,
            next: 2160,
            system_bytes: 2184,
            size: 2200,
            count_bytes: 2,
            hidden_links: true,
        }
    }

    /// Returns the address of the memory of the chunk of 48 bytes with this number.
    fn memory(number: u64) -> u64 {
        START + 656 + 48 * number + TO_MEMORY
    }

    /// Returns which chunks are free if a cache counts `counts` in its second and third list, and
    /// the second has the chunks with these numbers, the last of which links to `end`.
    fn free(counts: [u64; 2], list: &[u64], end: u64) -> Vec<u64> {
        let cache = START + TO_MEMORY;
        let mut words = vec![(cache, counts[0] << 16 | counts[1] << 32)];
        let list: Vec<u64> = list.iter().map(|number| memory(*number)).collect();
        words.extend(list.first().map(|first| (cache + 128 + 8, *first)));
        let next = list[1.min(list.len())..].iter().chain([&end]);
        words.extend(
            list.iter()
                .zip(next)
                .map(|(at, next)| (*at, next ^ (at >> 12))),
        );
        let mut image = Synthetic::default();
        image.map(START, 4096, &words);
        let regions = Regions::read(&image);
        let mut chunks = vec![Chunk::new(START, 656)];
        chunks.extend((0..4).map(|number| Chunk::new(memory(number) - TO_MEMORY, 48)));
        let free = super::free(&regions, &layout(), &Arenas::default(), &chunks);
        free.iter().map(|free| (free - memory(0)) / 48).collect()
    }

    #[test]
    fn a_cache_has_as_many_chunks_as_it_counts() {
        assert_eq!(free([3, 0], &[2, 0, 3], 0), [0, 2, 3]);
        assert_eq!(free([0, 0], &[], 0), Vec::<u64>::new());
    }

    #[test]
    fn a_cache_may_be_changing_or_may_be_emptied() {
        assert_eq!(free([1, 0], &[1, 3], 0), [1, 3]);
        assert_eq!(free([3, 0], &[1, 3], 0), [1, 3]);
        assert_eq!(free([3, 7], &[1], 0), [1]);
        assert_eq!(free([3, 7], &[], 0), Vec::<u64>::new());
    }

    #[test]
    fn other_memory_is_no_cache() {
        assert_eq!(free([0, 0], &[1, 3], 0), Vec::<u64>::new());
        assert_eq!(free([2, 0], &[1, 3], 8), Vec::<u64>::new());
        assert_eq!(free([5, 0], &[1, 3], START), Vec::<u64>::new());
        assert_eq!(free([9, 0], &[1, 3], memory(1)), Vec::<u64>::new());
    }

    #[test]
    fn free_chunks_are_left_out() {
        let chunks = [0, 32, 64, 96].map(|start| Chunk::new(start, 32));
        let found = allocations(chunks.to_vec(), &[8, 48, 112, 500]);
        let starts: Vec<u64> = found.iter().map(|found| found.start).collect();
        assert_eq!(starts, [16, 80]);
        assert!(found.iter().all(|found| found.len == 24));
    }

    #[test]
    fn mapped_chunks_have_no_next_one() {
        let chunk = Chunk::mapped(4096, 8192);
        assert_eq!((chunk.size(), chunk.end()), (8192, 3 * 4096));
        assert_eq!(chunk.allocation().end(), chunk.end());
    }
}
