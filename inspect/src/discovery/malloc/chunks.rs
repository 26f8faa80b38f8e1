//! Chunks: how malloc cuts its memory.
//!
//! ```text
//! [size of the chunk before, if that is free] [size, marks] [memory ...] [next chunk ...]
//! ^ the chunk                                               ^ what malloc returns
//! ```
//!
//! A chunk's memory includes the first word of the next chunk. A mark in the next chunk says
//! whether it is in use.

use super::Allocation;
use crate::discovery::regions::Regions;
use std::ops::Range;

/// The mark of a chunk after one that is in use.
const AFTER_USED: u64 = 1;

/// Marks in a size.
const MARKS: u64 = 7;

/// The size of the smallest chunk.
const SMALLEST: u64 = 32;

/// From a chunk to its memory.
pub(super) const TO_MEMORY: u64 = 16;

/// A chunk that malloc does not count as free; a thread's cache or a fast bin may have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Its address.
    pub(super) start: u64,
    /// Its size.
    pub(super) size: u64,
    /// It is a mapping of its own.
    pub(super) mapped: bool,
}

impl Chunk {
    pub(super) fn end(self) -> u64 {
        self.start + self.size
    }

    fn allocation(self) -> Allocation {
        // The last word of a mapping is not followed by a chunk.
        let header = if self.mapped {
            TO_MEMORY
        } else {
            TO_MEMORY - 8
        };
        Allocation {
            start: self.start + TO_MEMORY,
            len: self.size - header,
        }
    }
}

/// The chunks of a part of memory.
pub(super) struct Walk {
    /// Chunks that are not free, by address.
    pub(super) chunks: Vec<Chunk>,
    /// Where the last one ends.
    pub(super) end: u64,
    /// What is there is no chunk, but should be.
    pub(super) broken: bool,
}

/// Follows the chunks in a range of memory, up to one of the topmost chunks, which are in order.
pub(super) fn walk(regions: &Regions<'_>, range: Range<u64>, tops: &[u64]) -> Walk {
    let mut walk = Walk {
        chunks: Vec::new(),
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
            walk.chunks.extend(before);
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
        before = Some(Chunk {
            start: at,
            size,
            mapped: false,
        });
        at += size;
    }
    walk
}

/// Returns the memory of all chunks but those whose memory is at an address in `free`; both are by
/// address.
pub(super) fn allocations(chunks: &[Chunk], free: &[u64]) -> Vec<Allocation> {
    let mut free = free.iter().copied().peekable();
    let mut found = Vec::with_capacity(chunks.len());
    for allocation in chunks.iter().map(|chunk| chunk.allocation()) {
        while free.next_if(|free| *free < allocation.start).is_some() {}
        if free.peek() != Some(&allocation.start) {
            found.push(allocation);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_chunks_are_left_out() {
        let chunk = |start| Chunk {
            start,
            size: 32,
            mapped: false,
        };
        let chunks = [0, 32, 64, 96].map(chunk);
        let found = allocations(&chunks, &[8, 48, 112, 500]);
        let starts: Vec<u64> = found.iter().map(|found| found.start).collect();
        assert_eq!(starts, [16, 80]);
        assert!(found.iter().all(|found| found.len == 24));
    }
}
