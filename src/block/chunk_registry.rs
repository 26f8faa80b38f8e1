//! The addresses of all chunks, if blocks are checked: a pointer that is no block is reported
//! before anything is read through it.

use super::chunk::CHUNK_BYTES;
use super::poison::CHECKED;
use crate::sync::Table;
use std::num::NonZero;

/// Addresses of chunks, in several tables, as every free looks one up. The tables of std even in
/// models: there is nothing to check here, and they must outlive a model's executions, at the very
/// end of which the process-wide allocator frees its chunks.
static CHUNKS: [Table<usize, ()>; 16] = [const { Table::new() }; 16];

fn table(chunk: usize) -> &'static Table<usize, ()> {
    &CHUNKS[chunk / CHUNK_BYTES % CHUNKS.len()]
}

/// Registers a new chunk.
pub(super) fn add(chunk: NonZero<usize>) {
    if CHECKED {
        table(chunk.get()).insert(chunk.get(), ());
    }
}

/// Removes a chunk that is about to be freed.
pub(super) fn remove(chunk: NonZero<usize>) {
    if CHECKED {
        table(chunk.get()).remove(&chunk.get());
    }
}

/// Returns whether a chunk begins at `address`. Only called if blocks are checked.
pub(super) fn contains(address: usize) -> bool {
    table(address).contains(&address)
}
