//! Which pages of a process have contents, so that reserved memory costs nothing.

use super::sys::{self, PageRegion};
use crate::image::parts::words;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Without the kernel's own search, mappings of more bytes are taken to be empty: looking at each of
/// their pages takes minutes. Only shadow memory of sanitizers is so large.
const SLOW_LIMIT: u64 = 1 << 40;

/// Finds pages that have contents.
pub(super) struct Pages {
    pagemap: File,
    /// The kernel has no `PAGEMAP_SCAN`.
    slow: AtomicBool,
    page_size: u64,
}

impl Pages {
    /// Finds pages by an open `/proc/PID/pagemap`.
    pub(super) fn new(pagemap: File) -> Pages {
        Pages {
            pagemap,
            slow: AtomicBool::new(false),
            page_size: procfs::page_size(),
        }
    }

    /// Adds the ranges in `range` whose pages are in memory or in swap to `found`, by address; those
    /// that are unchanged pages of a file or shared with other processes only if `files`.
    pub(super) fn find(
        &self,
        range: Range<u64>,
        files: bool,
        found: &mut Vec<Range<u64>>,
    ) -> io::Result<()> {
        // Relaxed: the flag only saves a call that fails.
        if !self.slow.load(Ordering::Relaxed) {
            match self.scan(range.clone(), files, found) {
                Err(error) if error.raw_os_error() == Some(libc::ENOTTY) => {
                    // Relaxed: as above.
                    self.slow.store(true, Ordering::Relaxed);
                }
                result => return result,
            }
        }
        if range.end - range.start > SLOW_LIMIT {
            return Ok(());
        }
        self.read(range, files, found)
    }

    /// Asks the kernel, which skips what is not there.
    fn scan(&self, range: Range<u64>, files: bool, found: &mut Vec<Range<u64>>) -> io::Result<()> {
        let mut regions = [PageRegion::default(); 256];
        let mut from = range.start;
        while from < range.end {
            let (count, end) =
                sys::scan_pages(&self.pagemap, (from, range.end), files, &mut regions)?;
            for region in &regions[..count] {
                add(found, region.start..region.end);
            }
            if end <= from {
                break;
            }
            from = end;
        }
        Ok(())
    }

    /// Looks at each page.
    fn read(&self, range: Range<u64>, files: bool, found: &mut Vec<Range<u64>>) -> io::Result<()> {
        const PRESENT: u64 = 1 << 63;
        const SWAPPED: u64 = 1 << 62;
        const FILE: u64 = 1 << 61;
        let mut entries = vec![0; 1 << 16];
        let mut from = range.start;
        while from < range.end {
            let pages = (range.end - from)
                .div_ceil(self.page_size)
                .min(entries.len() as u64 / 8);
            let wanted = &mut entries[..pages as usize * 8];
            let read = self.pagemap.read_at(wanted, from / self.page_size * 8)?;
            if read < 8 {
                break;
            }
            for entry in words(&wanted[..read]) {
                if entry & (PRESENT | SWAPPED) != 0 && (files || entry & FILE == 0) {
                    add(found, from..from + self.page_size);
                }
                from += self.page_size;
            }
        }
        Ok(())
    }
}

/// Adds a range, joined with the last one if it follows it.
fn add(found: &mut Vec<Range<u64>>, range: Range<u64>) {
    match found.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => found.push(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memmap2::MmapMut;

    /// Sixteen pages, of which some were written to.
    fn sample() -> (MmapMut, Range<u64>) {
        let page = procfs::page_size() as usize;
        let mut memory = MmapMut::map_anon(16 * page).unwrap();
        for used in [0, 3, 4, 15] {
            memory[used * page] = 1;
        }
        let start = memory.as_ptr().addr() as u64;
        let range = start..start + memory.len() as u64;
        (memory, range)
    }

    fn find(slow: bool, range: &Range<u64>, files: bool) -> Vec<Range<u64>> {
        let pages = Pages::new(File::open("/proc/self/pagemap").unwrap());
        pages.slow.store(slow, Ordering::Relaxed);
        let mut found = Vec::new();
        pages.find(range.clone(), files, &mut found).unwrap();
        found
    }

    #[test]
    fn only_pages_with_contents_are_found() {
        let (_memory, range) = sample();
        let page = procfs::page_size();
        let at = |from: u64, to: u64| range.start + from * page..range.start + to * page;
        for slow in [false, true] {
            let found = find(slow, &range, false);
            assert_eq!(found, [at(0, 1), at(3, 5), at(15, 16)], "slow: {slow}");
        }
    }

    #[test]
    fn pages_of_files_are_found_if_asked_for() {
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        // SAFETY: nobody writes to a program that runs.
        let map = unsafe { memmap2::MmapOptions::new().len(4096).map(&file) }.unwrap();
        std::hint::black_box(map[0]);
        let range = map.as_ptr().addr() as u64..map.as_ptr().addr() as u64 + 4096;
        for slow in [false, true] {
            assert!(find(slow, &range, false).is_empty(), "slow: {slow}");
            assert_eq!(
                find(slow, &range, true),
                std::slice::from_ref(&range),
                "slow: {slow}"
            );
        }
    }
}
