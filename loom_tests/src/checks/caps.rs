//! Decisions that rest on counts: memory caps, and requests to trim.

use super::model::Model;
use super::probe::{Overlap, spawn};
use releasepool::{AutoreleasePool, BlockAllocator};
use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub const MODELS: &[Model] = &[
    Model::new(
        "caps_hard",
        "two threads allocate under a hard cap of one chunk: there is never a second chunk",
        &["both from one chunk", "one refused"],
        hard,
    )
    .plain(&["one refused"]),
    Model::new(
        "caps_refused",
        "two threads are refused a chunk at once: neither leaves a count behind",
        Overlap::ANY,
        refused,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "caps_soft",
        "two threads exceed a soft cap: its hook is called once, and again after memory has shrunk",
        Overlap::ANY,
        soft,
    )
    // Two heaps are created and one is abandoned. Unbounded: 295,402 executions.
    .bounded(2),
    Model::new(
        "caps_trim",
        "a thread asks another thread to trim; that one does so when it next needs a chunk",
        &["trimmed", "not asked yet"],
        trim,
    ),
    Model::new(
        "caps_request",
        "a thread that gets no chunk asks the owner of one twice, and sends it a block in between; the owner closes pools",
        &["served at once", "served after the owner's next pool"],
        request,
    )
    // Two threads enter the registry, and the owner has pools.
    .bounded(2),
    Model::new(
        "caps_request_once",
        "a thread that gets no chunk asks the owner of one, which closes pools",
        &["served at once", "served after the owner's next pool"],
        request_once,
    )
    // Two threads enter the registry, and the owner has pools.
    .bounded(2),
    Model::new(
        "caps_request_exit",
        "a thread that gets no chunk asks its owner, which ends",
        &["served at once", "served after the owner's end"],
        request_exit,
    )
    // Two threads enter the registry.
    .bounded(2),
];

const LAYOUT: Layout = Layout::new::<[u64; 4]>();
/// A layout of another size class.
const LARGER: Layout = Layout::new::<[u64; 8]>();

/// A block that its thread passes to another thread.
struct Block(NonNull<u8>);

// SAFETY: the block is passed on as a whole; no other thread uses it.
unsafe impl Send for Block {}

fn free(blocks: &BlockAllocator, block: Block, layout: Layout) {
    // SAFETY: allocated with this layout, and not used afterwards.
    unsafe { blocks.dealloc(block.0, layout) };
}

fn alloc(blocks: &BlockAllocator, layout: Layout) -> Option<Block> {
    blocks.alloc(layout).ok().map(Block)
}

/// Returns the size of a chunk.
fn chunk() -> u64 {
    let blocks = BlockAllocator::new();
    let block = alloc(&blocks, LAYOUT).unwrap();
    let chunk = blocks.stats().chunk_bytes;
    free(&blocks, block, LAYOUT);
    chunk
}

fn hard() -> String {
    let cap = chunk();
    let blocks = BlockAllocator::builder().hard_cap(cap as usize).build();
    let other = {
        let blocks = blocks.clone();
        spawn(move || alloc(&blocks, LAYOUT))
    };
    let mine = alloc(&blocks, LAYOUT);
    let theirs = other.join().unwrap();
    assert_eq!(blocks.stats().peak_chunk_bytes, cap);
    let both = [mine, theirs].into_iter().flatten();
    let n = both.map(|block| free(&blocks, block, LAYOUT)).count();
    match n {
        2 => "both from one chunk",
        1 => "one refused",
        n => panic!("{n} allocated"),
    }
    .to_owned()
}

