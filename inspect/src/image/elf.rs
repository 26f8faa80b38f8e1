//! ELF files as they are mapped: headers, notes and thread-local storage. They are read from
//! memory, which works for processes, core files, and programs whose file has been deleted.

use super::parts::{Mapping, Memory, Module, Note};
use crate::error::Error;
use memmap2::Mmap;
use object::LittleEndian;
use object::elf::{self, FileHeader64, ProgramHeader64};
use object::read::Object as _;
use object::read::elf::{ElfFile, FileHeader as _, NoteIterator, ProgramHeader as _};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// The header of the files that can be read: 64 bits, little-endian.
pub(crate) type Header = FileHeader64<LittleEndian>;

/// A header of a segment.
pub(crate) type Segment = ProgramHeader64<LittleEndian>;

/// The most bytes of notes that are looked at in a module. More are damage, not notes.
const NOTES_LIMIT: u64 = 1 << 20;

/// The size of which all page sizes are multiples.
pub(crate) const PAGE: u64 = 4096;

/// Returns whether `bytes` begin as ELF files do.
pub(crate) fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(&elf::ELFMAG)
}

/// Returns an error if `bytes` begin an ELF file of a kind that cannot be inspected.
///
/// # Errors
///
/// [`Error::NotSupportedProgram`], for programs of 32 bits or of another byte order.
pub(crate) fn check_program(bytes: &[u8], subject: String) -> Result<(), Error> {
    let other = |ident: &[u8]| ident != [elf::ELFCLASS64.0, elf::ELFDATA2LSB.0];
    if is_elf(bytes) && bytes.get(4..6).is_some_and(other) {
        return Err(Error::NotSupportedProgram(subject));
    }
    Ok(())
}

/// Maps a file, if it is an ELF file.
pub(crate) fn map_file(file: &File) -> Option<Arc<Mmap>> {
    // SAFETY: a mapped file must not change or become shorter. The kernel refuses writes to a
    // program that runs (ETXTBSY). Installers replace a library by a new file, as writing into the
    // old one would crash every process that uses it.
    let map = unsafe { Mmap::map(file) }.ok()?;
    is_elf(&map).then(|| Arc::new(map))
}

/// Finds the modules among `mappings`: the program, whose path is `program`, first.
pub(crate) fn modules(
    memory: &dyn Memory,
    mappings: &[Mapping],
    program: Option<&Path>,
) -> Vec<Module> {
    let mut modules: Vec<Module> = Vec::new();
    for mapping in mappings {
        // Loaders map privately: a shared mapping is of a file that the program reads.
        let loaded = mapping.read && !mapping.shared && mapping.offset == 0;
        let last = modules.last().map_or(0, |module| module.end);
        if !loaded || !mapping.is_file() || mapping.start < last {
            continue;
        }
        modules.extend(module(memory, mapping.start, &mapping.name));
    }
    let program = program.map(|path| path.to_string_lossy());
    modules.sort_by_key(|module| {
        (
            Some(module.path.as_str()) != program.as_deref(),
            module.start,
        )
    });
    modules
}

