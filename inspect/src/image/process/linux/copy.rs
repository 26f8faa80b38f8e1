//! Reads memory during the stop, in parts, and keeps the pages that may have references, in buffers
//! whose pages are there already.

use super::filter::{ARENA, Filter, heap_end};
use super::proc::Tid;
use crate::image::elf::PAGE;
use memmap2::{Advice, MmapMut};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Bytes that are read at once: so few that the processor's cache has them until they are looked at.
const PART: usize = 1 << 19;

/// The size of a dry pass's buffer, and of each further one if the process has grown.
const MORE: usize = 1 << 24;

/// A range of memory that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) range: Range<u64>,
    /// An index into [`Copies::buffers`], and where the bytes are there; `None` if they were not kept.
    pub(super) place: Option<(usize, usize)>,
}

/// All memory that was read.
#[derive(Default)]
pub(super) struct Copies {
    pub(super) buffers: Vec<MmapMut>,
    pub(super) runs: Vec<Run>,
    /// How many bytes were read, and how many of them were kept.
    pub(super) read: u64,
    pub(super) kept: u64,
    /// How much of the last buffer is in use.
    used: usize,
    /// How many runs there were when the current call of `read` began: it extends none of these, as
    /// the ranges of two calls may be of two mappings.
    before: usize,
    /// True if bytes are only counted: all are read to the same place.
    dry: bool,
}

impl Copies {
    /// Returns copies that count what is read and kept, and keep nothing.
    pub(super) fn dry() -> Copies {
        Copies {
            dry: true,
            ..Copies::default()
        }
    }

    /// Allocates memory for `bytes` and touches each page of it.
    pub(super) fn prepare(bytes: u64) -> io::Result<Copies> {
        let mut buffer = allocate(usize::try_from(bytes).map_err(io::Error::other)?)?;
        if buffer.advise(Advice::PopulateWrite).is_err() {
            for page in buffer.chunks_mut(PAGE as usize) {
                page[0] = std::hint::black_box(0);
            }
        }
        Ok(Copies {
            buffers: vec![buffer],
            ..Copies::default()
        })
    }

    /// Reads a range. Pages that cannot be read are left out, and those that `filter` does not want
    /// are not kept. Ranges must be read in the order of addresses.
    pub(super) fn read(
        &mut self,
        source: &Source<'_>,
        range: Range<u64>,
        filter: Option<&Filter>,
    ) -> io::Result<()> {
        self.before = self.runs.len();
        let heap_end = filter.map_or(0, |_| source.heap_end(range.start));
        let mut at = range.start;
        while at < range.end {
            let len = (range.end - at).min(PART as u64) as usize;
            let free = self.buffers.last().map_or(0, |last| last.len() - self.used);
            if free < len {
                // A dry pass gets its buffer here. Otherwise the process has grown since.
                self.buffers.push(allocate(MORE)?);
                self.used = 0;
            }
            let buffer = self.buffers.len() - 1;
            let part = self.used..self.used + len;
            let part = &mut self.buffers[buffer][part];
            let read = source.read(at, part)? & !(PAGE as usize - 1);
            if read == 0 {
                at += PAGE;
                continue;
            }
            let wanted = match filter {
                Some(filter) => filter.wanted(at, &part[..read], heap_end),
                None => vec![true; read / PAGE as usize],
            };
            let (mut from, mut kept) = (0, 0);
            for group in wanted.chunk_by(|one, next| one == next) {
                let len = group.len() * PAGE as usize;
                let place = group[0].then_some((buffer, self.used + kept));
                if group[0] {
                    part.copy_within(from..from + len, kept);
                    kept += len;
                }
                let start = at + from as u64;
                let end = start + len as u64;
                match self.runs[self.before..].last_mut() {
                    _ if self.dry => {}
                    Some(last) if last.is_followed_by(start, place) => last.range.end = end,
                    _ => self.runs.push(Run {
                        range: start..end,
                        place,
                    }),
                }
                from += len;
            }
            self.read += read as u64;
            self.kept += kept as u64;
            self.used += if self.dry { 0 } else { kept };
            at += read as u64;
        }
        Ok(())
    }
}

impl Run {
    /// Returns whether memory at `start`, in this place, continues the run.
    fn is_followed_by(&self, start: u64, place: Option<(usize, usize)>) -> bool {
        let len = (self.range.end - self.range.start) as usize;
        let next = self.place.map(|(buffer, offset)| (buffer, offset + len));
        self.range.end == start && next == place
    }
}

fn allocate(bytes: usize) -> io::Result<MmapMut> {
    let buffer = MmapMut::map_anon(bytes.next_multiple_of(PAGE as usize).max(PAGE as usize))?;
    // Large pages make copies faster; without them it works as well.
    let _ = buffer.advise(Advice::HugePage);
    Ok(buffer)
}

/// Where memory is read from.
pub(super) struct Source<'a> {
    pub(super) tid: Tid,
    /// `/proc/PID/mem`, for systems that do not let processes read others' memory directly.
    pub(super) mem: &'a File,
}

