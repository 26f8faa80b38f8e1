//! Parts of a core file that take no space on the disk, because they are zero.

use super::segments::Load;
use std::fs::File;
use std::ops::Range;

/// Returns the holes within the segments, as ranges of the file in its order. A hole that is not
/// found costs only time.
#[cfg(target_os = "linux")]
pub(super) fn find(file: &File, loads: &[Load]) -> Vec<Range<u64>> {
    use rustix::fs::{SeekFrom, seek};
    // Nobody relies on where the file's cursor is.
    let mut holes = Vec::new();
    for load in loads {
        let (mut at, end) = (load.offset, load.offset + load.file_len);
        while at < end {
            let Some(start) = seek(file, SeekFrom::Hole(at))
                .ok()
                .filter(|&start| start < end)
            else {
                break;
            };
            // After the last data there is none (ENXIO).
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
pub(super) fn find(_: &File, _: &[Load]) -> Vec<Range<u64>> {
    Vec::new()
}
