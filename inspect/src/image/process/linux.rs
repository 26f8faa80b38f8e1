//! Processes of Linux on x86-64 and AArch64: the steps of taking an image are to prepare, to stop, to
//! copy, to let go, and then all that needs no stop.

mod copy;
mod filter;
mod pages;
mod proc;
mod stop;

use crate::error::Error;
use crate::image::elf;
use crate::image::parts::{Mapping, Parts, Thread};
use crate::image::program_image::{Backing, Bytes, Later, ProgramImage, Regions, Stopped};
use crate::image::symbols::Symbols;
use copy::{Copies, Source, read_file};
use filter::{ARENA, Filter};
use memmap2::Mmap;
use pages::Pages;
use proc::Tid;
use procfs::process::Process;
use std::collections::HashMap;
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;
use std::time::Duration;
use stop::StoppedProcess;

/// Private mappings of files that cannot be opened are copied whole up to this size.
const WHOLE: u64 = 64 << 20;

/// The most threads that read memory.
const THREADS: usize = 4;

/// How many times to try to stop a process of which a thread waits in the kernel.
const ATTEMPTS: usize = 3;

/// How long the process goes on before the next attempt.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(100);

/// The files that are mapped privately, by inode and name.
type Files = HashMap<(u64, String), MappedFile>;

enum MappedFile {
    /// A program or a library.
    Elf(Arc<Mmap>),
    /// A file that is mapped as data, or a device.
    Other,
    /// The file cannot be opened: it was deleted, or the inspector has no path to it.
    Unknown,
}

/// A mapping and its inode, which is 0 if it has no file.
type Mapped = (Mapping, u64);

/// The data that are read during the stop.
struct Moment {
    mappings: Vec<Mapped>,
    threads: Vec<Thread>,
    stopped: Stopped,
}

/// The data that are prepared before the stop.
struct Prepared {
    pid: u32,
    process: Process,
    pages: Pages,
    mem: File,
    program_id: Option<[u8; 16]>,
    files: Files,
}

/// Does what [`ProgramImage::take`] says.
pub(super) fn take(pid: u32) -> Result<ProgramImage, Error> {
    let mut prepared = Prepared::new(pid)?;
    let program = proc::program(&prepared.process);
    let before = proc::mappings(pid, &prepared.process)?;
    for (mapping, inode) in &before {
        prepared.open_file(mapping, *inode);
    }
    // A first pass, without a stop, counts the bytes to keep: their contents decide.
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(THREADS));
    let mut dry: Vec<Copies> = (0..threads).map(|_| Copies::dry()).collect();
    let tid = prepared.process.pid as Tid;
    prepared.read(&before, tid, &mut dry)?;
    // The process may grow until it stops.
    let prepare = |dry: &Copies| Copies::prepare(dry.kept + dry.kept / 32 + (1 << 20));
    let copies: Result<Vec<Copies>, _> = dry.iter().map(prepare).collect();
    let mut copies = copies.map_err(|error| Error::io("allocate memory".to_owned(), error))?;

    let Moment {
        mappings,
        mut threads,
        stopped,
    } = prepared.moment(&mut copies)?;

    for (mapping, inode) in &mappings {
        prepared.open_file(mapping, *inode);
    }
    let mem = prepared.mem;
    let later: Later = Box::new(move |address, buffer| read_file(&mem, address, buffer));
    let regions = regions(copies, &mappings, &prepared.files, later);
    for thread in &mut threads {
        thread.name = proc::stat(thread.tid).map(|stat| stat.comm);
    }
    let (mappings, inodes): (Vec<Mapping>, Vec<u64>) = mappings.into_iter().unzip();
    let modules = elf::modules(&regions, &mappings, program.as_deref());
    let symbols = Symbols::new(&modules, |module| {
        let at = mappings.binary_search_by_key(&module.start, |mapping| mapping.start);
        let at = at.ok()?;
        match prepared
            .files
            .get(&(inodes[at], mappings[at].name.clone()))?
        {
            MappedFile::Elf(file) => Some(Arc::clone(file)),
            MappedFile::Other | MappedFile::Unknown => None,
        }
    });
    Ok(ProgramImage {
        parts: Parts {
            pid: Some(pid),
            program_id: prepared.program_id,
            mappings,
            threads,
            modules,
        },
        regions,
        symbols,
        stopped,
    })
}

