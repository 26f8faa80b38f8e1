//! A part of the writable memory that is no item.

use crate::graph::RootKind;
use std::ops::Range;

/// Memory whose words may hold items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::discovery) struct Area {
    pub(in crate::discovery) range: Range<u64>,
    pub(in crate::discovery) kind: RootKind,
    pub(in crate::discovery) owner: Owner,
}

/// Which thread uses an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::discovery) enum Owner {
    /// All threads, as far as is known.
    Program,
    /// The thread with this index, of those that the image has: its stack or its thread-locals.
    Thread(usize),
    /// A thread that does not exist yet.
    NewThread,
    /// No thread: this part of a stack is not in use.
    Nobody,
}

/// Adds an area, unless it is empty.
pub(super) fn push(areas: &mut Vec<Area>, range: Range<u64>, kind: RootKind, owner: Owner) {
    if range.start < range.end {
        areas.push(Area { range, kind, owner });
    }
}
