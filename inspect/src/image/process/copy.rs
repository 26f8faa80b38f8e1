//! Copies memory during the stop, into buffers whose pages are there already.

use super::sys::{self, Tid};
use crate::image::elf::PAGE;
use memmap2::{Advice, MmapMut};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// How many ranges a call of the kernel takes: `IOV_MAX`.
const BATCH: usize = 1024;

/// Memory that was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) range: Range<u64>,
    /// An index into [`Copies::buffers`].
    pub(super) buffer: usize,
    /// Where the bytes are in the buffer.
    pub(super) offset: usize,
}

/// All memory that was copied.
pub(super) struct Copies {
    pub(super) buffers: Vec<MmapMut>,
    pub(super) runs: Vec<Run>,
    /// How much of the last buffer is in use.
    used: usize,
}

impl Copies {
    /// Allocates memory for `bytes` and touches each page of it.
    pub(super) fn prepare(bytes: u64) -> io::Result<Copies> {
        let mut buffer = allocate(bytes)?;
        let populated = cfg!(target_os = "linux") && buffer.advise(Advice::PopulateWrite).is_ok();
        if !populated {
            for page in buffer.chunks_mut(PAGE as usize) {
                page[0] = std::hint::black_box(0);
            }
        }
        Ok(Copies {
            buffers: vec![buffer],
            runs: Vec::new(),
            used: 0,
        })
    }

    /// Gives each of the ranges a place. Ranges are added by address.
    pub(super) fn plan(&mut self, ranges: &[Range<u64>]) -> io::Result<()> {
        for range in ranges {
            let mut range = range.clone();
            while range.start < range.end {
                let free = self
                    .buffers
                    .last()
                    .map_or(0, |buffer| buffer.len() - self.used);
                if free == 0 {
                    // The process has grown since the preparation: the stop is a little longer.
                    let bytes = (range.end - range.start).max(1 << 24);
                    self.buffers.push(allocate(bytes)?);
                    self.used = 0;
                    continue;
                }
                let end = range.end.min(range.start + free as u64);
                self.runs.push(Run {
                    range: range.start..end,
                    buffer: self.buffers.len() - 1,
                    offset: self.used,
                });
                self.used += (end - range.start) as usize;
                range.start = end;
            }
        }
        Ok(())
    }

    /// Copies what was planned. Pages that cannot be read are left out; returns how many bytes were
    /// copied.
    pub(super) fn copy(&mut self, source: &Source<'_>) -> io::Result<u64> {
        let mut copied = 0;
        let mut done = Vec::with_capacity(self.runs.len());
        let mut runs = std::mem::take(&mut self.runs).into_iter().peekable();
        while let Some(first) = runs.next() {
            // As many as lie in one buffer one after the other, which they do but at its end.
            let mut batch = vec![first];
            while let Some(next) =
                runs.next_if(|next| next.buffer == batch[0].buffer && batch.len() < BATCH)
            {
                batch.push(next);
            }
            let buffer = &mut self.buffers[batch[0].buffer];
            copied += copy_batch(source, &batch, buffer, &mut done)?;
        }
        self.runs = done;
        Ok(copied)
    }

    /// Gives back what was prepared but not needed.
    pub(super) fn trim(&mut self) {
        let unused = self.used.next_multiple_of(PAGE as usize);
        let Some(buffer) = self.buffers.last() else {
            return;
        };
        let Some(len) = buffer.len().checked_sub(unused).filter(|&len| len > 0) else {
            return;
        };
        // SAFETY: the pages from `unused` on hold nothing: no run is there. After the advice they
        // read as zeros.
        let result = unsafe {
            buffer.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, unused, len)
        };
        // It only saves memory.
        let _ = result;
    }
}

fn allocate(bytes: u64) -> io::Result<MmapMut> {
    let bytes = usize::try_from(bytes.max(PAGE)).map_err(io::Error::other)?;
    let buffer = MmapMut::map_anon(bytes)?;
    // Large pages make copies faster; without them it works as well.
    let _ = buffer.advise(Advice::HugePage);
    Ok(buffer)
}

/// Where memory is read from.
pub(super) struct Source<'a> {
    pub(super) tid: Tid,
    /// `/proc/PID/mem`, for systems that do not let processes read others' memory directly.
    pub(super) mem: &'a File,
    /// How many bytes are read at once, at most. The kernel has a limit of its own, which is lower.
    pub(super) at_once: usize,
}

impl Source<'_> {
    /// Reads ranges one after the other; returns how many bytes came before one that cannot be read.
    fn read(&self, ranges: &[libc::iovec], buffer: &mut [u8]) -> io::Result<usize> {
        let len = buffer.len().min(self.at_once);
        let buffer = &mut buffer[..len];
        match sys::read_memory(self.tid, ranges, buffer) {
            Err(error) => match error.raw_os_error() {
                Some(libc::EFAULT) => Ok(0),
                // A kernel or a container that does not permit it.
                Some(libc::ENOSYS | libc::EPERM) => Ok(self.read_file(ranges, buffer)),
                _ => Err(error),
            },
            read => read,
        }
    }

    fn read_file(&self, ranges: &[libc::iovec], buffer: &mut [u8]) -> usize {
        let mut done = 0;
        for range in ranges {
            let end = buffer.len().min(done + range.iov_len);
            let part = &mut buffer[done..end];
            let mut read = 0;
            while read < part.len() {
                match self.mem.read_at(
                    &mut part[read..],
                    range.iov_base.addr() as u64 + read as u64,
                ) {
                    Ok(0) | Err(_) => return done + read,
                    Ok(more) => read += more,
                }
            }
            done += read;
        }
        done
    }
}

