//! The writable memory of a program, as pieces that can be read quickly.

use crate::image::elf::PAGE;
use crate::image::{Image, Mapping, words};
use std::borrow::Cow;
use std::ops::Range;

/// The size of a word, in bytes.
pub(super) const WORD: u64 = 8;

/// The most bytes that are read at once.
const PIECE: u64 = 1 << 20;

/// The memory of a mapping, or of adjacent ones of one kind. It is zero where there is no piece.
pub(super) struct Region<'a> {
    /// The first address, and the one after the last.
    pub(super) start: u64,
    pub(super) end: u64,
    /// The file or a name in brackets; empty if the memory is anonymous.
    pub(super) name: &'a str,
    /// True if other processes see writes.
    pub(super) shared: bool,
    /// The pieces, by address.
    pieces: Vec<Piece<'a>>,
}

struct Piece<'a> {
    start: u64,
    bytes: Cow<'a, [u8]>,
}

impl Piece<'_> {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl Region<'_> {
    /// Returns whether an address lies in the region.
    pub(super) fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// Returns the word at an address.
    #[inline(always)]
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let after = match &self.pieces[..] {
            [_] => 1,
            pieces => pieces.partition_point(|piece| piece.start <= address),
        };
        if let Some(piece) = self.pieces[..after].last() {
            let offset = address.wrapping_sub(piece.start);
            if let Some(word) = piece
                .bytes
                .get(offset as usize..)
                .and_then(<[u8]>::first_chunk)
            {
                return Some(u64::from_ne_bytes(*word));
            }
        }
        let last = self.end.checked_sub(WORD)?;
        (self.start..=last).contains(&address).then_some(0)
    }

    /// Calls `f` with the address and value of each word in a range, except where no piece is.
    #[inline(always)]
    pub(super) fn for_words(&self, range: Range<u64>, mut f: impl FnMut(u64, u64)) {
        let first = self
            .pieces
            .partition_point(|piece| piece.end() <= range.start);
        for piece in &self.pieces[first..] {
            if piece.start >= range.end {
                break;
            }
            let start = range.start.max(piece.start).next_multiple_of(WORD);
            let end = range.end.min(piece.end()).max(start);
            let offset = |address| (address - piece.start) as usize;
            let Some(bytes) = piece.bytes.get(offset(start)..offset(end)) else {
                continue;
            };
            for (address, word) in (start..).step_by(WORD as usize).zip(words(bytes)) {
                f(address, word);
            }
        }
    }
}

/// The writable memory of a program, by address.
pub(super) struct Regions<'a>(Vec<Region<'a>>);

impl<'a> Regions<'a> {
    /// Reads all memory that the program can write and does not share with files. Pages that are
    /// absent are read as zeros.
    pub(super) fn read(image: &'a dyn Image) -> Self {
        let present = image.present();
        let writable = image.mappings().iter().filter(|mapping| is_memory(mapping));
        let mut regions: Vec<Region<'a>> = Vec::new();
        for mapping in writable {
            // Adjacent mappings form one region: `madvise` or a core file may have split them.
            let adjacent = regions.last_mut().filter(|region| {
                // Only the first part of the heap has its name in core files.
                let is_rest = mapping.name.is_empty() && region.name.starts_with('[');
                region.end == mapping.start
                    && region.shared == mapping.shared
                    && (region.name == mapping.name || is_rest)
            });
            let region = match adjacent {
                Some(region) => region,
                None => {
                    regions.push(Region {
                        start: mapping.start,
                        end: mapping.end,
                        name: &mapping.name,
                        shared: mapping.shared,
                        pieces: Vec::new(),
                    });
                    regions.last_mut().expect("just pushed")
                }
            };
            region.end = mapping.end;
            let first = present.partition_point(|range| range.end <= mapping.start);
            let within = present[first..].iter();
            for range in within.take_while(|range| range.start < mapping.end) {
                let range = range.start.max(mapping.start)..range.end.min(mapping.end);
                read_range(image, range, &mut region.pieces);
            }
        }
        Self(regions)
    }

    /// Returns all regions, by address.
    pub(super) fn all(&self) -> &[Region<'a>] {
        &self.0
    }

    /// Returns the region of an address.
    pub(super) fn find(&self, address: u64) -> Option<&Region<'a>> {
        let after = self.0.partition_point(|region| region.start <= address);
        self.0[..after].last().filter(|r| r.contains(address))
    }

    /// Returns the word at an address.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        self.find(address)?.word(address)
    }
}

/// Returns whether a mapping is memory of the program, rather than a file or a device.
fn is_memory(mapping: &Mapping) -> bool {
    let is_file = mapping.name.starts_with('/') && !mapping.name.starts_with("/dev/zero");
    mapping.read && mapping.write && !(mapping.shared && is_file)
}

/// Adds the pieces of memory in a range: without a copy if possible.
fn read_range<'a>(image: &'a dyn Image, range: Range<u64>, pieces: &mut Vec<Piece<'a>>) {
    let len = range.end - range.start;
    if let Some(bytes) = image.slice(range.start, len as usize) {
        let (start, bytes) = (range.start, Cow::Borrowed(bytes));
        pieces.push(Piece { start, bytes });
        return;
    }
    if len > PIECE {
        // Each half, or most parts of it, may be available without a copy.
        let middle = range.start + (len / 2).next_multiple_of(PAGE);
        read_range(image, range.start..middle, pieces);
        return read_range(image, middle..range.end, pieces);
    }
    let mut start = range.start;
    while start < range.end {
        let len = range.end - start;
        let mut bytes = vec![0; len as usize];
        let read = image.read(start, &mut bytes);
        if read == 0 {
            start += PAGE;
            continue;
        }
        // Reading stops at an absent page, or at the end of the range.
        bytes.truncate(read);
        let bytes = Cow::Owned(bytes);
        pieces.push(Piece { start, bytes });
        start = (start + read as u64).next_multiple_of(PAGE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::synthetic_image::Synthetic;

    const START: u64 = 0x7f00_0000_0000;

    /// The second of the four pages is absent; each word of the others is its own address.
    #[test]
    fn an_absent_page_does_not_hide_those_around_it() {
        let words = (START..START + 4 * PAGE).step_by(8).map(|at| (at, at));
        let mut image = Synthetic::without(START + PAGE..START + 2 * PAGE);
        image.map(START, 4 * PAGE, &words.collect::<Vec<_>>());
        let regions = Regions::read(&image);
        for page in [0, 2, 3] {
            let last = START + (page + 1) * PAGE - 8;
            assert_eq!(regions.word(last), Some(last));
        }
        assert_eq!(regions.word(START + PAGE), Some(0));
        assert_eq!(regions.word(START + 4 * PAGE - 7), None);
        assert_eq!(regions.word(START - 8), None);
        let mut found = 0;
        regions.all()[0].for_words(START + 8..START + 3 * PAGE + 8, |at, word| {
            assert_eq!(at, word);
            found += 1;
        });
        assert_eq!(found, 2 * PAGE / 8);
    }
}
