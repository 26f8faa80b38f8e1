//! Chunks that are mappings of their own: large allocations.

use super::chunks::{Chunk, MAPPED, MARKS, TO_MEMORY};
use crate::discovery::regions::{Region, Regions};
use crate::image::elf::PAGE;
use std::ops::Range;

/// The largest distance from the beginning of a mapping to memory with an alignment.
const FURTHEST: u64 = 128 << 10;

/// Adds chunks that are mappings of their own, outside of memory that arenas manage, which is by
/// address.
pub(super) fn find(regions: &Regions<'_>, managed: &[Range<u64>], found: &mut Vec<Chunk>) {
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
