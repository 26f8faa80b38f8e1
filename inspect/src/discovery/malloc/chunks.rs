//! Chunks: how malloc cuts its memory.
//!
//! ```text
//! [size of the chunk before, if that is free] [size, marks] [memory ...] [next chunk ...]
//! ^ the chunk                                               ^ what malloc returns
//! ```
//!
//! A chunk's memory includes the first word of the next chunk. A mark in the next chunk says
//! whether it is in use.

use crate::discovery::regions::{Region, Regions};
use crate::image::elf::PAGE;
use std::ops::Range;

/// The mark of a chunk after one that is in use.
const AFTER_USED: u64 = 1;

/// The mark of a chunk that is a mapping of its own.
pub(super) const MAPPED: u64 = 2;

/// Marks in a size.
pub(super) const MARKS: u64 = 7;

/// The size of the smallest chunk.
const SMALLEST: u64 = 32;

/// From a chunk to its memory.
pub(super) const TO_MEMORY: u64 = 16;

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
    /// Its address.
    pub(super) start: u64,
    /// Its size, a multiple of 16, and whether it is [mapped](MAPPED).
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
        // The last word of a mapping is not followed by a chunk.
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

/// How far the chunks in a part of memory could be followed.
pub(super) struct Walk {
    /// Where the last one ends.
    pub(super) end: u64,
    /// True if there is no chunk where one should be.
    pub(super) broken: bool,
}

/// Follows the chunks in a range of memory, up to one of the topmost chunks, which are in order.
/// Adds those that are not free, by address.
pub(super) fn walk(
    regions: &Regions<'_>,
    range: Range<u64>,
    tops: &[u64],
    found: &mut Vec<Chunk>,
) -> Walk {
    let mut walk = Walk {
        end: range.start,
        broken: false,
    };
    let Some(region) = regions.find(range.start) else {
        return walk;
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
        walk.end = at;
        let Some(size) = head.map(|head| head & !MARKS) else {
            walk.broken = at != range.end;
            break;
        };
        if at == top {
            walk.end = range.end;
            break;
        }
        // Two chunks that are smaller than any other mark the end of a part that was extended
        // elsewhere.
        if size < SMALLEST {
            walk.broken = size != TO_MEMORY && size != 0;
            break;
        }
        if size % 16 != 0 || size > range.end - at {
            walk.broken = true;
            break;
        }
        before = Some(Chunk::new(at, size));
        at += size;
    }
    walk
}

/// Returns the memory of all chunks but those whose memory is at an address in `free`; both are by
/// address.
pub(super) fn allocations(chunks: Vec<Chunk>, free: &[u64]) -> Vec<Allocation> {
    let mut free = free.iter().copied().peekable();
    let mut is_used = |allocation: &Allocation| {
        while free.next_if(|free| *free < allocation.start).is_some() {}
        free.peek() != Some(&allocation.start)
    };
    let allocations = chunks.into_iter().map(Chunk::allocation);
    // The result takes the memory of the chunks.
    allocations
        .filter(|allocation| is_used(allocation))
        .collect()
}

/// The largest distance from the beginning of a mapping to memory with an alignment.
const FURTHEST: u64 = 128 << 10;

/// Adds chunks that are mappings of their own, outside of memory that arenas manage, which is by
/// address.
pub(super) fn find_mapped(regions: &Regions<'_>, managed: &[Range<u64>], found: &mut Vec<Chunk>) {
    for region in regions.all() {
        if !region.name.is_empty() || region.shared {
            continue;
        }
        let mut at = region.start();
        while at < region.end() {
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
    let fits = size >= PAGE && size % PAGE == 0 && size <= region.end() - at;
    (before == 0 && head & MARKS == MAPPED && fits).then_some(size)
}

/// Returns the chunk whose memory was handed out: if that is aligned to more than usual, a chunk
/// within the one at the mapping's beginning, which says how far it is away.
fn aligned_within(region: &Region<'_>, start: u64, size: u64) -> Chunk {
    let within = (TO_MEMORY..FURTHEST.min(size)).step_by(16).find(|&offset| {
        region.word(start + offset) == Some(offset)
            && region.word(start + offset + 8) == Some((size - offset) | MAPPED)
    });
    let offset = within.unwrap_or(0);
    Chunk::mapped(start + offset, size - offset)
}

#[cfg(test)]
mod tests {
    use super::*;

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
