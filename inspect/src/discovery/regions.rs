//! The writable memory of a program, as pieces that can be read quickly.

use crate::image::{Image, Mapping};
use std::borrow::Cow;

/// The size of a page: memory is there or absent in units of this many bytes, or a multiple.
const PAGE: u64 = 4096;

/// Bytes that are read at once.
const PIECE: u64 = 1 << 20;

/// The memory of a mapping.
pub(super) struct Region<'a> {
    /// The mapping.
    pub(super) mapping: &'a Mapping,
    bytes: Cow<'a, [u8]>,
}

impl Region<'_> {
    /// Returns the first address.
    pub(super) fn start(&self) -> u64 {
        self.mapping.start
    }

    /// Returns the address after the last.
    pub(super) fn end(&self) -> u64 {
        self.mapping.start + self.bytes.len() as u64
    }

    /// Returns the bytes of a range, as far as it lies in the region.
    pub(super) fn bytes(&self, start: u64, end: u64) -> &[u8] {
        let end = end.min(self.end());
        let start = start.max(self.start()).min(end);
        &self.bytes[(start - self.start()) as usize..(end - self.start()) as usize]
    }

    /// Returns the word at an address.
    #[inline(always)]
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let offset = usize::try_from(address.checked_sub(self.start())?).ok()?;
        let bytes = self.bytes.get(offset..)?.first_chunk()?;
        Some(u64::from_ne_bytes(*bytes))
    }

    /// Returns whether an address lies in the region.
    pub(super) fn contains(&self, address: u64) -> bool {
        (self.start()..self.end()).contains(&address)
    }
}

/// Returns the words of some bytes.
#[inline(always)]
pub(super) fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let words = bytes.chunks_exact(8);
    words.map(|word| u64::from_ne_bytes(word.try_into().expect("chunks of eight bytes")))
}

/// The writable memory of a program, by address.
pub(super) struct Regions<'a>(Vec<Region<'a>>);

impl<'a> Regions<'a> {
    /// Reads all memory that the program can write and does not share with files. Pages that are
    /// absent are read as zeros.
    pub(super) fn read(image: &'a dyn Image) -> Self {
        let writable = image.mappings().iter().filter(|mapping| is_memory(mapping));
        let region = |mapping| Region {
            mapping,
            bytes: read_mapping(image, mapping),
        };
        Self(writable.map(region).collect())
    }

    /// Returns all regions, by address.
    pub(super) fn all(&self) -> &[Region<'a>] {
        &self.0
    }

    /// Returns the region of an address.
    pub(super) fn find(&self, address: u64) -> Option<&Region<'a>> {
        let after = self.0.partition_point(|region| region.start() <= address);
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

/// Reads a mapping, without a copy if possible.
fn read_mapping<'a>(image: &'a dyn Image, mapping: &Mapping) -> Cow<'a, [u8]> {
    let len = mapping.end - mapping.start;
    if let Some(bytes) = image.slice(mapping.start, len as usize) {
        return Cow::Borrowed(bytes);
    }
    let mut bytes = vec![0; len as usize];
    for from in (0..len).step_by(PIECE as usize) {
        let to = len.min(from + PIECE);
        let piece = &mut bytes[from as usize..to as usize];
        let mut done = image.read(mapping.start + from, piece) as u64;
        // The page where reading stopped is absent; others after it may be there.
        while done < to - from {
            done = (done / PAGE + 1) * PAGE;
            let Some(rest) = piece.get_mut(done as usize..) else {
                break;
            };
            done += image.read(mapping.start + from + done, rest) as u64;
        }
    }
    Cow::Owned(bytes)
}
