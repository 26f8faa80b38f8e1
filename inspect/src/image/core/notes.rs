//! The notes of a core file: threads and files.

use super::segments::Load;
use crate::error::Error;
use crate::image::elf::Header;
use crate::image::parts::{Machine, Thread};
use object::LittleEndian;
use object::elf::{NT_ARM_TLS, NT_AUXV, NT_FILE, NT_PRPSINFO, NT_PRSTATUS, NoteType};
use object::read::elf::NoteIterator;
use std::ops::Range;
use std::path::Path;

/// Where `pr_pid` and `pr_reg` are in an `elf_prstatus`, and `pr_pid` in an `elf_prpsinfo`.
const STATUS_PID: usize = 32;
const STATUS_REGISTERS: usize = 112;
const INFO_PID: usize = 24;

/// The entry of the auxiliary vector with the address where the program begins.
const AT_ENTRY: u64 = 9;

/// The longest path that Linux has, in bytes.
const LONGEST_PATH: usize = 4096;

/// The contents of the notes.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) pid: Option<u32>,
    pub(super) threads: Vec<Thread>,
    /// The parts of files that were mapped, by address.
    files: Vec<FileRange>,
    /// Where the program begins.
    entry: Option<u64>,
}

/// A part of a file that was mapped.
pub(super) struct FileRange {
    pub(super) start: u64,
    end: u64,
    /// The offset in the file at which the part begins, in bytes.
    pub(super) offset: u64,
    pub(super) name: String,
}

/// The facts about a thread that have been read so far: the next thread's note completes them.
struct Partial<'a> {
    tid: u32,
    general: &'a [u8],
    vectors: &'a [u8],
    thread_pointer: Option<u64>,
}

impl Notes {
    /// Reads the notes in `ranges` of the file.
    pub(super) fn read(
        path: &Path,
        file: &[u8],
        machine: Machine,
        ranges: &[(Range<usize>, u64)],
    ) -> Result<Notes, Error> {
        let mut notes = Notes::default();
        let mut partial: Option<Partial<'_>> = None;
        for (range, align) in ranges {
            let bytes = file.get(range.clone()).unwrap_or_default();
            let iterator = NoteIterator::<Header>::new(LittleEndian, *align, bytes);
            for note in iterator.into_iter().flatten().map_while(Result::ok) {
                let kind = note.n_type(LittleEndian);
                notes.note(machine, kind, note.desc(), &mut partial);
            }
        }
        let last = partial.and_then(|partial| partial.finish(machine));
        notes.threads.extend(last);
        notes.files.sort_by_key(|file| file.start);
        let mut pairs = notes.files.windows(2);
        if pairs.any(|pair| pair[0].end > pair[1].start) {
            return Err(Error::not_a_core(path, "files overlap in memory"));
        }
        if notes.threads.is_empty() {
            return Err(Error::not_a_core(path, "its notes describe no thread"));
        }
        Ok(notes)
    }

