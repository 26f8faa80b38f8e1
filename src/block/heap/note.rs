//! The entries of the [note](crate::note) for heaps.

use super::{AllChunks, Bin, Heap, PendingBlocks};
use crate::layout::{Entry, entries};
use std::mem::offset_of;

pub(crate) const NOTE: &[Entry] = entries! {
    heap {
        size = size_of::<Heap>(),
        link = offset_of!(Heap, link),
        owner = offset_of!(Heap, owner),
        bins = offset_of!(Heap, bins),
        chunks = offset_of!(Heap, chunks) + AllChunks::FIRST,
        pending_block = offset_of!(Heap, pending) + PendingBlocks::BLOCK,
        pending_batch = offset_of!(Heap, pending) + PendingBlocks::BATCH,
        // A `CachePadded` begins with its value.
        remote_frees = offset_of!(Heap, remote_frees),
    }
    bin {
        size = size_of::<Bin>(),
        free = offset_of!(Bin, free),
    }
};