impl Prepared {
    fn new(pid: u32) -> Result<Self, Error> {
        let process = proc::open(pid)?;
        let open = |name: &str| {
            let file = process.open_relative(name);
            file.map_err(|error| proc::failure(pid, name, error))
        };
        let mut start = [0; 8];
        if open("exe")?.read_at(&mut start, 0).is_ok() {
            elf::check_program(&start, format!("process {pid}"))?;
        }
        Ok(Self {
            pid,
            pages: Pages::new(open("pagemap")?),
            mem: open("mem")?,
            program_id: proc::program_id(&process),
            files: Files::new(),
            process,
        })
    }

    /// Opens the file of a mapping, if it is not open yet.
    fn open_file(&mut self, mapping: &Mapping, inode: u64) {
        let key = (inode, mapping.name.clone());
        if inode == 0 || mapping.shared || self.files.contains_key(&key) {
            return;
        }
        let same = |file: &File| file.metadata().is_ok_and(|file| file.ino() == inode);
        // Opens only plain files: opening a device may have any effect.
        let plain = |path: &str| {
            let path = format!("/proc/{}/{path}", self.process.pid);
            fs::metadata(path).map(|metadata| metadata.is_file())
        };
        let open = |path: &str| match plain(path) {
            Ok(true) => self.process.open_relative(path).ok(),
            _ => None,
        };
        let there = format!("root{}", mapping.name);
        // The first path needs privileges; at the second there may be another file by now; the
        // third is that of the program alone.
        let file = open(&format!("map_files/{:x}-{:x}", mapping.start, mapping.end))
            .or_else(|| open(&there).filter(same))
            .or_else(|| open("exe").filter(same));
        let device = file.is_none() && plain(&there).is_ok_and(|plain| !plain);
        let file = match file {
            Some(file) if is_elf(&file) => {
                elf::map_file(&file).map_or(MappedFile::Unknown, MappedFile::Elf)
            }
            Some(_) => MappedFile::Other,
            None if device => MappedFile::Other,
            None => MappedFile::Unknown,
        };
        self.files.insert(key, file);
    }

    /// Returns the ranges of a mapping that must be copied during the stop.
    fn to_copy(&self, mapping: &Mapping, inode: u64) -> Result<Vec<Range<u64>>, Error> {
        let mut ranges = Vec::new();
        let range = mapping.start..mapping.end;
        let files = match policy(mapping, inode, &self.files) {
            Policy::Skip | Policy::Later => return Ok(ranges),
            Policy::Whole => {
                ranges.push(range);
                return Ok(ranges);
            }
            Policy::Zero | Policy::File(_) | Policy::Written => false,
            Policy::Shared => true,
        };
        let found = self.pages.find(range, files, &mut ranges);
        found.map_err(|error| proc::unreadable(self.pid, "pagemap", error))?;
        Ok(ranges)
    }

