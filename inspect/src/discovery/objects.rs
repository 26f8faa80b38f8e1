//! Recognizes objects in memory.
//!
//! An object's header has the address of its type info, which is known, and counts that are
//! possible. Where the bounds of allocations are known, the object must also begin where its
//! allocation does, and fill it.

use super::malloc::Allocation;
use super::regions::{Region, Regions};
use super::types::{Kind, TypeInfo, Types};
use crate::layout::{CountLayout, HeaderLayout};
use std::ops::Range;

/// Memory that is an object or a plain allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The first address, before the header.
    pub(super) start: u64,
    /// Bytes of memory.
    pub(super) len: u64,
    /// The distance from `start` to the payload, in bytes.
    pub(super) payload_offset: u32,
    /// The index of the type info; [`PLAIN`] if it is no object.
    pub(super) info: u32,
}

/// Stands in place of a type info's index for memory that is no object.
pub(super) const PLAIN: u32 = u32::MAX;

impl Item {
    /// Returns the item of memory that is no object.
    pub(super) fn plain(start: u64, len: u64) -> Self {
        Self {
            start,
            len,
            payload_offset: 0,
            info: PLAIN,
        }
    }

    pub(super) fn is_object(&self) -> bool {
        self.info != PLAIN
    }

    /// Returns the address after the last byte.
    pub(super) fn end(&self) -> u64 {
        self.start + self.len
    }

    /// Returns the address of the payload, or of the plain memory.
    pub(super) fn address(&self) -> u64 {
        self.start + u64::from(self.payload_offset)
    }
}

/// The counts of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) strong: u32,
    /// The weak references, and one more while the destructor runs.
    pub(super) weak: u32,
    pub(super) held: bool,
}

/// Returns the counts in a word; `None` if no object has such counts.
fn counts(word: u64, layout: &CountLayout) -> Option<Counts> {
    let strong = ((word >> layout.strong_shift) as u32).wrapping_add(layout.strong_bias as u32);
    let weak = (word >> layout.weak_shift) & layout.weak_mask;
    let held = word & layout.held_mask != 0;
    // Without a value there are no strong references, and a weak one keeps the memory.
    let possible = u64::from(strong) <= layout.max_strong
        && weak <= layout.max_weak
        && (held || (strong == 0 && weak > 0));
    possible.then_some(Counts {
        strong,
        weak: weak as u32,
        held,
    })
}

/// Recognizes objects.
pub(super) struct Recognizer<'a> {
    pub(super) types: &'a Types,
    pub(super) count: &'a CountLayout,
    pub(super) header: &'a HeaderLayout,
    /// The different payload offsets of all types.
    offsets: Vec<u64>,
}

impl<'a> Recognizer<'a> {
    pub(super) fn new(types: &'a Types, count: &'a CountLayout, header: &'a HeaderLayout) -> Self {
        let mut offsets: Vec<_> = types.all().iter().map(|info| info.payload_offset).collect();
        offsets.sort_unstable();
        offsets.dedup();
        Self {
            types,
            count,
            header,
            offsets,
        }
    }

    /// Returns the index of the type info of an object, if there is a header before the address.
    #[inline(always)]
    fn header_before(&self, region: &Region<'_>, payload: u64) -> Option<u32> {
        let header = payload.checked_sub(self.header.size)?;
        let info = self
            .types
            .at(region.word(header + self.header.type_info)?)?;
        self.counts_before(region, payload)?;
        Some(info)
    }

    /// Returns the counts of the object with this payload; `None` if no object has such counts.
    #[inline(always)]
    pub(super) fn counts_before(&self, region: &Region<'_>, payload: u64) -> Option<Counts> {
        let header = payload.checked_sub(self.header.size)?;
        counts(region.word(header + self.header.count)?, self.count)
    }

    /// Returns how many bytes the values of an object have; `None` if its header says an impossible
    /// number.
    pub(super) fn value_bytes(
        &self,
        region: &Region<'_>,
        info: &TypeInfo,
        payload: u64,
    ) -> Option<u64> {
        let before = || region.word(payload.checked_sub(self.header.length_before)?);
        match info.kind {
            Kind::Sized | Kind::ThreadBound | Kind::Block => Some(info.bytes),
            Kind::Slice | Kind::BlockSlice => info.bytes.checked_mul(before()?),
            Kind::Boxed => boxed_bytes(before()?),
        }
    }

    /// Returns the item in an allocation of malloc: an object or plain memory.
    fn in_allocation(&self, region: &Region<'_>, allocation: Allocation) -> Item {
        let Allocation { start, len } = allocation;
        self.first_object(region, start, len, |info, unused| {
            !info.kind.is_block() && fills(info, allocation, unused)
        })
    }