    fn note<'a>(
        &mut self,
        machine: Machine,
        kind: NoteType,
        bytes: &'a [u8],
        partial: &mut Option<Partial<'a>>,
    ) {
        match (kind, partial.as_mut()) {
            (NT_PRSTATUS, _) => {
                let next = int(bytes, STATUS_PID).zip(bytes.get(STATUS_REGISTERS..));
                let next = next.map(|(tid, general)| Partial {
                    tid,
                    general,
                    vectors: &[],
                    thread_pointer: None,
                });
                let last = std::mem::replace(partial, next);
                let last = last.and_then(|last| last.finish(machine));
                self.threads.extend(last);
            }
            (NT_ARM_TLS, Some(thread)) => thread.thread_pointer = word(bytes, 0),
            (kind, Some(thread)) if kind == machine.vectors() => thread.vectors = bytes,
            (NT_PRPSINFO, _) => self.pid = int(bytes, INFO_PID),
            (NT_AUXV, _) => {
                self.entry = bytes
                    .chunks_exact(16)
                    .find(|entry| word(entry, 0) == Some(AT_ENTRY))
                    .and_then(|entry| word(entry, 8));
            }
            (NT_FILE, _) => self.files.extend(files(bytes).unwrap_or_default()),
            _ => {}
        }
    }

    /// Returns the part of a file that was mapped at `address`.
    pub(super) fn file_at(&self, address: u64) -> Option<&FileRange> {
        let after = self.files.partition_point(|file| file.start <= address);
        self.files[..after].last().filter(|file| address < file.end)
    }

    /// Adds the parts of files that were mapped, but of which the core has no segment: gdb leaves
    /// out what is as in the file.
    pub(super) fn add_omitted(&self, loads: &mut Vec<Load>) {
        let mut omitted = Vec::new();
        for file in &self.files {
            let from = loads.partition_point(|load| load.end <= file.start);
            let mut at = file.start;
            let mut add = |start: u64, end: u64| {
                if start < end {
                    omitted.push(Load::omitted(start, end));
                }
            };
            let within = loads[from..].iter();
            for load in within.take_while(|load| load.start < file.end) {
                add(at, load.start);
                at = load.end;
            }
            add(at, file.end);
        }
        loads.extend(omitted);
        loads.sort_by_key(|load| load.start);
    }

    /// Returns the path of the program.
    pub(super) fn program(&self) -> Option<&str> {
        let file = self.entry.and_then(|entry| self.file_at(entry))?;
        Some(file.name.as_str())
    }
}

impl Partial<'_> {
    fn finish(self, machine: Machine) -> Option<Thread> {
        machine.thread(self.tid, self.general, self.vectors, self.thread_pointer)
    }
}

/// Reads an `NT_FILE` note: the number of files, the size of a page, for each file its start, end
/// and offset in pages, then the names.
fn files(bytes: &[u8]) -> Option<Vec<FileRange>> {
    let count = usize::try_from(word(bytes, 0)?).ok()?;
    let page = word(bytes, 8)?;
    let names = count.checked_mul(24)?.checked_add(16)?;
    let mut names = bytes.get(names..)?.split(|&byte| byte == 0);
    let mut files = Vec::new();
    for entry in bytes[16..].chunks_exact(24).take(count) {
        let (start, end) = (word(entry, 0)?, word(entry, 8)?);
        let offset = word(entry, 16)?.checked_mul(page)?;
        // Checks that the offset of the last byte does not overflow.
        offset.checked_add(end.saturating_sub(start))?;
        // The limit bounds memory: each mapping gets a copy of the name.
        let name = names.next().filter(|name| name.len() <= LONGEST_PATH)?;
        files.push(FileRange {
            start,
            end,
            offset,
            name: String::from_utf8_lossy(name).into_owned(),
        });
    }
    Some(files)
}

fn word(bytes: &[u8], offset: usize) -> Option<u64> {
    let bytes = bytes.get(offset..)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}

fn int(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a note with one file.
    fn note(start: u64, end: u64, offset: u64, name: &[u8]) -> Vec<u8> {
        let words = [1, 4096, start, end, offset];
        let words = words.iter().flat_map(|word| word.to_le_bytes());
        words.chain(name.iter().copied()).chain([0]).collect()
    }

    #[test]
    fn files_have_offsets_and_names_that_are_possible() {
        let found = files(&note(4096, 8192, 2, b"/lib/a")).unwrap();
        assert_eq!((found.len(), found[0].offset), (1, 8192));
        assert_eq!(found[0].name, "/lib/a");
        let most = u64::MAX / 4096;
        assert!(files(&note(4096, 8192, most + 1, b"/lib/a")).is_none());
        assert!(files(&note(4096, 8192, most, b"/lib/a")).is_none());
        assert!(files(&note(4096, 8192, most - 1, b"/lib/a")).is_some());
        let longest = vec![b'a'; LONGEST_PATH];
        assert!(files(&note(4096, 8192, 0, &longest)).is_some());
        let longer = vec![b'a'; LONGEST_PATH + 1];
        assert!(files(&note(4096, 8192, 0, &longer)).is_none());
    }
}