impl Source<'_> {
    /// Returns the end of the heap of malloc that an address may be in; 0 if there is none. A range may
    /// begin anywhere in a heap: pages that were never used have no contents.
    fn heap_end(&self, address: u64) -> u64 {
        let start = address / ARENA * ARENA;
        let mut head = [0; 32];
        let read = self.read(start, &mut head).unwrap_or(0);
        heap_end(start, &head[..read])
    }

    /// Fills `buffer`; returns how many bytes came before a page that cannot be read.
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match read_memory(self.tid, address, buffer) {
            Err(error) => match error.raw_os_error() {
                Some(libc::EFAULT) => Ok(0),
                // The kernel lacks the call, or a container forbids it.
                Some(libc::ENOSYS | libc::EPERM) => Ok(read_file(self.mem, address, buffer)),
                _ => Err(error),
            },
            read => read,
        }
    }
}

/// Reads another process's memory into `buffer`; returns how many bytes were read before the first
/// page that cannot be read.
fn read_memory(tid: Tid, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let range = |base, iov_len| libc::iovec {
        iov_base: std::ptr::with_exposed_provenance_mut(base),
        iov_len,
    };
    let local = range(buffer.as_mut_ptr().expose_provenance(), buffer.len());
    let remote = range(address as usize, buffer.len());
    // SAFETY: the kernel writes at most `iov_len` bytes to the local range, which is `buffer`; the
    // remote one is of another process, and is checked by the kernel.
    let read = unsafe { libc::process_vm_readv(tid as libc::pid_t, &local, 1, &remote, 1, 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Reads memory by an open `/proc/PID/mem`, as far as it is there.
pub(super) fn read_file(mem: &File, address: u64, buffer: &mut [u8]) -> usize {
    let mut read = 0;
    while read < buffer.len() {
        match mem.read_at(&mut buffer[read..], address + read as u64) {
            Ok(0) | Err(_) => break,
            Ok(more) => read += more,
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = PAGE as usize;

    fn own_memory() -> File {
        File::open("/proc/self/mem").unwrap()
    }

    /// Maps eight pages, each filled with its number plus 1; those in `holes` cannot be read.
    fn sample(holes: &[usize]) -> (MmapMut, u64) {
        let mut memory = MmapMut::map_anon(8 * SIZE).unwrap();
        for (number, page) in memory.chunks_mut(SIZE).enumerate() {
            page.fill(number as u8 + 1);
        }
        let start = memory.as_ptr().addr() as u64;
        for hole in holes {
            // SAFETY: the pages belong to `memory`, whose bytes there nobody uses any more.
            let result = unsafe {
                let page = memory.as_mut_ptr().add(hole * SIZE);
                libc::mprotect(page.cast(), SIZE, libc::PROT_NONE)
            };
            assert_eq!(result, 0);
        }
        (memory, start)
    }

    /// Checks that each of the runs has the contents of `sample`; returns the pages.
    fn pages(copies: &Copies, start: u64) -> Vec<usize> {
        let mut pages = Vec::new();
        for run in &copies.runs {
            let len = (run.range.end - run.range.start) as usize;
            let (buffer, offset) = run.place.expect("all is kept");
            let bytes = &copies.buffers[buffer][offset..offset + len];
            let first = (run.range.start - start) as usize / SIZE;
            for (page, bytes) in (first..).zip(bytes.chunks(SIZE)) {
                assert!(
                    bytes.iter().all(|&byte| byte == page as u8 + 1),
                    "page {page}"
                );
                pages.push(page);
            }
        }
        pages
    }

    fn read(prepared: u64, start: u64, parts: &[Range<u64>]) -> Copies {
        let mem = own_memory();
        let source = Source {
            tid: std::process::id(),
            mem: &mem,
        };
        let mut copies = Copies::prepare(prepared).unwrap();
        for part in parts {
            let range = start + part.start * PAGE..start + part.end * PAGE;
            copies.read(&source, range, None).unwrap();
        }
        copies
    }

    #[test]
    fn pages_that_cannot_be_read_are_left_out() {
        for holes in [
            &[][..],
            &[0],
            &[3],
            &[7],
            &[0, 1, 4, 6],
            &[0, 1, 2, 3, 4, 5, 6, 7],
        ] {
            let (_memory, start) = sample(holes);
            let copies = read(8 * PAGE, start, &[0..3, 3..5, 5..8]);
            let expected: Vec<_> = (0..8).filter(|page| !holes.contains(page)).collect();
            assert_eq!(pages(&copies, start), expected);
            assert_eq!(copies.read, expected.len() as u64 * PAGE);
        }
    }

    #[test]
    fn a_process_may_have_grown_since_the_preparation() {
        let (_memory, start) = sample(&[]);
        let copies = read(3 * PAGE, start, &[0..5, 5..8]);
        assert_eq!(copies.buffers.len(), 2);
        assert_eq!(pages(&copies, start), (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn memory_is_read_by_its_file_if_the_call_is_not_permitted() {
        let (memory, start) = sample(&[]);
        let mut buffer = vec![0; 3 * SIZE];
        let read = read_file(&own_memory(), start + PAGE, &mut buffer);
        assert_eq!((read, &buffer[..]), (3 * SIZE, &memory[SIZE..4 * SIZE]));
        // Nothing is ever mapped at the lowest addresses.
        assert_eq!(read_file(&own_memory(), 8, &mut buffer), 0);
    }
}
