//! Chunks, and which of their blocks are in use.

use super::reader::{Block, Chunk, LibThread, Reader};
use super::threads::roll;
use std::collections::HashMap;

/// A chunk, and which of its blocks are free.
struct Cut {
    chunk: Chunk,
    header: u64,
    /// How many blocks were cut.
    blocks: u64,
    /// For each block whether it is in a list of free ones.
    free: Vec<bool>,
}

/// All chunks by address.
type Chunks = HashMap<u64, Cut>;

/// Reads the heaps in the roll at `heaps` (see `RollLayout`); returns chunks and blocks by address.
pub(super) fn blocks(
    reader: &mut Reader<'_>,
    heaps: u64,
    threads: &[LibThread],
) -> (Vec<Chunk>, Vec<Block>) {
    let of = reader.layout.heap;
    let heaps = roll(reader, heaps, of.link);
    let mut chunks = Chunks::new();
    for &heap in &heaps {
        reader.own(heap, of.size);
        chunks_of(reader, heap, &mut chunks);
    }
    let own: Vec<_> = chunks.values().map(|cut| cut.chunk.address).collect();
    for chunk in own {
        let free = reader.field(chunk, reader.layout.chunk.free);
        mark(reader, free, &mut chunks);
    }
    for &heap in &heaps {
        free_in_heap(reader, heap, &mut chunks);
    }
    for thread in threads {
        free_in_batches(reader, thread.record, &mut chunks);
    }
    let mut chunks: Vec<_> = chunks.into_values().collect();
    chunks.sort_unstable_by_key(|cut| cut.chunk.address);
    let blocks = chunks.iter().flat_map(|cut| {
        let chunk = cut.chunk;
        (0..).zip(&cut.free).map(move |(i, &free)| Block {
            address: chunk.address + cut.header + i * u64::from(chunk.block_size),
            size: chunk.block_size,
            in_use: !free,
        })
    });
    let blocks = blocks.collect();
    (chunks.iter().map(|cut| cut.chunk).collect(), blocks)
}

/// Reads the chunks of a heap.
fn chunks_of(reader: &mut Reader<'_>, heap: u64, chunks: &mut Chunks) {
    let layout = reader.layout;
    let of = layout.chunk;
    let mut at = reader.field(heap, layout.heap.chunks);
    while at != 0 {
        let class = reader.field(at, of.class) as usize;
        let size = layout.block_sizes.get(class).copied().unwrap_or(0);
        let cut = reader.field(at, of.cut);
        let fits = size != 0
            && at.checked_rem(of.size) == Some(0)
            && reader.field(at, of.heap) == heap
            && cut <= (of.size - of.header) / size;
        if !fits {
            return reader.unfit("a chunk of blocks is being made or freed");
        }
        if !reader.is_new(at) || !reader.has_time(cut) {
            return;
        }
        reader.own(at, of.header);
        let chunk = Chunk {
            address: at,
            size: of.size,
            block_size: size as u32,
            heap,
        };
        let free = vec![false; cut as usize];
        let cut = Cut {
            chunk,
            header: of.header,
            blocks: cut,
            free,
        };
        chunks.insert(at, cut);
        at = reader.field(at, of.next);
    }
}

/// Marks the free blocks of a list that begins with `first`; returns whether all were blocks, and
/// were not marked before.
fn mark(reader: &mut Reader<'_>, first: u64, chunks: &mut Chunks) -> bool {
    let next = reader.layout.block.next;
    let mut at = first;
    while at != 0 && !reader.gives_up() {
        if !mark_one(reader, at, chunks) {
            return false;
        }
        at = reader.field(at, next);
    }
    true
}

/// Marks a block as free; returns `false` if there is no such block, or it was marked before.
fn mark_one(reader: &mut Reader<'_>, block: u64, chunks: &mut Chunks) -> bool {
    let size = reader.layout.chunk.size;
    let place = chunks.get_mut(&(block - block % size)).and_then(|cut| {
        let offset = (block % size).checked_sub(cut.header)?;
        let (size, index) = (
            u64::from(cut.chunk.block_size),
            offset / u64::from(cut.chunk.block_size),
        );
        (offset % size == 0 && index < cut.blocks).then(|| &mut cut.free[index as usize])
    });
    match place {
        Some(free) if !*free => {
            *free = true;
            true
        }
        Some(_) => {
            reader.unfit("a free block is in two lists, or in a circle");
            false
        }
        None => {
            reader.unfit("a list of free blocks leads to no block");
            false
        }
    }
}

/// Marks the blocks of a chain of batches.
fn mark_batches(reader: &mut Reader<'_>, first: u64, chunks: &mut Chunks) {
    let next_batch = reader.layout.block.next_batch;
    let mut at = first;
    while at != 0 {
        let next = reader.field(at, next_batch);
        if !mark(reader, at, chunks) {
            return;
        }
        at = next;
    }
}

/// Marks the free blocks that a heap has outside of its chunks' lists.
fn free_in_heap(reader: &mut Reader<'_>, heap: u64, chunks: &mut Chunks) {
    let layout = reader.layout;
    let of = layout.heap;
    for class in 0..layout.block_sizes.len() as u64 {
        let bin = heap.wrapping_add(of.bins + class * layout.bin.size);
        let free = reader.field(bin, layout.bin.free);
        mark(reader, free, chunks);
    }
    let pending = reader.field(heap, of.pending_block);
    mark(reader, pending, chunks);
    let batches = reader.field(heap, of.pending_batch);
    mark_batches(reader, batches, chunks);
    // The low two bits are marks.
    let batches = reader.field(heap, of.remote_frees) & !3;
    mark_batches(reader, batches, chunks);
}

/// Marks the free blocks that a thread gathers for others' heaps.
fn free_in_batches(reader: &mut Reader<'_>, record: u64, chunks: &mut Chunks) {
    let layout = reader.layout;
    let of = layout.batches;
    let heaps = reader.field(record, layout.record.heaps);
    if heaps == 0 {
        return;
    }
    reader.own(heaps, of.first + of.count * of.size);
    for i in 0..of.count {
        let batch = heaps.wrapping_add(of.first + i * of.size);
        let first = reader.field(batch, of.block);
        mark(reader, first, chunks);
    }
}