fn refused() -> String {
    let blocks = capped();
    let held = alloc(&blocks, LAYOUT).unwrap();
    let overlap = Overlap::default();
    let other = {
        let (blocks, overlap) = (blocks.clone(), overlap.clone());
        spawn(move || overlap.during(|| alloc(&blocks, LARGER).is_none()))
    };
    let mine = overlap.during(|| alloc(&blocks, LARGER).is_none());
    assert!(mine && other.join().unwrap());
    free(&blocks, held, LAYOUT);
    let block = alloc(&blocks, LARGER).expect("there is room for one chunk");
    free(&blocks, block, LARGER);
    blocks.trim();
    assert_eq!(blocks.stats().chunk_bytes, 0);
    overlap.outcome()
}

fn soft() -> String {
    let told = Arc::new(AtomicUsize::new(0));
    let count = told.clone();
    let told = || told.load(Ordering::Relaxed);
    let blocks = BlockAllocator::builder()
        .soft_cap(0, move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        })
        .build();
    let overlap = Overlap::default();
    let other = {
        let (blocks, overlap) = (blocks.clone(), overlap.clone());
        spawn(move || overlap.during(|| alloc(&blocks, LAYOUT).unwrap()))
    };
    let mine = overlap.during(|| alloc(&blocks, LAYOUT).unwrap());
    let theirs = other.join().unwrap();
    assert_eq!(told(), 1);
    free(&blocks, mine, LAYOUT);
    free(&blocks, theirs, LAYOUT);
    blocks.trim();
    assert_eq!(blocks.stats().chunk_bytes, 0);
    let block = alloc(&blocks, LAYOUT).unwrap();
    assert_eq!(told(), 2);
    free(&blocks, block, LAYOUT);
    overlap.outcome()
}

fn trim() -> String {
    let chunk = chunk();
    let blocks = BlockAllocator::new();
    // One more than fits in a chunk in model builds.
    let held = [(); 4].map(|()| alloc(&blocks, LAYOUT).unwrap());
    held.into_iter()
        .for_each(|block| free(&blocks, block, LAYOUT));
    let other = {
        let blocks = blocks.clone();
        spawn(move || _ = blocks.trim())
    };
    let block = alloc(&blocks, LARGER).unwrap();
    let chunks = blocks.stats().chunk_bytes / chunk;
    other.join().unwrap();
    free(&blocks, block, LARGER);
    match chunks {
        1 => "trimmed",
        2 => "not asked yet",
        n => panic!("{n} chunks"),
    }
    .to_owned()
}

/// An allocator of one chunk.
fn capped() -> BlockAllocator {
    let cap = chunk() as usize;
    BlockAllocator::builder().hard_cap(cap).build()
}

fn request() -> String {
    asked(|blocks| _ = blocks.trim())
}

fn request_once() -> String {
    asked(|_| ())
}

/// Asks the owner of the only chunk for it, after `before`, while the owner closes a pool.
fn asked(before: fn(&BlockAllocator)) -> String {
    let blocks = capped();
    let away = alloc(&blocks, LAYOUT).unwrap();
    let other = {
        let blocks = blocks.clone();
        spawn(move || {
            before(&blocks);
            free(&blocks, away, LAYOUT);
            alloc(&blocks, LARGER).map(|block| free(&blocks, block, LARGER))
        })
    };
    loom::thread::yield_now();
    drop(AutoreleasePool::new());
    if other.join().unwrap().is_some() {
        return "served at once".to_owned();
    }
    drop(AutoreleasePool::new());
    assert_eq!(blocks.stats().chunk_bytes, 0, "the request is answered");
    "served after the owner's next pool".to_owned()
}

fn request_exit() -> String {
    let blocks = capped();
    let owner = {
        let blocks = blocks.clone();
        spawn(move || {
            let block = alloc(&blocks, LAYOUT);
            block
                .into_iter()
                .for_each(|block| free(&blocks, block, LAYOUT));
        })
    };
    let mut served = alloc(&blocks, LARGER);
    let at_once = served.is_some();
    owner.join().unwrap();
    served = served.or_else(|| alloc(&blocks, LARGER));
    free(&blocks, served.expect("nobody has a block"), LARGER);
    if at_once {
        "served at once"
    } else {
        "served after the owner's end"
    }
    .to_owned()
}
