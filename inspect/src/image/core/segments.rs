//! The headers of a core file, and the parts of it that take no space on the disk.

use crate::error::Error;
use crate::image::elf::{self, Header};
use crate::image::parts::Machine;
use object::LittleEndian;
use object::elf::{ET_CORE, PF_R, PF_W, PF_X, PT_LOAD, PT_NOTE};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use std::fs::File;
use std::ops::Range;
use std::path::Path;

/// A segment of memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Load {
    pub(super) start: u64,
    pub(super) end: u64,
    /// The offset of the segment's bytes in the file.
    pub(super) offset: u64,
    /// How many bytes of the segment are in the file: at most `end - start`.
    pub(super) file_len: u64,
    pub(super) read: bool,
    pub(super) write: bool,
    pub(super) execute: bool,
    /// True if the core says of the memory only that a file was there.
    pub(super) omitted: bool,
}

impl Load {
    /// Returns a segment of which the core says only that a file was there.
    pub(super) fn omitted(start: u64, end: u64) -> Load {
        Load {
            start,
            end,
            read: true,
            omitted: true,
            ..Load::default()
        }
    }
}

/// The machine, the segments of memory by address, and where the notes are in the file, with their
/// alignment.
pub(super) type Headers = (Machine, Vec<Load>, Vec<(Range<usize>, u64)>);

/// Reads the headers, and checks that all that they refer to is in the file.
pub(super) fn read(path: &Path, file: &[u8]) -> Result<Headers, Error> {
    let no_core = |reason: &str| Error::not_a_core(path, reason);
    let damaged = || no_core("its headers are damaged");
    let found = file.len() as u64;
    let truncated = |expected| Error::TruncatedCore {
        path: path.to_owned(),
        expected,
        found,
    };
    if file.is_empty() {
        return Err(truncated(size_of::<Header>() as u64));
    }
    if !elf::is_elf(file) {
        return Err(no_core("it is no ELF file"));
    }
    elf::check_program(file, path.display().to_string())?;
    if file.len() < size_of::<Header>() {
        return Err(truncated(size_of::<Header>() as u64));
    }
    let header = Header::parse(file).map_err(|_| damaged())?;
    if header.e_type(LittleEndian) != ET_CORE {
        return Err(no_core("it is a program or a library"));
    }
    let machine = Machine::from_elf(header.e_machine(LittleEndian).0)
        .ok_or_else(|| no_core("it is of a processor that is not supported"))?;
    let segments = header.program_headers(LittleEndian, file).map_err(|_| {
        let table = u64::from(header.e_phnum(LittleEndian)) * size_of::<elf::Segment>() as u64;
        let end = header.e_phoff(LittleEndian).saturating_add(table);
        if end > found {
            truncated(end)
        } else {
            damaged()
        }
    })?;

    let (mut loads, mut notes, mut expected) = (Vec::new(), Vec::new(), 0);
    for segment in segments {
        let kind = segment.p_type(LittleEndian);
        if kind != PT_LOAD && kind != PT_NOTE {
            continue;
        }
        let (offset, file_len) = segment.file_range(LittleEndian);
        let end = offset.checked_add(file_len).ok_or_else(damaged)?;
        if file_len > 0 {
            expected = end.max(expected);
        }
        if kind == PT_NOTE {
            let range = usize::try_from(offset).ok().zip(usize::try_from(end).ok());
            let (start, end) = range.ok_or_else(damaged)?;
            notes.push((start..end, segment.p_align(LittleEndian)));
            continue;
        }
        let start = segment.p_vaddr(LittleEndian);
        let len = segment.p_memsz(LittleEndian);
        let flags = segment.p_flags(LittleEndian);
        loads.push(Load {
            start,
            end: start.checked_add(len).ok_or_else(damaged)?,
            offset,
            file_len: file_len.min(len),
            read: flags.contains(PF_R),
            write: flags.contains(PF_W),
            execute: flags.contains(PF_X),
            omitted: false,
        });
    }
    if expected > found {
        return Err(truncated(expected));
    }
    loads.sort_by_key(|load| load.start);
    if loads.windows(2).any(|pair| pair[0].end > pair[1].start) {
        return Err(damaged());
    }
    if loads.is_empty() || notes.is_empty() {
        return Err(no_core("it has no memory or no threads"));
    }
    Ok((machine, loads, notes))
}

/// Returns the holes within the segments, as ranges of the file, in the order of `loads`. A hole
/// that is not found costs only time.
#[cfg(target_os = "linux")]
pub(super) fn holes(file: &File, loads: &[Load]) -> Vec<Range<u64>> {
    use rustix::fs::{SeekFrom, seek};
    // Moving the file's cursor harms nothing: it is not used otherwise.
    let mut holes = Vec::new();
    for load in loads {
        let (mut at, end) = (load.offset, load.offset + load.file_len);
        while at < end {
            let start = seek(file, SeekFrom::Hole(at)).ok();
            let Some(start) = start.filter(|&start| start < end) else {
                break;
            };
            // After the last data, the search for more fails (ENXIO).
            let next = seek(file, SeekFrom::Data(start)).unwrap_or(end).min(end);
            if next <= start {
                break;
            }
            holes.push(start..next);
            at = next;
        }
    }
    holes
}

/// Returns no holes: they are only found on Linux.
#[cfg(not(target_os = "linux"))]
pub(super) fn holes(_: &File, _: &[Load]) -> Vec<Range<u64>> {
    Vec::new()
}
