//! Core files: the state of a process when it crashed, or when a tool saved it.
//!
//! Linux leaves out of core files what is in other files: code and constants. That is read from the
//! program and its libraries, if they are those that the process had.

use super::elf;
use super::parts::{Mapping, Memory as _, Parts};
use super::program_image::{Backing, Bytes, ProgramImage, Regions, Stopped};
use super::symbols::Symbols;
use crate::error::Error;
use memmap2::Mmap;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

mod notes;
mod segments;

use notes::Notes;
use segments::Load;

impl ProgramImage {
    /// Opens a core file of Linux on x86-64 or AArch64, on any system. `program` is the program's
    /// path, if it is no longer where it was.
    ///
    /// The files are mapped, not copied.
    ///
    /// # Errors
    ///
    /// See [`Error`]: no core file, or a truncated one; a missing or different program, if
    /// `program` is given or the core lacks parts of it. A missing or different library is no
    /// error: its code and constants are left out.
    pub fn open(core: &Path, program: Option<&Path>) -> Result<Self, Error> {
        let open = || format!("open {}", core.display());
        let metadata = std::fs::metadata(core).map_err(|error| Error::io(open(), error))?;
        if !metadata.is_file() {
            // Opening a pipe would wait for ever.
            return Err(Error::not_a_core(core, "it is no plain file"));
        }
        let file = File::open(core).map_err(|error| Error::io(open(), error))?;
        // SAFETY: a mapped file must not change or become shorter. Nobody writes to a core file
        // once it is complete; `segments::read` refuses core files that are not.
        let map = unsafe { Mmap::map(&file) }.map_err(|error| Error::io(open(), error))?;
        let (machine, mut loads, note_ranges) = segments::read(core, &map)?;
        let notes = Notes::read(core, &map, machine, &note_ranges)?;
        notes.add_omitted(&mut loads);
        let map = Arc::new(map);
        let holes = segments::holes(&file, &loads);

        let mut mappings: Vec<Mapping> = loads.iter().map(|load| mapping(load, &notes)).collect();
        name_stack_and_heap(&mut mappings, &notes);
        // Memory as the core alone has it: other files must agree with it.
        let bare = regions(&map, &loads, &mappings, &holes, &Files::new());
        let files = open_files(&bare, &mappings, &loads, &notes, program)?;
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
                program_id: None,
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

/// Returns a segment as a mapping, with the name of the file that was mapped there.
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

/// Names the mappings of the first thread's stack and of the heap of `brk`, which core files do not
/// name. The stack is where the stack pointer points; the heap is the first anonymous mapping after
/// the program that has a gap before it.
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
        // This mapping has the program's statics that begin as zeros.
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
        // `holes` are in the order of addresses, which is the order in the file in all known cores.
        // In any other core the loop misses holes, which costs only time.
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
            // The core leaves out anonymous memory that was never written to.
            regions.push(rest..load.end, Backing::Zero);
        }
    }
    regions
}

/// ELF files by the names that the core has for them.
type Files = HashMap<String, Arc<Mmap>>;

/// Opens the files that were mapped, if they are those that the process had. `bare` is the memory
/// without them; `program` is where the program is now.
fn open_files(
    bare: &Regions,
    mappings: &[Mapping],
    loads: &[Load],
    notes: &Notes,
    program: Option<&Path>,
) -> Result<Files, Error> {
    let mut files = Files::new();
    for mapping in mappings {
        if !mapping.is_file() || mapping.offset != 0 || files.contains_key(&mapping.name) {
            continue;
        }
        let is_program = notes.program() == Some(&mapping.name);
        let name = &mapping.name;
        let recorded = Path::new(name.strip_suffix(" (deleted)").unwrap_or(name));
        let path = program.filter(|_| is_program).unwrap_or(recorded);
        let result = open_elf(path).and_then(|file| match difference(bare, mapping, &file) {
            None => Ok(file),
            Some(reason) => Err(Error::OtherProgram {
                path: path.to_owned(),
                reason,
            }),
        });
        match result {
            Ok(file) => {
                files.insert(mapping.name.clone(), file);
            }
            Err(error) if is_program => {
                let incomplete = mappings.iter().zip(loads).any(|(part, load)| {
                    part.name == mapping.name && load.file_len < load.end - load.start
                });
                if incomplete || program.is_some() {
                    return Err(error);
                }
            }
            Err(_) => {}
        }
    }
    Ok(files)
}

fn open_elf(path: &Path) -> Result<Arc<Mmap>, Error> {
    let fail = |error| Error::NoProgram {
        path: path.to_owned(),
        error,
    };
    // Opening what is no plain file, such as a pipe, may wait for ever.
    if !std::fs::metadata(path).map_err(fail)?.is_file() {
        return Err(fail(io::Error::other("it is no plain file")));
    }
    let file = File::open(path).map_err(fail)?;
    elf::map_file(&file).ok_or_else(|| fail(io::Error::other("it is no ELF file")))
}

/// Returns how a file differs from the one that was mapped; `None` if no difference is found.
fn difference(bare: &Regions, mapping: &Mapping, file: &[u8]) -> Option<String> {
    let module = elf::module(bare, mapping.start, &mapping.name);
    let expected = module.map(|module| module.build_id).unwrap_or_default();
    let found = elf::build_id(file);
    if !expected.is_empty() && !found.is_empty() {
        let hex = |id: &[u8]| -> String { id.iter().map(|byte| format!("{byte:02x}")).collect() };
        let (found, expected) = (hex(&found), hex(&expected));
        let differ = format!("its build id is {found}, and that of the core is {expected}");
        return (expected != found).then_some(differ);
    }
    // Without a build id, compares headers, which almost any change of a program changes.
    let mut header = vec![0; elf::PAGE as usize];
    let len = bare.read(mapping.start, &mut header).min(file.len());
    (header[..len] != file[..len]).then(|| "their headers differ".to_owned())
}
