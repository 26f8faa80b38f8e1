//! Decisions that rest on counts: memory caps, and requests to trim.

use super::memory::{Block, LAYOUT, alloc, alloc_as, free, free_as};
use super::steps::*;
use releasepool::memory::BlockAllocator;
use std::alloc::Layout;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub fn models() -> Vec<Model> {
    [
        model!(
            caps_large,
            "two threads allocate large memory under a hard cap: never more than that, and no refused request has another refused",
            &["both served", "one refused"],
        )
        // One thread makes three requests, the other makes one, and all change one count. Two
        // preemptions put one change of the second thread between any two of the first, and the
        // second thread makes two changes. Unbounded: 31,087 executions in the rmw mode.
        .bounded(4),
        model!(
            caps_soft,
            "two threads exceed a soft cap: its hook is called once, and again after memory has shrunk",
            OVERLAP,
        )
        // Unbounded: 295,402 executions.
        .bounded(2),
        model!(
            caps_trim,
            "a thread asks another thread to trim; that one does so when it next needs a chunk",
            &["trimmed", "not asked yet"],
        ),
        Model::new(
            "caps_request",
            "a thread that gets no chunk asks the owner of one twice, and sends it a block in between; the owner closes pools",
            &["served at once", "served after the owner's next pool"],
            || asked(|blocks| _ = blocks.trim()),
        )
        .bounded(2),
        Model::new(
            "caps_request_once",
            "a thread that gets no chunk asks the owner of one, which closes pools",
            &["served at once", "served after the owner's next pool"],
            || asked(|_| ()),
        )
        .bounded(2),
        model!(
            caps_request_exit,
            "a thread that gets no chunk asks its owner, which ends",
            &["served at once", "served after the owner's end"],
        )
        .bounded(2),
    ]
    .into()
}

/// Returns a layout of `units` KiB for large memory: no block has its alignment, 128 bytes.
fn large(units: usize) -> Layout {
    Layout::from_size_align(1_024 * units, 128).unwrap()
}

/// A layout of another size class than [`LAYOUT`].
const LARGER: Layout = Layout::new::<[u64; 8]>();

/// Returns the size of a chunk.
fn chunk() -> u64 {
    let blocks = BlockAllocator::new();
    let block = alloc(&blocks);
    let chunk = blocks.stats().chunk_bytes;
    free(&blocks, block);
    chunk
}

/// Returns an allocator that may have one chunk.
fn capped() -> BlockAllocator {
    let cap = chunk() as usize;
    BlockAllocator::builder().hard_cap(cap).build()
}

/// Allocates on two threads. Returns the blocks, and whether the two calls overlapped.
fn two_blocks(blocks: &BlockAllocator, layout: Layout) -> ([Option<Block>; 2], bool) {
    let theirs = blocks.clone();
    let there = move || alloc_as(&theirs, layout);
    let (there, here, at_once) = overlap(there, || alloc_as(blocks, layout));
    ([there, here], at_once)
}

/// Frees everything on all threads; asserts that no chunk is left.
fn no_chunk_is_left(blocks: &BlockAllocator) {
    blocks.trim();
    assert_eq!(blocks.stats().chunk_bytes, 0);
}

/// Uses two units of large memory, if there is room.
fn use_two(blocks: &BlockAllocator) -> bool {
    let two = alloc_as(blocks, large(2));
    two.map(|two| free_as(blocks, two, large(2))).is_some()
}

fn caps_large() -> bool {
    let cap = large(3).size();
    let blocks = BlockAllocator::builder().hard_cap(cap).build();
    let other = spawn_with(&blocks, |blocks| {
        assert!(alloc_as(&blocks, large(4)).is_none());
        // Whatever the other thread has, there is room for one unit.
        let one = alloc_as(&blocks, large(1)).expect("there is room");
        let two = use_two(&blocks);
        free_as(&blocks, one, large(1));
        two
    });
    let both = [use_two(&blocks), other.join()];
    assert_ne!(both, [false; 2], "one of them comes first");
    assert_eq!(blocks.stats().peak_bytes, cap as u64);
    let all = alloc_as(&blocks, large(3)).expect("everything was given back");
    free_as(&blocks, all, large(3));
    both == [true; 2]
}

fn caps_soft() -> bool {
    let told = Arc::new(AtomicUsize::new(0));
    let count = told.clone();
    let told = || told.load(Ordering::Relaxed);
    let blocks = BlockAllocator::builder()
        .soft_cap(0, move |_| _ = count.fetch_add(1, Ordering::Relaxed))
        .build();
    let (both, at_once) = two_blocks(&blocks, LAYOUT);
    assert_eq!(told(), 1);
    both.into_iter()
        .for_each(|block| free(&blocks, block.unwrap()));
    no_chunk_is_left(&blocks);
    let block = alloc(&blocks);
    assert_eq!(told(), 2);
    free(&blocks, block);
    at_once
}

fn caps_trim() -> bool {
    let chunk = chunk();
    let blocks = BlockAllocator::new();
    // Needs a second chunk: in model builds, three blocks fit in one.
    let held = [(); 4].map(|()| alloc(&blocks));
    held.into_iter().for_each(|block| free(&blocks, block));
    let other = spawn_with(&blocks, |blocks| _ = blocks.trim());
    let block = alloc_as(&blocks, LARGER).unwrap();
    let chunks = blocks.stats().chunk_bytes / chunk;
    other.join();
    free_as(&blocks, block, LARGER);
    assert!((1..=2).contains(&chunks), "{chunks} chunks");
    chunks == 1
}

/// Asks the owner of the only chunk for it, after `before`, while the owner closes a pool. Returns
/// whether the request is served at once.
fn asked(before: fn(&BlockAllocator)) -> bool {
    let blocks = capped();
    let away = alloc(&blocks);
    // Waits at a door and does not yield: after a yield, loom would not let this thread's trim read
    // the outdated list, still empty, that the thread has read before.
    let door = Door::new();
    let opened = door.clone();
    let other = spawn_with(&blocks, move |blocks| {
        before(&blocks);
        opened.open();
        free(&blocks, away);
        alloc_as(&blocks, LARGER).map(|block| free_as(&blocks, block, LARGER))
    });
    door.wait();
    drain();
    let at_once = other.join().is_some();
    if !at_once {
        drain();
        assert_eq!(blocks.stats().chunk_bytes, 0, "the request is answered");
    }
    at_once
}

fn caps_request_exit() -> bool {
    let blocks = capped();
    let owner = spawn_with(&blocks, |blocks| {
        if let Some(block) = alloc_as(&blocks, LAYOUT) {
            free(&blocks, block);
        }
    });
    let served = alloc_as(&blocks, LARGER);
    let at_once = served.is_some();
    owner.join();
    let served = served.or_else(|| alloc_as(&blocks, LARGER));
    free_as(&blocks, served.expect("nobody has a block"), LARGER);
    at_once
}
