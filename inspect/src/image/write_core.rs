//! Writes an image as a core file, which debuggers and [`ProgramImage`](super::core::ProgramImage) read.

use super::elf::PAGE;
use super::parts::{Mapping, Thread};
use super::program_image::Image;
use super::registers::Machine;
use object::elf::{ET_CORE, NT_ARM_TLS, NT_AUXV, NT_FILE, NT_PRFPREG, NT_PRPSINFO, NT_PRSTATUS};
use object::elf::{NT_X86_XSTATE, NoteType, PF_R, PF_W, PF_X, PT_LOAD, PT_NOTE};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;

/// The sizes of ELF's structures.
const HEADER: u64 = 64;
const SEGMENT: u64 = 56;

/// How much is written at once.
const PIECE: u64 = 1 << 20;

/// A segment that is written: a mapping or a part of it.
struct Part<'a> {
    mapping: &'a Mapping,
    range: Range<u64>,
    /// The file has its bytes.
    contents: bool,
}

/// Writes `image` to `file`, from its start on, as a core file. Code is left to the files that it
/// comes from, but for their headers, as the kernel does; so is shared memory of files.
///
/// # Errors
///
/// Those of writing, and [`io::ErrorKind::Unsupported`] for an image of neither x86-64 nor AArch64.
pub fn write_core(image: &dyn Image, file: &mut (impl Write + Seek)) -> io::Result<()> {
    let machine = machine(image).ok_or(io::ErrorKind::Unsupported)?;
    let parts = parts(image);
    let notes = notes(image, machine);

    // More segments than the header's field can count are counted in a section's header.
    let count = parts.len() as u64 + 1;
    let extended = count >= 0xffff;
    let sections = if extended { HEADER } else { 0 };
    let notes_at = HEADER + sections + count * SEGMENT;
    let mut at = (notes_at + notes.len() as u64).next_multiple_of(PAGE);

    let mut head = Vec::new();
    head.extend([0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    head.extend(ET_CORE.0.to_le_bytes());
    head.extend(machine.elf().to_le_bytes());
    head.extend(1u32.to_le_bytes());
    head.extend(words(&[
        0,
        HEADER + sections,
        if extended { HEADER } else { 0 },
    ]));
    head.extend(0u32.to_le_bytes());
    let short = if extended { 0xffff } else { count as u16 };
    for half in [
        HEADER as u16,
        SEGMENT as u16,
        short,
        64,
        u16::from(extended),
        0,
    ] {
        head.extend(half.to_le_bytes());
    }
    if extended {
        // sh_info has the number of segments.
        head.extend(words(&[0, 0, 0, 0, 0]));
        head.extend(0u32.to_le_bytes());
        head.extend((count as u32).to_le_bytes());
        head.extend(words(&[0, 0]));
    }
    segment(
        &mut head,
        PT_NOTE.0,
        PF_R.0,
        notes_at,
        0,
        notes.len() as u64,
        0,
        4,
    );
    let first = at;
    for part in &parts {
        let len = part.range.end - part.range.start;
        let file_len = if part.contents { len } else { 0 };
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        let mapping = part.mapping;
        let flags = flag(mapping.read, PF_R.0)
            | flag(mapping.write, PF_W.0)
            | flag(mapping.execute, PF_X.0);
        segment(
            &mut head,
            PT_LOAD.0,
            flags,
            at,
            part.range.start,
            file_len,
            len,
            PAGE,
        );
        at += file_len;
    }
    file.write_all(&head)?;
    file.write_all(&notes)?;
    file.seek(SeekFrom::Start(first))?;
    let mut buffer = Vec::new();
    for part in parts.iter().filter(|part| part.contents) {
        let mut from = part.range.start;
        while from < part.range.end {
            let len = PIECE.min(part.range.end - from);
            buffer.clear();
            buffer.resize(len as usize, 0);
            // Memory that has gone since is zero.
            image.read(from, &mut buffer);
            file.write_all(&buffer)?;
            from += len;
        }
    }
    Ok(())
}

/// Returns the machine that the program is for.
fn machine(image: &dyn Image) -> Option<Machine> {
    let program = image.modules().first()?;
    let mut number = [0; 2];
    let read = image.read(program.start + 18, &mut number);
    Machine::from_elf(u16::from_le_bytes(number)).filter(|_| read == 2)
}

/// Returns what is written, by address. Mappings with holes are cut at these.
fn parts(image: &dyn Image) -> Vec<Part<'_>> {
    let present = image.present();
    let mut parts = Vec::new();
    for mapping in image.mappings().iter().filter(|mapping| mapping.read) {
        let mut end = mapping.end;
        if is_file(mapping) && mapping.execute {
            let header = if mapping.offset == 0 { PAGE } else { 0 };
            end = end.min(mapping.start + header);
        } else if is_file(mapping) && mapping.shared {
            end = mapping.start;
        }
        let from = present.partition_point(|range| range.end <= mapping.start);
        let mut at = mapping.start;
        for range in present[from..].iter().take_while(|range| range.start < end) {
            let range = range.start.max(mapping.start)..range.end.min(end);
            parts.push(Part {
                mapping,
                range: at..range.start,
                contents: false,
            });
            at = range.end;
            parts.push(Part {
                mapping,
                range,
                contents: true,
            });
        }
        parts.push(Part {
            mapping,
            range: at..mapping.end,
            contents: false,
        });
    }
    parts.retain(|part| part.range.start < part.range.end);
    parts
}

fn is_file(mapping: &Mapping) -> bool {
    mapping.name.starts_with('/')
}

/// Returns the notes, the process's own after its first thread's, as the kernel has them.
fn notes(image: &dyn Image, machine: Machine) -> Vec<u8> {
    let pid = image.pid().unwrap_or(0);
    let mut threads: Vec<&Thread> = image.threads().iter().collect();
    threads.sort_by_key(|thread| (thread.tid != pid, thread.tid));
    let mut notes = Vec::new();
    for (index, thread) in threads.into_iter().enumerate() {
        let (general, vectors) = thread
            .registers
            .split_at(machine.general().min(thread.registers.len()));
        let mut status = vec![0; 112];
        status[32..36].copy_from_slice(&thread.tid.to_le_bytes());
        status.extend(words(general));
        status.extend(words(&[0]));
        note(&mut notes, "CORE", NT_PRSTATUS, &status);
        if index == 0 {
            let mut info = vec![0; 136];
            info[24..28].copy_from_slice(&pid.to_le_bytes());
            if let Some(name) = &thread.name {
                let len = name.len().min(15);
                info[40..40 + len].copy_from_slice(&name.as_bytes()[..len]);
            }
            note(&mut notes, "CORE", NT_PRPSINFO, &info);
            let program = image.modules().first();
            let entry = program.and_then(|program| {
                Some(image.word(program.start + 24)?.wrapping_add(program.bias))
            });
            note(
                &mut notes,
                "CORE",
                NT_AUXV,
                &words(&[9, entry.unwrap_or(0), 0, 0]),
            );
            note(&mut notes, "CORE", NT_FILE, &files(image));
        }
        match machine {
            Machine::X86_64 => note(&mut notes, "LINUX", NT_X86_XSTATE, &words(vectors)),
            Machine::Aarch64 => {
                note(&mut notes, "CORE", NT_PRFPREG, &words(vectors));
                note(
                    &mut notes,
                    "LINUX",
                    NT_ARM_TLS,
                    &words(&[thread.thread_pointer]),
                );
            }
        }
    }
    notes
}

/// Returns the description of an `NT_FILE` note.
fn files(image: &dyn Image) -> Vec<u8> {
    let files: Vec<_> = image
        .mappings()
        .iter()
        .filter(|mapping| is_file(mapping))
        .collect();
    let mut bytes = words(&[files.len() as u64, PAGE]);
    for file in &files {
        bytes.extend(words(&[file.start, file.end, file.offset / PAGE]));
    }
    for file in &files {
        bytes.extend(file.name.as_bytes());
        bytes.push(0);
    }
    bytes
}

fn note(notes: &mut Vec<u8>, name: &str, kind: NoteType, description: &[u8]) {
    for word in [name.len() as u32 + 1, description.len() as u32, kind.0] {
        notes.extend(word.to_le_bytes());
    }
    for part in [name.as_bytes(), &[0][..]]
        .concat()
        .chunks(4)
        .chain(description.chunks(4))
    {
        notes.extend(part);
        notes.resize(notes.len().next_multiple_of(4), 0);
    }
}

/// Adds a segment's header.
#[expect(
    clippy::too_many_arguments,
    reason = "the fields of the header, in their order"
)]
fn segment(
    head: &mut Vec<u8>,
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    file_len: u64,
    len: u64,
    align: u64,
) {
    head.extend(kind.to_le_bytes());
    head.extend(flags.to_le_bytes());
    head.extend(words(&[offset, address, 0, file_len, len, align]));
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