    /// Returns the object that begins at `start`, if there may be one that `fits` accepts by its
    /// type info and the bytes that it leaves unused; otherwise plain memory.
    fn first_object(
        &self,
        region: &Region<'_>,
        start: u64,
        len: u64,
        fits: impl Fn(&TypeInfo, u64) -> bool,
    ) -> Item {
        let of_offset = |&offset: &u64| {
            let payload = start + offset;
            let index = self.header_before(region, payload)?;
            let info = self.types.get(index);
            let bytes = self.value_bytes(region, info, payload)?;
            let unused = len.checked_sub(offset.checked_add(bytes)?)?;
            (info.payload_offset == offset && fits(info, unused)).then_some(Item {
                start,
                len,
                payload_offset: offset as u32,
                info: index,
            })
        };
        let mut possible = self.offsets.iter().take_while(|offset| **offset <= len);
        possible
            .find_map(of_offset)
            .unwrap_or(Item::plain(start, len))
    }

    /// Returns the item in each of the allocations.
    pub(super) fn in_allocations(
        &self,
        regions: &Regions<'_>,
        allocations: &[Allocation],
    ) -> Vec<Item> {
        let mut region: Option<&Region<'_>> = None;
        let mut items = Vec::with_capacity(allocations.len());
        for allocation in allocations {
            if !region.is_some_and(|region| region.contains(allocation.start)) {
                region = regions.find(allocation.start);
            }
            items.extend(region.map(|region| self.in_allocation(region, *allocation)));
        }
        items
    }

    /// Returns the item in a block that is in use.
    pub(super) fn in_block(&self, region: &Region<'_>, start: u64, len: u64) -> Item {
        self.first_object(region, start, len, |info, _| info.kind.is_block())
    }

    /// Adds all objects in memory without known bounds of allocations.
    pub(super) fn in_memory(&self, region: &Region<'_>, range: Range<u64>, items: &mut Vec<Item>) {
        let types = self.types.bounds();
        let mut end = range.start;
        region.for_words(range.clone(), |address, word| {
            if !types.contains(&word) {
                return;
            }
            let payload = address - self.header.type_info + self.header.size;
            let Some(index) = self.header_before(region, payload) else {
                return;
            };
            let info = self.types.get(index);
            let Some(bytes) = self.value_bytes(region, info, payload) else {
                return;
            };
            let start = payload.checked_sub(info.payload_offset);
            let Some(start) = start.filter(|start| *start >= end) else {
                return;
            };
            let fits = payload % info.align == 0
                && !info.kind.is_block()
                && payload
                    .checked_add(bytes)
                    .is_some_and(|end| end <= range.end);
            if !fits {
                return;
            }
            let len = (info.payload_offset + bytes).next_multiple_of(8);
            end = start + len;
            items.push(Item {
                start,
                len,
                payload_offset: info.payload_offset as u32,
                info: index,
            });
        });
    }
}

/// Returns the size of a boxed value. `word`, before its header, is twice the size plus the
/// alignment, which is the lowest bit set in `word`, as the size is a multiple of the alignment.
/// Values that are aligned to more than 32 are not recognized, as their header is elsewhere.
fn boxed_bytes(word: u64) -> Option<u64> {
    let align = word & word.wrapping_neg();
    (1..=32).contains(&align).then_some((word ^ align) >> 1)
}

/// Returns whether malloc might have returned `allocation` for an object that leaves `unused` bytes
/// of it.
fn fills(info: &TypeInfo, allocation: Allocation, unused: u64) -> bool {
    // malloc rounds sizes up to multiples of 16, and adds a remainder of fewer than 32 bytes, which
    // is too small for a chunk; an aligned allocation has a remainder on both sides.
    let (rounding, moved) = if info.align <= 16 {
        (32, 0)
    } else {
        (64, info.align)
    };
    // Large allocations are mappings of whole pages, which may be longer for the sake of an
    // alignment.
    let mapped = allocation.end() % 4096 == 0 && unused < 4096 + rounding + moved;
    unused < rounding || mapped
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: CountLayout = CountLayout {
        strong_shift: 32,
        strong_bias: 1,
        weak_shift: 1,
        weak_mask: (1 << 31) - 1,
        held_mask: 1,
        max_strong: 1 << 31,
        max_weak: 1 << 30,
    };

    #[test]
    fn count_words_of_objects_and_other_words() {
        let some = |strong, weak, held| Some(Counts { strong, weak, held });
        const NO_STRONG: u64 = u64::MAX << 32;
        for (word, expected, what) in [
            (1, some(1, 0, true), "new"),
            (2 << 32 | 3 << 1 | 1, some(3, 3, true), "in use"),
            (NO_STRONG | 1, some(0, 0, true), "waits to be destroyed"),
            (NO_STRONG | 4, some(0, 2, false), "weak references are left"),
            (NO_STRONG | 2, some(0, 1, false), "being destroyed"),
            (0, None, "zero"),
            (NO_STRONG, None, "no reference at all"),
            (0x7f00_1234_5670, None, "a pointer"),
            (0x7f00_1234_5671 | 1 << 31, None, "too many weak references"),
            (u64::MAX, None, "too many of both"),
        ] {
            assert_eq!(counts(word, &LAYOUT), expected, "{what}");
        }
    }
}