    /// Copies the mappings of the process, by way of its thread `tid`, to `copies`; a thread of the
    /// inspector fills each. Of anonymous memory, keeps only what may refer to other memory.
    fn read(&self, mappings: &[Mapped], tid: Tid, copies: &mut [Copies]) -> Result<(), Error> {
        let filter = Filter::new(mappings.iter().map(|(mapping, _)| mapping));
        // Static variables that are zero at first are in a mapping right after the file's.
        let mut end_of_file = 0;
        let mut ranges = Vec::new();
        for (mapping, inode) in mappings {
            let anonymous = *inode == 0 && mapping.start != end_of_file;
            if *inode != 0 {
                end_of_file = mapping.end;
            }
            for mut range in self.to_copy(mapping, *inode)? {
                // Cuts the range, so that a range begins wherever a heap of malloc may begin.
                while range.start < range.end {
                    let end = range.end.min((range.start + 1).next_multiple_of(ARENA));
                    ranges.push((range.start..end, anonymous));
                    range.start = end;
                }
            }
        }
        let bytes: u64 = ranges
            .iter()
            .map(|(range, _)| range.end - range.start)
            .sum();
        let share = bytes / copies.len() as u64 + 1;
        let mut before = 0;
        let parts = ranges.chunk_by(|(range, _), _| {
            let first = before / share;
            before += range.end - range.start;
            first == before / share
        });
        let source = Source {
            tid,
            mem: &self.mem,
        };
        let read = |(part, copies): (&[(Range<u64>, bool)], &mut Copies)| {
            part.iter().try_for_each(|(range, filtered)| {
                copies.read(&source, range.clone(), Some(&filter).filter(|_| *filtered))
            })
        };
        let pid = self.pid;
        let failed = |error: std::io::Error| match error.raw_os_error() {
            Some(libc::ESRCH) => Error::Died(pid),
            _ => Error::io(format!("copy the memory of process {pid}"), error),
        };
        std::thread::scope(|scope| {
            let parts = parts.zip(copies);
            let threads: Vec<_> = parts.map(|part| scope.spawn(|| read(part))).collect();
            let mut results = threads.into_iter().map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            results.try_for_each(|result| result.map_err(failed))
        })
    }

    /// Stops the process, copies it and lets it go. One of its threads may wait in the kernel
    /// because the machine is busy: then this tries again, after the process has gone on for a
    /// while.
    fn moment(&self, copies: &mut [Copies]) -> Result<Moment, Error> {
        let mut found = self.attempt(copies);
        for _ in 1..ATTEMPTS {
            if !matches!(found, Err(Error::WaitsInKernel { .. })) {
                break;
            }
            std::thread::sleep(BETWEEN_ATTEMPTS);
            match self.attempt(copies) {
                // The thread of the attempt before has ended, but the kernel has not let the
                // process go yet.
                Err(Error::Traced { tracer, .. }) if tracer == std::process::id() => {}
                next => found = next,
            }
        }
        found
    }

