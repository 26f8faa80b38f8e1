//! Two threads that compete for one abandoned heap.

use super::model::Model;
use super::probe::spawn;
use releasepool::BlockAllocator;
use std::alloc::Layout;

pub const MODELS: &[Model] = &[
    Model::new(
        "memory_two_adopt",
        "two threads want the heap of a thread that has ended: one adopts it",
        &["1 heaps", "2 heaps"],
        two_adopt,
    )
    // Threads enter the registry, one after the other.
    .bounded(3),
    Model::new(
        "memory_trim_adopt",
        "an abandoned heap is trimmed while another thread adopts it",
        &["1 heaps", "2 heaps"],
        trim_adopt,
    )
    // Threads enter the registry, one after the other.
    .bounded(3),
];

/// Allocates a block on this thread, writes to it, and frees it.
fn use_block(blocks: &BlockAllocator) {
    let layout = Layout::new::<[u64; 4]>();
    let block = blocks.alloc(layout).unwrap();
    // SAFETY: just allocated, and freed once.
    unsafe {
        block.write_bytes(1, layout.size());
        blocks.dealloc(block, layout);
    }
}

/// Returns an allocator with the heap of one thread that has ended.
fn with_idle_heap() -> BlockAllocator {
    let blocks = BlockAllocator::new();
    let theirs = blocks.clone();
    spawn(move || use_block(&theirs)).join().unwrap();
    assert_eq!((blocks.stats().heaps, blocks.stats().orphans), (1, 1));
    blocks
}

fn heaps(blocks: &BlockAllocator) -> String {
    blocks.trim();
    let stats = blocks.stats();
    assert_eq!(
        (stats.live_blocks, stats.inbox, stats.chunk_bytes),
        (0, 0, 0),
        "{stats:?}"
    );
    format!("{} heaps", stats.heaps)
}

fn two_adopt() -> String {
    let blocks = with_idle_heap();
    let theirs = blocks.clone();
    let other = spawn(move || use_block(&theirs));
    use_block(&blocks);
    other.join().unwrap();
    heaps(&blocks)
}

fn trim_adopt() -> String {
    let blocks = with_idle_heap();
    let theirs = blocks.clone();
    let other = spawn(move || use_block(&theirs));
    blocks.trim();
    other.join().unwrap();
    heaps(&blocks)
}
