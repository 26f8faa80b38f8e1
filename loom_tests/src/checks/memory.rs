//! Blocks that other threads free, and heaps that change owners.

use super::steps::*;
use loom::sync::atomic::{AtomicUsize, Ordering};
use releasepool::memory::BlockAllocator;
use releasepool::{PoolManager, PoolRef, Ref, model};
use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::Arc;

pub fn models() -> Vec<Model> {
    [
        model!(
            memory_remote_free,
            "another thread frees blocks while their owner runs out of free ones: they are reused",
            &["used again", "not yet"],
        ),
        model!(
            memory_refill_by_parts,
            "three batches of remote frees arrive, of which two are sorted at a time",
            &["4 at once", "2 at once", "0 at once"],
        )
        // Three batches arrive, each by one exchange: three preemptions run the owner between any
        // two of them, and two interrupt the owner. Unbounded: 52,020 executions in the rmw mode.
        .bounded(5),
        model!(
            memory_adoption,
            "a thread ends and another one starts: it adopts the heap, or creates its own",
            &["taken over", "its own"],
        )
        .bounded(2),
        model!(
            memory_adopted_while_pushed,
            "a heap is adopted while another thread frees one of its blocks",
            OVERLAP,
        )
        .bounded(3),
        model!(
            memory_exit_in_flight,
            "a thread ends while another one frees a block of its heap",
            OVERLAP,
        ),
        model!(
            memory_closed,
            "the allocator's last handle is dropped while another thread frees the last blocks: one of the two deletes the heap",
            OVERLAP,
        )
        .bounded(4),
        Model::new(
            "memory_closed_elsewhere",
            "the allocator's last handle is dropped while the heap's thread frees its last block and ends",
            OVERLAP,
            || closed_while(drop),
        ),
        Model::new(
            "memory_closed_unowned",
            "the allocator's last handle is dropped while the heap's thread ends and another thread frees its last block",
            OVERLAP,
            || closed_while(|object| object),
        ),
        model!(
            memory_closed_in_exit,
            "the allocator's last handle is dropped while the heap's thread ends, and collects blocks that were freed elsewhere",
            OVERLAP,
        ),
        model!(
            memory_two_managers,
            "two managers have allocators of their own; another thread keeps an object from a pool of one",
            OVERLAP,
        )
        .bounded(2),
        Model::new(
            "memory_two_adopt",
            "two threads want the heap of a thread that has ended: one adopts it",
            &["1 heaps", "2 heaps"],
            || with_idle_heap(use_block),
        )
        .bounded(3),
        Model::new(
            "memory_trim_adopt",
            "an abandoned heap is trimmed while another thread adopts it",
            &["1 heaps", "2 heaps"],
            || with_idle_heap(|blocks| _ = blocks.trim()),
        )
        .bounded(3),
    ]
    .into()
}

/// A block that its thread passes to another thread.
pub struct Block(NonNull<u8>);

// SAFETY: the block is passed on as a whole; no other thread uses it.
unsafe impl Send for Block {}

pub const LAYOUT: Layout = Layout::new::<[u64; 4]>();

pub fn alloc_as(blocks: &BlockAllocator, layout: Layout) -> Option<Block> {
    blocks.alloc(layout).ok().map(Block)
}

pub fn free_as(blocks: &BlockAllocator, block: Block, layout: Layout) {
    // SAFETY: `block` was allocated with `layout`, and is not used afterwards.
    unsafe { blocks.dealloc(block.0, layout) };
}

pub fn alloc(blocks: &BlockAllocator) -> Block {
    alloc_as(blocks, LAYOUT).unwrap()
}

pub fn free(blocks: &BlockAllocator, block: Block) {
    free_as(blocks, block, LAYOUT);
}

/// Allocates a block on this thread, writes to it, and frees it.
fn use_block(blocks: &BlockAllocator) {
    let block = alloc(blocks);
    // SAFETY: `alloc` has just allocated the block with this size.
    unsafe { block.0.write_bytes(1, LAYOUT.size()) };
    free(blocks, block);
}

/// Collects remote frees in all heaps; asserts that no block is in use. Returns the number of heaps.
fn nothing_is_left(blocks: &BlockAllocator) -> u64 {
    blocks.trim();
    let stats = blocks.stats();
    assert_eq!((stats.live_blocks, stats.inbox), (0, 0), "{stats:?}");
    assert_eq!(stats.chunk_bytes, 0, "{stats:?}");
    stats.heaps
}

fn memory_remote_free() -> &'static str {
    let blocks = BlockAllocator::new();
    // A chunk has three blocks in model builds: these are all.
    let (a, b, c) = (alloc(&blocks), alloc(&blocks), alloc(&blocks));
    let sender = spawn_with(&blocks, |blocks| {
        // In model builds, two blocks are a batch.
        free(&blocks, a);
        free(&blocks, b);
    });
    let_others_go_first();
    let d = alloc(&blocks);
    let outcome = match blocks.stats().remote_frees {
        2 => "used again",
        0 => "not yet",
        n => panic!("{n} of two"),
    };
    sender.join();
    free(&blocks, c);
    free(&blocks, d);
    nothing_is_left(&blocks);
    outcome
}

