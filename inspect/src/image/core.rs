//! Core files: what a process was when it crashed, or when someone asked.
//!
//! Linux leaves out of core files what is in other files: code and constants. That is read from the
//! program and its libraries, if they are those that the process had.

use super::backing::{Backing, Bytes, Regions};
use super::elf;
use super::parts::{Mapping, Parts};
use super::program_image::{ProgramImage, Stopped};
use super::symbols::Symbols;
use crate::error::Error;
use memmap2::Mmap;
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

mod files;
mod notes;
mod segments;

use files::Files;
use notes::Notes;
use segments::Load;

impl ProgramImage {
    /// Opens a core file of Linux on x86-64 or AArch64, on any system. `program` is the program, if it is no longer where it was.
    ///
    /// The files are mapped, not copied.
    ///
    /// # Errors
    ///
    /// See [`Error`]: no core file, or a truncated one; a program that is not there, or another. A
    /// library that is not there, or another, is no error: its code and constants are missing.
    pub fn open(core: &Path, program: Option<&Path>) -> Result<Self, Error> {
        let open = || format!("open {}", core.display());
        let metadata = std::fs::metadata(core).map_err(|error| Error::io(open(), error))?;
        if !metadata.is_file() {
            // Opening a pipe would wait for ever.
            return Err(Error::not_a_core(core, "it is no plain file"));
        }
        let file = File::open(core).map_err(|error| Error::io(open(), error))?;
        // SAFETY: whoever maps a file must not see its bytes change, or end too early. Nobody writes
        // to a core file once it is complete; `segments::read` refuses those that are not.
        let map = unsafe { Mmap::map(&file) }.map_err(|error| Error::io(open(), error))?;
        let (machine, mut loads, note_ranges) = segments::read(core, &map)?;
        let notes = Notes::read(core, &map, machine, &note_ranges)?;
        notes.add_omitted(&mut loads);
        let map = Arc::new(map);
        let holes = segments::holes(&file, &loads);

        let mut mappings: Vec<Mapping> = loads.iter().map(|load| mapping(load, &notes)).collect();
        name_stack_and_heap(&mut mappings, &notes);
        // First without other files, to know what they must look like.
        let bare = regions(&map, &loads, &mappings, &holes, &Files::new());
        let files = files::open(&bare, &mappings, &loads, &notes, program)?;
        let omitted = mappings.iter_mut().zip(&loads);
        for (mapping, _) in omitted.filter(|(_, load)| load.omitted) {
            let file = files.get(&mapping.name);
            mapping.execute = file.is_some_and(|file| elf::is_code(file, mapping.offset));
        }
        let regions = regions(&map, &loads, &mappings, &holes, &files);
        let modules = elf::modules(&regions, &mappings, notes.program().map(Path::new));
        let symbols = Symbols::new(&modules, |module| {
            let at = mappings.binary_search_by_key(&module.start, |mapping| mapping.start);
            files.get(&mappings[at.ok()?].name).cloned()
        });
        let Notes { pid, threads, .. } = notes;
        Ok(Self {
            parts: Parts {
                pid,
                mappings,
                threads,
                modules,
            },
            regions,
            symbols,
            stopped: Stopped::default(),
        })
    }
}

/// Returns the mapping that a segment is of.
fn mapping(load: &Load, notes: &Notes) -> Mapping {
    let file = notes.file_at(load.start);
    Mapping {
        start: load.start,
        end: load.end,
        read: load.read,
        write: load.write,
        execute: load.execute,
        shared: false,
        offset: file.map_or(0, |file| file.offset + (load.start - file.start)),
        name: file.map(|file| file.name.clone()).unwrap_or_default(),
    }
}

/// Core files do not say which mappings are the first thread's stack and the heap of `brk`. The one
/// has the stack pointer; the other is the first anonymous one after the program, with a gap before
/// it.
fn name_stack_and_heap(mappings: &mut [Mapping], notes: &Notes) {
    let mut threads = notes.threads.iter();
    let first = threads.find(|thread| Some(thread.tid) == notes.pid);
    let sp = first.map(|thread| thread.stack_pointer);
    for mapping in &mut *mappings {
        let stack = sp.is_some_and(|sp| (mapping.start..mapping.end).contains(&sp));
        if stack && mapping.name.is_empty() {
            mapping.name = "[stack]".to_owned();
        }
    }
    let Some(program) = notes.program() else {
        return;
    };
    let Some(last) = mappings.iter().rposition(|mapping| mapping.name == program) else {
        return;
    };
    let mut end = mappings[last].end;
    for mapping in &mut mappings[last + 1..] {
        if !mapping.name.is_empty() {
            return;
        }
        if mapping.start != end {
            if mapping.read && mapping.write {
                mapping.name = "[heap]".to_owned();
            }
            return;
        }
        // Zeroed statics.
        end = mapping.end;
    }
}

/// Puts together what the core has and what other files have.
fn regions(
    core: &Arc<Mmap>,
    loads: &[Load],
    mappings: &[Mapping],
    holes: &[Range<u64>],
    files: &Files,
) -> Regions {
    let mut regions = Regions::new(None);
    let core = regions.add_source(Arc::clone(core) as Bytes);
    let sources: HashMap<&str, u32> = files
        .iter()
        .map(|(name, file)| (name.as_str(), regions.add_source(Arc::clone(file) as Bytes)))
        .collect();
    let mut holes = holes.iter().peekable();
    for (load, mapping) in loads.iter().zip(mappings) {
        // The holes are in the order of the file, which is that of the addresses in all cores that
        // are known; in others they are only not found.
        let (mut at, end) = (load.offset, load.offset + load.file_len);
        let address = |offset: u64| load.start + (offset - load.offset);
        let bytes = |at: u64| Backing::Bytes {
            source: core,
            offset: at as usize,
        };
        while holes.next_if(|hole| hole.end <= at).is_some() {}
        while let Some(hole) = holes.next_if(|hole| hole.start >= at && hole.end <= end) {
            regions.push(address(at)..address(hole.start), bytes(at));
            regions.push(address(hole.start)..address(hole.end), Backing::Zero);
            at = hole.end;
        }
        regions.push(address(at)..address(end), bytes(at));
        let rest = address(end);
        if let Some(&source) = sources.get(mapping.name.as_str()) {
            let offset = mapping.offset.saturating_add(rest - load.start);
            let offset = usize::try_from(offset).unwrap_or(usize::MAX);
            regions.push(rest..load.end, Backing::Bytes { source, offset });
        } else if !mapping.is_file() {
            // Anonymous memory that nobody has written to.
            regions.push(rest..load.end, Backing::Zero);
        }
    }
    regions
}