/// Reads the module whose header is at `start`; `None` if there is none, or it is no program and no
/// library.
pub fn module(memory: &dyn Memory, start: u64, name: &str) -> Option<Module> {
    let bytes = memory.bytes(start, size_of::<Header>())?;
    if !is_elf(&bytes) {
        return None;
    }
    let header = Header::parse(&bytes[..])
        .ok()
        .filter(|header| header.is_little_endian())?;
    let endian = LittleEndian;
    if !matches!(header.e_type(endian), elf::ET_EXEC | elf::ET_DYN) {
        return None;
    }
    let count = usize::from(header.e_phnum(endian));
    let table = start.checked_add(header.e_phoff(endian))?;
    let bytes = memory.bytes(table, count * size_of::<Segment>())?;
    let (segments, _) = object::pod::slice_from_bytes::<Segment>(&bytes, count).ok()?;
    let of_kind = |kind| {
        let segments = segments.iter();
        segments.filter(move |segment| segment.p_type(endian) == kind)
    };
    // The segment that has the file's header: what is mapped at `start`.
    let mut loads = of_kind(elf::PT_LOAD);
    let first = loads.find(|segment| segment.p_offset(endian) < PAGE)?;
    let address = first.p_vaddr(endian);
    let bias = start.wrapping_sub(address - first.p_offset(endian).min(address));
    let in_memory = |address: u64| bias.wrapping_add(address);
    let loads = of_kind(elf::PT_LOAD);
    let end = loads.filter_map(|load| load.p_vaddr(endian).checked_add(load.p_memsz(endian)));
    let end = in_memory(end.max()?).checked_next_multiple_of(PAGE)?;
    if end <= start {
        return None;
    }

    let (mut notes, mut left) = (Vec::new(), NOTES_LIMIT);
    for segment in of_kind(elf::PT_NOTE) {
        let address = in_memory(segment.p_vaddr(endian));
        read_notes(memory, address, segment, &mut left, &mut notes);
    }
    let build_id = notes
        .iter()
        .find(|note: &&Note| note.name == "GNU" && note.kind == elf::NT_GNU_BUILD_ID.0)
        .and_then(|note| memory.bytes(note.address, usize::try_from(note.len).ok()?));
    let tls = of_kind(elf::PT_TLS).next().map(|tls| {
        let address = in_memory(tls.p_vaddr(endian));
        (address, tls.p_memsz(endian), tls.p_align(endian))
    });
    let path = name.strip_suffix(" (deleted)").unwrap_or(name).to_owned();
    Some(Module {
        path,
        bias,
        start,
        end,
        notes,
        tls,
        build_id: build_id.unwrap_or_default(),
    })
}

/// Adds the notes of `segment`, which is at `address` in memory, if it has at most `left` bytes.
fn read_notes(
    memory: &dyn Memory,
    address: u64,
    segment: &Segment,
    left: &mut u64,
    notes: &mut Vec<Note>,
) {
    let len = segment.p_filesz(LittleEndian);
    let Some(rest) = left.checked_sub(len) else {
        return;
    };
    *left = rest;
    let mut bytes = vec![0; len as usize];
    let there = memory.read(address, &mut bytes);
    let bytes = &bytes[..there];
    let align = segment.p_align(LittleEndian);
    let Ok(iterator) = NoteIterator::<Header>::new(LittleEndian, align, bytes) else {
        return;
    };
    // Notes end at the first one that is damaged.
    for note in iterator.map_while(Result::ok) {
        let offset = note.desc().as_ptr() as usize - bytes.as_ptr() as usize;
        notes.push(Note {
            name: String::from_utf8_lossy(note.name()).into_owned(),
            kind: note.n_type(LittleEndian).0,
            address: address + offset as u64,
            len: note.desc().len() as u64,
        });
    }
}

/// Returns whether an ELF file's loader makes the bytes at `offset` executable.
pub(crate) fn is_code(file: &[u8], offset: u64) -> bool {
    let header = Header::parse(file).ok();
    let segments = header.and_then(|header| header.program_headers(LittleEndian, file).ok());
    segments.unwrap_or_default().iter().any(|segment| {
        let (start, len) = segment.file_range(LittleEndian);
        // Mappings begin at page boundaries, perhaps before the segment.
        let within = start / PAGE * PAGE <= offset && offset < start.saturating_add(len);
        let flags = segment.p_flags(LittleEndian);
        segment.p_type(LittleEndian) == elf::PT_LOAD && within && flags.contains(elf::PF_X)
    })
}

/// Returns the build id of an ELF file; empty if it has none.
pub(crate) fn build_id(file: &[u8]) -> Vec<u8> {
    let parsed = ElfFile::<Header>::parse(file);
    let build_id = parsed.and_then(|file| file.build_id()).ok().flatten();
    build_id.unwrap_or_default().to_vec()
}
