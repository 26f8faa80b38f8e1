//! Which pages of a process have contents, so that reserved memory costs nothing.

use crate::image::parts::words;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Without the kernel's own search, mappings of more bytes are taken to be empty: looking at each of
/// their pages takes minutes. Only shadow memory of sanitizers is so large.
const SLOW_LIMIT: u64 = 1 << 40;

/// Finds pages that have contents.
pub(super) struct Pages {
    pagemap: File,
    /// True if the kernel has no `PAGEMAP_SCAN`.
    slow: AtomicBool,
    page_size: u64,
}

impl Pages {
    /// Returns a finder that reads an open `/proc/PID/pagemap`.
    pub(super) fn new(pagemap: File) -> Pages {
        Pages {
            pagemap,
            slow: AtomicBool::new(false),
            page_size: procfs::page_size(),
        }
    }

    /// Adds to `found`, by address, those parts of `range` whose pages are in memory or in swap.
    /// Unchanged pages of files, and shared pages, count only if `files`.
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
                    // Relaxed: nothing else depends on the flag.
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
            let (count, end) = scan_pages(&self.pagemap, (from, range.end), files, &mut regions)?;
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

/// Adds a range, joined with the last one if the two are adjacent.
fn add(found: &mut Vec<Range<u64>>, range: Range<u64>) {
    match found.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => found.push(range),
    }
}

/// A range of pages with the same properties, as the kernel returns it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct PageRegion {
    start: u64,
    end: u64,
    categories: u64,
}

/// The arguments of `PAGEMAP_SCAN`: `struct pm_scan_arg`.
#[repr(C)]
#[derive(Default)]
struct ScanArguments {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

const PAGEMAP_SCAN: u64 = 0xc060_6610;
const PAGE_IS_FILE: u64 = 1 << 2;
const PAGE_IS_PRESENT: u64 = 1 << 3;
const PAGE_IS_SWAPPED: u64 = 1 << 4;
const PAGE_IS_PFNZERO: u64 = 1 << 5;

/// Finds pages with contents from `start` on, by an open `/proc/PID/pagemap`; those of files only if
/// `files`. Returns how many regions there are, and where the search has ended.
///
/// # Errors
///
/// `ENOTTY` before Linux 6.7.
fn scan_pages(
    pagemap: &File,
    (start, end): (u64, u64),
    files: bool,
    regions: &mut [PageRegion],
) -> io::Result<(usize, u64)> {
    let unwanted = if files {
        PAGE_IS_PFNZERO
    } else {
        PAGE_IS_PFNZERO | PAGE_IS_FILE
    };
    let mut arguments = ScanArguments {
        size: size_of::<ScanArguments>() as u64,
        start,
        end,
        vec: regions.as_mut_ptr().expose_provenance() as u64,
        vec_len: regions.len() as u64,
        category_inverted: unwanted,
        category_mask: unwanted,
        category_anyof_mask: PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
        // The kernel ends a region where a property of this mask changes. No page that is found has
        // the property, so adjacent pages are always one region.
        return_mask: PAGE_IS_PFNZERO,
        ..ScanArguments::default()
    };
    // SAFETY: the kernel reads and writes `arguments`, whose size is in `size`, and writes at most
    // `vec_len` regions to `vec`, which are those of `regions`.
    let found = unsafe {
        libc::ioctl(
            pagemap.as_raw_fd(),
            PAGEMAP_SCAN as libc::Ioctl,
            &raw mut arguments,
        )
    };
    let found = usize::try_from(found).map_err(|_| io::Error::last_os_error())?;
    Ok((found, arguments.walk_end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use memmap2::MmapMut;

    /// Maps sixteen pages, of which some were written to.
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
            let found = find(slow, &range, true);
            assert!(found == [range.clone()], "slow: {slow}: {found:?}");
        }
    }
}