fn memory_refill_by_parts() -> String {
    let blocks = BlockAllocator::new();
    let mut sent: Vec<_> = (0..9).map(|_| alloc(&blocks)).collect();
    let held = sent.split_off(6);
    let free_all = |blocks: &BlockAllocator, all: Vec<_>| {
        all.into_iter().for_each(|block| free(blocks, block));
    };
    let sender = spawn_with(&blocks, move |blocks| free_all(&blocks, sent));
    let_others_go_first();
    let d = alloc(&blocks);
    let n = blocks.stats().remote_frees;
    sender.join();
    free(&blocks, d);
    free_all(&blocks, held);
    nothing_is_left(&blocks);
    format!("{n} at once")
}

fn memory_adoption() -> bool {
    let blocks = BlockAllocator::new();
    let use_one = || spawn_with(&blocks, |blocks| free(&blocks, alloc(&blocks)));
    let (first, second) = (use_one(), use_one());
    first.join();
    second.join();
    let stats = blocks.stats();
    assert_eq!((stats.live_blocks, stats.orphans), (0, stats.heaps));
    nothing_is_left(&blocks);
    assert!(stats.heaps <= 2, "{} heaps for two threads", stats.heaps);
    stats.heaps == 1
}

fn memory_adopted_while_pushed() -> bool {
    let blocks = BlockAllocator::new();
    let block = spawn_with(&blocks, |blocks| alloc(&blocks)).join();
    let theirs = blocks.clone();
    let there = move || free(&theirs, block);
    let ((), other, at_once) = overlap(there, || alloc(&blocks));
    assert_eq!(blocks.stats().heaps, 1);
    free(&blocks, other);
    nothing_is_left(&blocks);
    at_once
}

fn memory_exit_in_flight() -> bool {
    let blocks = BlockAllocator::new();
    let (a, b) = (alloc(&blocks), alloc(&blocks));
    let overlap = Overlap::default();
    let shared = (blocks.clone(), overlap.clone());
    let sender = spawn_with(&shared, |(blocks, overlap)| {
        overlap.during(|| free(&blocks, a))
    });
    free(&blocks, b);
    overlap.during(model::thread_exit);
    sender.join();
    let stats = blocks.stats();
    assert_eq!(stats.orphans, 1, "{stats:?}");
    nothing_is_left(&blocks);
    overlap.at_once()
}

/// Closes the allocator; loom, which counts allocations, fails the model if memory is left.
fn memory_closed() -> bool {
    let blocks = BlockAllocator::new();
    let objects = [Ref::new_in(1, &blocks), Ref::new_in(2, &blocks)];
    let ((), (), at_once) = overlap(|| drop(objects), || drop(blocks));
    at_once
}

/// Gives a heap's owner and the main thread a handle each. The owner drops its handle, and calls
/// `f` with an object; the result of `f` is dropped once the owner has ended.
fn closed_while<R: Send + 'static>(f: fn(Ref<i32>) -> R) -> bool {
    let blocks = BlockAllocator::new();
    // Stands for the count of handles: that is in std's `Arc`, whose orderings loom does not see.
    let handles = Arc::new(AtomicUsize::new(2));
    let drop_handle = |handles: Arc<AtomicUsize>, blocks: BlockAllocator| {
        handles.fetch_sub(1, Ordering::AcqRel);
        drop(blocks);
    };
    let overlap = Overlap::default();
    let (their_handles, theirs) = (handles.clone(), blocks.clone());
    let owner = spawn_with(&overlap, move |overlap| {
        let object = Ref::new_in(1, &theirs);
        overlap.during(|| {
            drop_handle(their_handles, theirs);
            f(object)
        })
    });
    overlap.during(|| drop_handle(handles, blocks));
    drop(owner.join());
    overlap.at_once()
}

fn memory_closed_in_exit() -> bool {
    let blocks = BlockAllocator::new();
    let objects = [Ref::new_in(1, &blocks), Ref::new_in(2, &blocks)];
    // In model builds, two blocks are a batch. The main thread's exit answers the request to trim.
    let sender = spawn_with(&blocks, |blocks| {
        drop(objects);
        blocks.trim();
    });
    sender.join();
    let ((), (), at_once) = overlap(|| drop(blocks), model::thread_exit);
    at_once
}

fn memory_two_managers() -> bool {
    let managers = [(); 2].map(|()| {
        let memory = BlockAllocator::new();
        PoolManager::builder().memory(memory).build()
    });
    // Only one object is kept. With two, loom hits a limitation that its source documents: two
    // stores sometimes get the same place in the modification order.
    let [kept, _] = managers.each_ref().map(|manager| {
        let pool = manager.pool();
        pool.create(2);
        PoolRef::retain(pool.create(1))
    });
    let here = || {
        drop(managers);
        // A manager that is not used any more is removed when the thread uses a new one.
        drop(PoolManager::new().pool());
        drain();
    };
    let ((), (), at_once) = overlap(|| drop(kept), here);
    at_once
}

/// Lets a thread use a block and end, so that its heap is idle; then calls `here` while another
/// thread uses a block. Returns the number of heaps.
fn with_idle_heap(here: fn(&BlockAllocator)) -> String {
    let blocks = BlockAllocator::new();
    let use_one = || spawn_with(&blocks, |blocks| use_block(&blocks));
    use_one().join();
    assert_eq!((blocks.stats().heaps, blocks.stats().orphans), (1, 1));
    let other = use_one();
    here(&blocks);
    other.join();
    format!("{} heaps", nothing_is_left(&blocks))
}
