//! The types of objects: type infos in the read-only memory of modules, and their names.

use super::decode::returned_str;
use super::ranks::Ranks;
use crate::graph::Texts;
use crate::image::{Image, Mapping, Module, words};
use crate::layout::{KindLayout, TypeInfoLayout};

/// Bytes that are read at once.
const PIECE: usize = 1 << 18;

/// Where the memory of a type info's objects comes from, and what their payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One value from the global allocator.
    Sized,
    /// Values, whose number is in a word before the header.
    Slice,
    /// The value of a `HomeRef`.
    ThreadBound,
    /// One value in a block.
    Block,
    /// Values in a block, whose number is in a word before the header.
    BlockSlice,
    /// One value from the global allocator, whose size is in a word before the header.
    Boxed,
}

impl Kind {
    /// Returns whether the memory of the objects is a block.
    pub(super) fn is_block(self) -> bool {
        matches!(self, Self::Block | Self::BlockSlice)
    }
}

/// A type info: one type may have several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypeInfo {
    /// The address of the type info.
    address: u64,
    /// The index of the type's name.
    pub(super) name: u32,
    pub(super) kind: Kind,
    /// The size of the value, or of one element.
    pub(super) bytes: u64,
    pub(super) align: u64,
    /// The distance from the beginning of an object's memory to its payload, in bytes.
    pub(super) payload_offset: u64,
}

/// All types of a program.
pub(super) struct Types {
    infos: Vec<TypeInfo>,
    by_address: Ranks,
    /// Names without duplicates.
    pub(super) names: Vec<String>,
}

impl Types {
    /// Finds all type infos.
    pub(super) fn find(image: &dyn Image, layout: &TypeInfoLayout, kinds: &KindLayout) -> Self {
        let mut addresses = Vec::new();
        for mapping in image.mappings() {
            if may_have_infos(mapping, image.modules()) {
                add_infos(image, mapping, layout, &mut addresses);
            }
        }
        let mut names = Texts::default();
        let mut infos = Vec::new();
        for address in addresses {
            infos.extend(read_info(image, address, layout, kinds, &mut names));
        }
        Self {
            by_address: Ranks::new(infos.iter().map(|info| info.address)),
            infos,
            names: names.all,
        }
    }

    /// Returns the index of the type info at an address.
    #[inline(always)]
    pub(super) fn at(&self, address: u64) -> Option<u32> {
        self.by_address.starting_at(address)
    }

    /// Returns the type info with this index.
    #[inline(always)]
    pub(super) fn get(&self, index: u32) -> &TypeInfo {
        &self.infos[index as usize]
    }

    /// Returns all type infos, by address.
    pub(super) fn all(&self) -> &[TypeInfo] {
        &self.infos
    }

    /// Returns the lowest and the highest address of a type info; an empty range without any.
    pub(super) fn bounds(&self) -> std::ops::RangeInclusive<u64> {
        let (first, last) = (self.infos.first(), self.infos.last());
        first.map_or(1, |info| info.address)..=last.map_or(0, |info| info.address)
    }
}

/// Returns whether a mapping may have type infos, which are constants of a module. The loader
/// relocates them, so they stay writable unless the linker has them protected afterwards.
fn may_have_infos(mapping: &Mapping, modules: &[Module]) -> bool {
    let of_module = |module: &Module| (module.start..module.end).contains(&mapping.start);
    mapping.read && !mapping.execute && !mapping.shared && modules.iter().any(of_module)
}

/// Adds the addresses of all type infos in a mapping.
fn add_infos(image: &dyn Image, mapping: &Mapping, layout: &TypeInfoLayout, found: &mut Vec<u64>) {
    let mut buffer = vec![0; PIECE];
    let mut start = mapping.start;
    while start < mapping.end {
        let len = PIECE.min((mapping.end - start) as usize);
        let bytes = match image.slice(start, len) {
            Some(bytes) => bytes,
            None => {
                // If a page is absent, the rest of this piece is skipped, too: a program's
                // constants are all there, or none of them.
                let n = image.read(start, &mut buffer[..len]);
                &buffer[..n]
            }
        };
        for (at, word) in (start..).step_by(8).zip(words(bytes)) {
            if word == layout.magic_value {
                found.extend(at.checked_sub(layout.magic));
            }
        }
        start += len as u64;
    }
}

/// Reads the type info at an address; `None` if it makes no sense.
fn read_info(
    image: &dyn Image,
    address: u64,
    layout: &TypeInfoLayout,
    kinds: &KindLayout,
    names: &mut Texts,
) -> Option<TypeInfo> {
    let kind = image.bytes(address + layout.kind, 1)?;
    let kind = match u64::from(kind[0]) {
        kind if kind == kinds.sized => Kind::Sized,
        kind if kind == kinds.slice => Kind::Slice,
        kind if kind == kinds.thread_bound => Kind::ThreadBound,
        kind if kind == kinds.block => Kind::Block,
        kind if kind == kinds.block_slice => Kind::BlockSlice,
        kind if kind == kinds.boxed => Kind::Boxed,
        _ => return None,
    };
    let align = u64::from(image.half(address + layout.align)?);
    let payload_offset = image.word(address + layout.payload_offset)?;
    let bytes = image.word(address + layout.bytes)?;
    let function = image.word(address + layout.type_name)?;
    let sensible = align.is_power_of_two()
        && payload_offset % align == 0
        && payload_offset % 8 == 0
        && payload_offset >= 16
        && bytes < 1 << 47
        && is_code(image, function);
    if !sensible {
        return None;
    }
    let name = returned_str(image, function);
    let name = name.unwrap_or_else(|| format!("type at {address:#x}"));
    Some(TypeInfo {
        address,
        name: names.add(&name),
        kind,
        bytes,
        align,
        payload_offset,
    })
}

/// Returns whether a function may be at an address.
fn is_code(image: &dyn Image, address: u64) -> bool {
    let mappings = image.mappings();
    let after = mappings.partition_point(|mapping| mapping.start <= address);
    let mapping = mappings[..after].last();
    mapping.is_some_and(|mapping| address < mapping.end && mapping.execute)
}
