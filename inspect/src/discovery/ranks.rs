//! Finds which of many ranges of memory an address lies in.
//!
//! A table leads from an address's page to the first range that begins there; the rest is a search
//! among the few ranges of one page. A search among all ranges would take several times as long.

use rustc_hash::FxHashMap;

/// Bits of an address within a page of the table.
const PAGE_BITS: u32 = 12;

/// Ranges of memory, numbered by address.
pub(super) struct Ranks {
    starts: Vec<u64>,
    /// For each page, the number of the first range that begins there.
    pages: FxHashMap<u64, u32>,
}

impl Ranks {
    /// Numbers ranges, each given by its first address. The addresses are sorted; the ranges do not
    /// overlap, and are fewer than 2³².
    pub(super) fn new(starts: impl Iterator<Item = u64>) -> Self {
        let starts: Vec<u64> = starts.collect();
        let mut pages = FxHashMap::default();
        for (number, start) in (0..).zip(&starts) {
            pages.entry(start >> PAGE_BITS).or_insert(number);
        }
        Self { starts, pages }
    }

    /// Returns the number of the range that begins at an address.
    #[inline(always)]
    pub(super) fn starting_at(&self, address: u64) -> Option<u32> {
        let first = *self.pages.get(&(address >> PAGE_BITS))?;
        let number = self.last_of_page(first, address)?;
        (self.starts[number as usize] == address).then_some(number)
    }

    /// Returns the number of the last range that begins at an address or before it. The address may
    /// lie after the range's end.
    #[inline(always)]
    pub(super) fn before(&self, address: u64) -> Option<u32> {
        let first = self.pages.get(&(address >> PAGE_BITS));
        let in_page = first.and_then(|first| self.last_of_page(*first, address));
        in_page.or_else(|| {
            let after = self.starts.partition_point(|start| *start <= address);
            (after as u32).checked_sub(1)
        })
    }

    /// Returns the number of the last range that begins at `address` or before it. `first` is the
    /// first range that begins in the same page.
    #[inline(always)]
    fn last_of_page(&self, first: u32, address: u64) -> Option<u32> {
        let rest = &self.starts[first as usize..];
        // Ranges begin at multiples of eight.
        let most = rest.len().min(1 << (PAGE_BITS - 3));
        let after = rest[..most].partition_point(|start| *start <= address);
        (after as u32).checked_sub(1).map(|index| first + index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranges of all special kinds: neighbours, across pages, large ones, distant ones.
    const RANGES: [(u64, u64); 9] = [
        (0x5555_0000_0008, 0x5555_0000_0010),
        (0x5555_0000_0010, 0x5555_0000_0030),
        (0x5555_0000_fff8, 0x5555_0001_0008),
        (0x5555_0001_0008, 0x5555_0001_0018),
        (0x5555_0002_0000, 0x5555_0006_0000),
        (0x5555_0006_0000, 0x5555_0006_0008),
        (0x7f00_3fff_fff0, 0x7f00_4000_0010),
        (0x7f00_4000_0010, 0x7f00_4000_0020),
        (0xffff_ffff_fff0, 0x1_0000_0000_0000),
    ];

    /// Returns the range that has an address, by a linear search.
    fn containing(address: u64) -> Option<usize> {
        RANGES
            .iter()
            .position(|(start, end)| (*start..*end).contains(&address))
    }

    #[test]
    fn every_address_near_a_bound_is_found_as_by_searching() {
        let ranks = Ranks::new(RANGES.iter().map(|range| range.0));
        for (start, end) in RANGES {
            for address in [start, end].into_iter().flat_map(|at| at - 40..at + 40) {
                let found = ranks.before(address).map(|number| number as usize);
                let found = found.filter(|number| address < RANGES[*number].1);
                assert_eq!(found, containing(address), "{address:#x}");
                let starts = RANGES.iter().position(|(start, _)| *start == address);
                let found = ranks.starting_at(address).map(|number| number as usize);
                assert_eq!(found, starts, "{address:#x}");
            }
        }
    }

    #[test]
    fn other_words_are_no_addresses() {
        let ranks = Ranks::new(RANGES.iter().map(|range| range.0));
        for word in [0, 1, 0x5555_0000_0000, 0x7f00_0000_0000, 1 << 48, u64::MAX] {
            let found = ranks.before(word).map(|number| RANGES[number as usize]);
            assert!(found.is_none_or(|range| word >= range.1), "{word:#x}");
            assert_eq!(ranks.starting_at(word), None, "{word:#x}");
        }
    }
}