    /// Stops the process by a new thread: when the new thread ends, for whatever reason, the kernel
    /// lets the process go.
    fn attempt(&self, copies: &mut [Copies]) -> Result<Moment, Error> {
        std::thread::scope(|scope| {
            let stop = std::thread::Builder::new()
                .name("stop".to_owned())
                .spawn_scoped(scope, || self.stop(copies))
                .map_err(|error| Error::io("start a thread", error))?;
            stop.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Stops the process, copies it and lets it go.
    fn stop(&self, copies: &mut [Copies]) -> Result<Moment, Error> {
        let pid = self.pid;
        let process = StoppedProcess::stop(pid)?;
        if proc::program_id(&self.process).is_some_and(|now| Some(now) != self.program_id) {
            return Err(Error::Replaced(pid));
        }
        let mappings = proc::mappings(pid, &self.process)?;
        self.read(&mappings, process.representative(), copies)?;
        let bytes: u64 = copies.iter().map(|copies| copies.read).sum();
        let threads = process.threads();
        let (duration, count) = process.resume();
        if threads.is_empty() || bytes == 0 {
            return Err(Error::Died(pid));
        }
        let stopped = Stopped {
            duration,
            threads: count,
            bytes,
            kept: copies.iter().map(|copies| copies.kept).sum(),
        };
        Ok(Moment {
            mappings,
            threads,
            stopped,
        })
    }
}

/// The treatment of a mapping's pages. Unless it is `Skip`, private written pages are copied.
enum Policy {
    /// The mapping cannot be read, so nothing is copied.
    Skip,
    /// Pages that were not copied are zero.
    Zero,
    /// Pages that were not copied are as in the file.
    File(Arc<Mmap>),
    /// Pages that exist are copied, others read later: shared memory, or more than `WHOLE` bytes.
    Shared,
    /// Pages that differ from the file are copied, others read later.
    Written,
    /// All pages are copied.
    Whole,
    /// All pages are read later: those of files that are mapped shared, and of the vDSO.
    Later,
}

fn policy(mapping: &Mapping, inode: u64, files: &Files) -> Policy {
    let name = mapping.name.as_str();
    if !mapping.read || matches!(name, "[vvar]" | "[vvar_vclock]" | "[vsyscall]") {
        return Policy::Skip;
    }
    if name == "[vdso]" {
        return Policy::Later;
    }
    if mapping.shared {
        let anonymous = ["/dev/zero", "/memfd:", "/dev/shm/", "/SYSV"];
        let anonymous = anonymous.iter().any(|start| name.starts_with(start));
        return if anonymous || inode == 0 {
            Policy::Shared
        } else {
            Policy::Later
        };
    }
    if inode == 0 {
        return Policy::Zero;
    }
    match files.get(&(inode, mapping.name.clone())) {
        Some(MappedFile::Elf(file)) => Policy::File(Arc::clone(file)),
        Some(MappedFile::Other) => Policy::Written,
        // Anonymous huge pages, too, have a name and an inode.
        _ if name.starts_with("/anon_hugepage") => Policy::Zero,
        _ if mapping.end - mapping.start <= WHOLE => Policy::Whole,
        _ => Policy::Shared,
    }
}

/// Puts together what was copied, what files have, and what can be read later.
fn regions(copies: Vec<Copies>, mappings: &[Mapped], files: &Files, later: Later) -> Regions {
    let mut regions = Regions::new(Some(later));
    let mut mapped: HashMap<*const Mmap, u32> = HashMap::new();
    let mut runs = Vec::new();
    for copies in copies {
        let buffers = copies.buffers.into_iter();
        let buffers: Vec<u32> = buffers
            .map(|buffer| regions.add_source(Arc::new(buffer) as Bytes))
            .collect();
        runs.extend(copies.runs.into_iter().map(|run| {
            let place = run.place.map(|(buffer, offset)| (buffers[buffer], offset));
            (run.range, place)
        }));
    }
    let mut runs = runs.into_iter().peekable();
    for (mapping, inode) in mappings {
        let file = match policy(mapping, *inode, files) {
            Policy::Skip => continue,
            Policy::Zero => None,
            Policy::Whole | Policy::Shared | Policy::Written | Policy::Later => Some(None),
            Policy::File(file) => Some(Some(
                *mapped
                    .entry(Arc::as_ptr(&file))
                    .or_insert_with(|| regions.add_source(file as Bytes)),
            )),
        };
        let between = |start: u64| match file {
            None => Backing::Zero,
            Some(None) => Backing::Later,
            Some(Some(source)) => {
                let offset = start - mapping.start + mapping.offset;
                Backing::Bytes {
                    source,
                    offset: usize::try_from(offset).unwrap_or(usize::MAX),
                }
            }
        };
        let mut at = mapping.start;
        while let Some((range, place)) = runs.next_if(|(range, _)| range.start < mapping.end) {
            regions.push(at..range.start, between(at));
            at = range.end;
            let backing = place.map(|(source, offset)| Backing::Bytes { source, offset });
            regions.push(range, backing.unwrap_or(Backing::Data));
        }
        regions.push(at..mapping.end, between(at));
    }
    regions
}

/// Returns whether a plain file is a program or a library.
fn is_elf(file: &File) -> bool {
    let mut start = [0; 4];
    file.read_exact_at(&mut start, 0).is_ok() && elf::is_elf(&start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_that_becomes_another_program_before_it_stops_is_named() {
        let mut child = Command::new("sh");
        child
            .args(["-c", "echo; read go; exec sleep 1000"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut [0]).unwrap();
        let pid = child.id();
        let prepared = Prepared::new(pid).unwrap();
        let take = || prepared.moment(&mut [Copies::prepare(1 << 20).unwrap()]);
        let before = take();
        assert!(before.is_ok(), "{:?}", before.err());
        drop(child.stdin.take());
        let name = || fs::read_to_string(format!("/proc/{pid}/comm"));
        while name().unwrap() != "sleep\n" {
            std::thread::yield_now();
        }
        assert!(matches!(take(), Err(Error::Replaced(_))));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
