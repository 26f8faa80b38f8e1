//! Chunks that look used, but are free: in threads' caches, and in the arenas' fast bins.

use super::arena::Arenas;
use super::chunks::{Chunk, TO_MEMORY};
use super::version::{CACHE_BINS, FAST_BINS, MallocLayout};
use crate::discovery::regions::Regions;

/// The most chunks in one list of a cache that is believed: what the settings of malloc allow.
const MOST_CACHED: u64 = u16::MAX as u64;

/// Returns the addresses of the memory of such chunks, in order. `chunks` are by address.
pub(super) fn find(
    regions: &Regions<'_>,
    layout: &MallocLayout,
    arenas: &Arenas,
    chunks: &[Chunk],
) -> Vec<u64> {
    let mut free = Vec::new();
    for arena in arenas.all() {
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

/// Adds the chunks of the thread's cache at an address; nothing if it is no cache. The thread may
/// have been stopped while it changed the cache, or while it emptied it because it ends: then there
/// are fewer chunks than the cache counts.
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
        // Two more than there should be: one that is not counted yet, and one to see that it ends.
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

/// Adds the addresses of memory in a list, at most so many; returns whether the list ends with them.
/// Links are `to_chunk` bytes less than the memory that they lead to.
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

    /// As glibc 2.36 has them.
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

    /// The memory of the chunk of 48 bytes with this number.
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
        let free = find(&regions, &layout(), &Arenas::default(), &chunks);
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
}
