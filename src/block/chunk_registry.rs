//! The addresses of all chunks, where blocks are checked: so that a pointer that is no block is
//! reported before anything is read through it.

use super::poison::CHECKED;
use dashmap::DashSet;
use std::num::NonZero;
use std::sync::LazyLock;

/// Addresses of chunks. Not built from `sync`: models check nothing here, and the set outlives
/// their executions, as the process's own allocator frees its chunks at the very end of each.
static CHUNKS: LazyLock<DashSet<usize>> = LazyLock::new(DashSet::new);

/// Registers a new chunk.
pub(super) fn add(chunk: NonZero<usize>) {
    if CHECKED {
        CHUNKS.insert(chunk.get());
    }
}

/// Removes a chunk that is about to be freed.
pub(super) fn remove(chunk: NonZero<usize>) {
    if CHECKED {
        CHUNKS.remove(&chunk.get());
    }
}

/// Returns whether a chunk begins at `address`; only where blocks are checked.
pub(super) fn contains(address: usize) -> bool {
    CHUNKS.contains(&address)
}