/// Copies runs that lie one after the other in `buffer`; adds what was copied to `done`.
fn copy_batch(
    source: &Source<'_>,
    batch: &[Run],
    buffer: &mut [u8],
    done: &mut Vec<Run>,
) -> io::Result<u64> {
    let mut copied = 0;
    let mut left = batch.to_vec();
    left.reverse();
    while let Some(first) = left.last() {
        let from = first.offset;
        let ranges: Vec<_> = left
            .iter()
            .rev()
            .map(|run| sys::remote(run.range.start, (run.range.end - run.range.start) as usize))
            .collect();
        let len: usize = ranges.iter().map(|range| range.iov_len).sum();
        let mut read = source.read(&ranges, &mut buffer[from..from + len])?;
        // All runs that were read whole, then the part of one.
        let mut advanced = false;
        while let Some(run) = left.pop() {
            let len = (run.range.end - run.range.start) as usize;
            if len <= read {
                read -= len;
                copied += len as u64;
                advanced = true;
                done.push(run);
                continue;
            }
            let read = read & !(PAGE as usize - 1);
            let middle = run.range.start + read as u64;
            // The kernel copies at most 2 GiB at a time: a page cannot be read only if reading stops
            // at it twice.
            let skipped = if advanced || read > 0 {
                middle
            } else {
                (middle + PAGE).min(run.range.end)
            };
            if read > 0 {
                copied += read as u64;
                done.push(Run {
                    range: run.range.start..middle,
                    ..run
                });
            }
            if skipped < run.range.end {
                let offset = run.offset + (skipped - run.range.start) as usize;
                left.push(Run {
                    range: skipped..run.range.end,
                    offset,
                    ..run
                });
            }
            break;
        }
    }
    Ok(copied)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = PAGE as usize;

    fn own_memory() -> File {
        File::open("/proc/self/mem").unwrap()
    }

    /// Eight pages, each filled with its number; the pages in `holes` cannot be read.
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
            let bytes = &copies.buffers[run.buffer][run.offset..run.offset + len];
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
            let mem = own_memory();
            let source = Source {
                tid: std::process::id(),
                mem: &mem,
                at_once: usize::MAX,
            };
            let page = |number: usize| start + (number * SIZE) as u64;
            let mut copies = Copies::prepare(8 * PAGE).unwrap();
            copies
                .plan(&[page(0)..page(3), page(3)..page(5), page(5)..page(8)])
                .unwrap();
            let bytes = copies.copy(&source).unwrap();
            let expected: Vec<_> = (0..8).filter(|page| !holes.contains(page)).collect();
            assert_eq!(pages(&copies, start), expected);
            assert_eq!(bytes, expected.len() as u64 * PAGE);
        }
    }

    #[test]
    fn no_page_is_lost_where_the_kernel_stops_for_its_limit() {
        let mem = own_memory();
        for holes in [&[][..], &[3], &[2, 6]] {
            let (_memory, start) = sample(holes);
            for at_once in [SIZE / 2, SIZE, 2 * SIZE, 3 * SIZE, 5 * SIZE + 1] {
                let source = Source {
                    tid: std::process::id(),
                    mem: &mem,
                    at_once,
                };
                let mut copies = Copies::prepare(8 * PAGE).unwrap();
                copies
                    .plan(&[start..start + PAGE, start + PAGE..start + 8 * PAGE])
                    .unwrap();
                copies.copy(&source).unwrap();
                let mut expected: Vec<_> = (0..8).filter(|page| !holes.contains(page)).collect();
                if at_once < SIZE {
                    expected.clear();
                }
                assert_eq!(pages(&copies, start), expected, "{at_once} at once");
            }
        }
    }

    #[test]
    fn a_process_may_have_grown_since_the_preparation() {
        let (_memory, start) = sample(&[]);
        let mem = own_memory();
        let source = Source {
            tid: std::process::id(),
            mem: &mem,
            at_once: usize::MAX,
        };
        let mut copies = Copies::prepare(3 * PAGE).unwrap();
        copies
            .plan(&[start..start + 5 * PAGE, start + 5 * PAGE..start + 8 * PAGE])
            .unwrap();
        copies.copy(&source).unwrap();
        copies.trim();
        assert_eq!(copies.buffers.len(), 2);
        assert_eq!(pages(&copies, start), (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn memory_is_read_by_its_file_if_the_call_is_not_permitted() {
        let (memory, start) = sample(&[]);
        let mem = own_memory();
        let source = Source {
            tid: std::process::id(),
            mem: &mem,
            at_once: usize::MAX,
        };
        // Nothing is ever mapped at the lowest addresses.
        let ranges = [
            sys::remote(start, SIZE),
            sys::remote(start + 2 * PAGE, 3 * SIZE),
            sys::remote(8, SIZE),
            sys::remote(start, SIZE),
        ];
        let mut buffer = vec![0; 6 * SIZE];
        assert_eq!(source.read_file(&ranges, &mut buffer), 4 * SIZE);
        assert_eq!(buffer[..SIZE], memory[..SIZE]);
        assert_eq!(buffer[SIZE..4 * SIZE], memory[2 * SIZE..5 * SIZE]);
    }
}
