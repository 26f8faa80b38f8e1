//! Finds which of many ranges of memory an address lies in, in constant time.
//!
//! A bit for each eight bytes says whether a range begins there; a count for each 64 bits says how
//! many begin before. These are in blocks for 64 KiB each, which a table of two levels finds. With
//! hashing, a million objects would take several seconds.

/// Bytes for each bit.
const GRANULE: u64 = 8;

/// Bits of an address within a block.
const BLOCK_BITS: u32 = 16;

/// Words of bits in a block.
const WORDS: usize = 1 << (BLOCK_BITS - 3 - 6);

/// Bits of an address below the index of the first level.
const FIRST_BITS: u32 = 30;

/// Entries of a table of the second level.
const SECOND: usize = 1 << (FIRST_BITS - BLOCK_BITS);

/// Bits of an address.
const ADDRESS_BITS: u32 = 48;

/// The mark of an entry that is no index of a block: in the whole block no range begins, and the
/// rest of the entry is the range in which the block lies.
const INSIDE: u32 = 1 << 31;

/// An entry for memory in which there is no range.
const NOTHING: u32 = u32::MAX;

/// Ranges of memory, numbered by address.
pub(super) struct Ranks {
    /// Indices of tables of the second level, plus one.
    first: Vec<u32>,
    second: Vec<[u32; SECOND]>,
    blocks: Vec<Block>,
}

struct Block {
    /// Where ranges begin.
    bits: [u64; WORDS],
    /// How many ranges begin before each word of bits, in this block and all before it.
    before: [u32; WORDS],
}

impl Ranks {
    /// Numbers ranges, each given by its first address and the one after its last. They are in
    /// order, do not overlap, begin at multiples of eight, and are fewer than 2³¹.
    pub(super) fn new(ranges: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut ranks = Self {
            first: vec![0; 1 << (ADDRESS_BITS - FIRST_BITS)],
            second: Vec::new(),
            blocks: Vec::new(),
        };
        for (number, (start, end)) in (0..INSIDE - 1).zip(ranges) {
            if end > 1 << ADDRESS_BITS {
                break;
            }
            ranks.add(number, start, end);
        }
        ranks.sum_up();
        ranks
    }

    /// Adds a range.
    fn add(&mut self, number: u32, start: u64, end: u64) {
        let block = start >> BLOCK_BITS;
        let entry = self.entry(block);
        let index = match *entry {
            NOTHING => None,
            inside if inside & INSIDE != 0 => None,
            index => Some(index),
        };
        let index = index.unwrap_or_else(|| {
            let index = self.blocks.len() as u32;
            self.blocks.push(Block {
                bits: [0; WORDS],
                // Until `sum_up`, the first count is that of the whole block.
                before: [number; WORDS],
            });
            *self.entry(block) = index;
            index
        });
        let bit = (start / GRANULE) as usize % (WORDS * 64);
        self.blocks[index as usize].bits[bit / 64] |= 1 << (bit % 64);
        for inside in block + 1..end.div_ceil(1 << BLOCK_BITS) {
            *self.entry(inside) = INSIDE | number;
        }
    }

    fn entry(&mut self, block: u64) -> &mut u32 {
        let first = &mut self.first[(block >> (FIRST_BITS - BLOCK_BITS)) as usize];
        if *first == 0 {
            self.second.push([NOTHING; SECOND]);
            *first = self.second.len() as u32;
        }
        &mut self.second[*first as usize - 1][block as usize % SECOND]
    }

    fn sum_up(&mut self) {
        for block in &mut self.blocks {
            let mut sum = block.before[0];
            for (bits, before) in block.bits.iter().zip(&mut block.before) {
                *before = sum;
                sum += bits.count_ones();
            }
        }
    }

    #[inline(always)]
    fn find(&self, address: u64) -> u32 {
        let Some(&first) = self.first.get((address >> FIRST_BITS) as usize) else {
            return NOTHING;
        };
        if first == 0 {
            return NOTHING;
        }
        self.second[first as usize - 1][(address >> BLOCK_BITS) as usize % SECOND]
    }

    /// Returns the number of the range that begins at an address.
    #[inline(always)]
    pub(super) fn starting_at(&self, address: u64) -> Option<u32> {
        let entry = self.find(address);
        if entry & INSIDE != 0 || address % GRANULE != 0 {
            return None;
        }
        let block = &self.blocks[entry as usize];
        let bit = (address / GRANULE) as usize % (WORDS * 64);
        let (bits, mask) = (block.bits[bit / 64], 1 << (bit % 64));
        (bits & mask != 0).then(|| block.before[bit / 64] + (bits & (mask - 1)).count_ones())
    }

    /// Returns the number of the last range that begins at an address or before it, if some range
    /// is near. The address may lie after the range's end.
    #[inline(always)]
    pub(super) fn before(&self, address: u64) -> Option<u32> {
        let entry = self.find(address);
        if entry & INSIDE != 0 {
            return (entry != NOTHING).then_some(entry & !INSIDE);
        }
        let block = &self.blocks[entry as usize];
        let bit = (address / GRANULE) as usize % (WORDS * 64);
        let mask = u64::MAX >> (63 - bit % 64);
        (block.before[bit / 64] + (block.bits[bit / 64] & mask).count_ones()).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranges with all that is special: neighbours, across blocks, large ones, far ones.
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

    /// Looks a range up by searching.
    fn containing(address: u64) -> Option<usize> {
        RANGES
            .iter()
            .position(|(start, end)| (*start..*end).contains(&address))
    }

    #[test]
    fn every_address_near_a_bound_is_found_as_by_searching() {
        let ranks = Ranks::new(RANGES.into_iter());
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
        let ranks = Ranks::new(RANGES.into_iter());
        for word in [0, 1, 0x5555_0000_0000, 0x7f00_0000_0000, 1 << 48, u64::MAX] {
            let found = ranks.before(word).map(|number| RANGES[number as usize]);
            assert!(found.is_none_or(|range| word >= range.1), "{word:#x}");
            assert_eq!(ranks.starting_at(word), None, "{word:#x}");
        }
    }
}
