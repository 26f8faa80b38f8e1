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

/// Adds the chunks of the thread's cache at an address; nothing if it is no cache.
fn add_cache(
    regions: &Regions<'_>,
    layout: &MallocLayout,
    at: u64,
    chunks: &[Chunk],
    free: &mut Vec<u64>,
) {
    let known = free.len();
    for bin in 0..CACHE_BINS {
        let count_at = at + bin * layout.count_bytes;
        let shift = 8 * (count_at % 8);
        let count = regions.word(count_at & !7).unwrap_or(0) >> shift;
        let count = count & ((1 << (8 * layout.count_bytes)) - 1);
        let entry = at + CACHE_BINS * layout.count_bytes + 8 * bin;
        let first = regions.word(entry).filter(|first| *first != 0);
        let from = free.len();
        // One more than there should be, to see that it ends.
        follow(regions, layout, first, count.min(MOST_CACHED) + 1, 0, free);
        let size = 16 * bin + 32;
        let fits = |memory: &u64| {
            let place = chunks.binary_search_by_key(&(memory - TO_MEMORY), |chunk| chunk.start);
            place.is_ok_and(|place| chunks[place].size() == size)
        };
        if (free.len() - from) as u64 != count || !free[from..].iter().all(fits) {
            free.truncate(known);
            return;
        }
    }
}

/// Adds the addresses of memory in a list, at most so many. Links are `to_chunk` bytes less than
/// the memory that they lead to.
fn follow(
    regions: &Regions<'_>,
    layout: &MallocLayout,
    first: Option<u64>,
    most: u64,
    to_chunk: u64,
    free: &mut Vec<u64>,
) {
    let mut next = first;
    let mut left = most;
    while let Some(memory) = next.filter(|memory| memory % 16 == 0 && left > 0) {
        let Some(link) = regions.word(memory) else {
            return;
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
}
