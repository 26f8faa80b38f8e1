//! Remote frees, and heaps of threads that end.

use crate::block::{CHUNK, Filled, elsewhere, fill, frame, free, layout, on, remote};
use crate::support::Worker;
use releasepool::frame::FrameConfig;
use releasepool::memory::BlockAllocator;
use releasepool::{FrameLoop, PoolManager, Ref};

/// Frees blocks on a thread that ends.
fn free_elsewhere(blocks: &BlockAllocator, all: Vec<Filled>) {
    elsewhere(blocks, move |blocks| free(blocks, all));
}

/// Allocates `n` blocks of 32 bytes on a thread that ends.
fn fill_elsewhere(blocks: &BlockAllocator, n: usize) -> Vec<Filled> {
    elsewhere(blocks, move |blocks| fill(blocks, n, 32))
}

#[test]
fn remote_free_is_used_again_by_the_heaps_owner() {
    let blocks = BlockAllocator::new();
    let all = fill(&blocks, 200, 32);
    free_elsewhere(&blocks, all);
    assert_eq!(remote(&blocks), (200, 200, 0));
    let stats = blocks.stats();
    assert_eq!((stats.heaps, stats.chunk_bytes), (1, CHUNK));
    // These are more blocks than the rest of the chunk has.
    let all = fill(&blocks, 2_000, 32);
    assert_eq!(remote(&blocks), (2_000, 0, 200));
    let stats = blocks.stats();
    assert_eq!((stats.heaps, stats.chunk_bytes), (1, CHUNK), "used again");
    free(&blocks, all);
    assert_eq!(blocks.stats().live_blocks, 0);
}

#[test]
fn remote_frees_are_sent_in_batches_or_when_the_thread_has_time() {
    let blocks = BlockAllocator::new();
    let worker = Worker::new("worker");
    let inbox = || blocks.stats().inbox;
    // All blocks are allocated before any is freed, as it would be used again.
    let mut all = fill(&blocks, 196, 32);
    let in_a_frame = all.split_off(195);
    let (kib, large) = (fill(&blocks, 1, 1_024), fill(&blocks, 1, 1_025));
    let mut free_there = |n| {
        let (blocks, some) = (blocks.clone(), all.split_off(all.len() - n));
        worker.run(move || free(&blocks, some));
    };
    free_there(63);
    assert_eq!(inbox(), 0);
    free_there(1);
    assert_eq!(inbox(), 64);
    free_there(130);
    assert_eq!(inbox(), 192);
    on(&worker, &blocks, move |theirs| theirs.trim());
    assert_eq!(inbox(), 194, "by a trim");
    on(&worker, &blocks, move |theirs| {
        let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
        frames.tick(|_| free(theirs, in_a_frame));
    });
    assert_eq!(inbox(), 195, "by the end of a frame");
    on(&worker, &blocks, move |theirs| free(theirs, kib));
    assert_eq!(inbox(), 195, "one of 1 KiB waits");
    on(&worker, &blocks, move |theirs| free(theirs, large));
    assert_eq!(inbox(), 197, "a large one at once, with its batch");
    free_there(1);
    worker.join();
    assert_eq!(inbox(), 198, "by the end of the thread");
    assert_eq!(blocks.stats().live_blocks, 198);
    blocks.trim();
    assert_eq!(remote(&blocks), (0, 0, 198));
}

#[test]
fn remote_frees_to_more_threads_than_there_are_batches() {
    const THREADS: u64 = if cfg!(miri) { 9 } else { 20 };
    let blocks = BlockAllocator::new();
    let workers: Vec<_> = (0..THREADS).map(|_| Worker::new("worker")).collect();
    for round in 1..if cfg!(miri) { 2 } else { 4 } {
        let mut all = Vec::new();
        for worker in &workers {
            let blocks = blocks.clone();
            all.push(worker.run(move || fill(&blocks, 10, 32)));
        }
        // This frees one block of each thread, in turns.
        while all.iter().any(|some| !some.is_empty()) {
            let each = all.iter_mut().filter_map(Vec::pop);
            each.for_each(|block| block.free(&blocks));
        }
        blocks.trim();
        let stats = blocks.stats();
        let back = 10 * THREADS * round;
        assert_eq!(stats.inbox + stats.remote_frees, back);
        assert_eq!(stats.heaps, THREADS + 1);
        // The trim has asked them to trim, which they do when they run out of blocks.
        for worker in &workers {
            on(worker, &blocks, move |blocks| {
                let all = fill(blocks, 150, 32);
                free(blocks, all);
            });
        }
        assert_eq!(remote(&blocks), (0, 0, back));
    }
    workers.into_iter().for_each(Worker::join);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of blocks: takes too long")]
fn remote_frees_are_put_back_a_part_at_a_time() {
    let blocks = BlockAllocator::new();
    // The newest batch has one block, so the oldest is put back in two parts.
    let all = fill(&blocks, 3_073, 32);
    free_elsewhere(&blocks, all);
    let mut all = Vec::new();
    let mut before = 0;
    for sorted in [1_024, 2_048, 3_072, 3_073] {
        while blocks.stats().remote_frees == before && all.len() < 10_000 {
            all.extend(fill(&blocks, 1, 32));
        }
        let stats = blocks.stats();
        assert_eq!((stats.remote_frees, stats.inbox), (sorted, 3_073 - sorted));
        before = sorted;
    }
    free(&blocks, all);
}

#[test]
fn fragmentation_is_counted_wherever_blocks_are_freed() {
    let blocks = BlockAllocator::new();
    let make = || Filled::new(&blocks, layout(17, 1), 1);
    let all: Vec<_> = (0..100).map(|_| make()).collect();
    assert_eq!(blocks.stats().waste, 1_500);
    free_elsewhere(&blocks, all);
    assert_eq!(blocks.stats().waste, 0);
    blocks.trim();
    assert_eq!((blocks.stats().waste, blocks.stats().live_blocks), (0, 0));
}

#[test]
fn heap_of_a_thread_that_has_ended_is_adopted() {
    let blocks = BlockAllocator::new();
    let all = fill_elsewhere(&blocks, 300);
    let stats = blocks.stats();
    assert_eq!((stats.heaps, stats.orphans, stats.live_blocks), (1, 1, 300));
    all.iter().for_each(Filled::check);
    elsewhere(&blocks, move |inner| {
        let mine = fill(inner, 1, 32);
        let stats = inner.stats();
        assert_eq!((stats.heaps, stats.orphans, stats.live_blocks), (1, 0, 301));
        // The blocks are of this thread's heap now.
        free(inner, all);
        assert_eq!(remote(inner), (1, 0, 0));
        free(inner, mine);
    });
    let stats = blocks.stats();
    assert_eq!((stats.heaps, stats.orphans, stats.live_blocks), (1, 1, 0));
    assert_eq!(stats.chunk_bytes, stats.unused_bytes);
    // Also if a newer heap is in use.
    let worker = Worker::new("worker");
    let mut all = on(&worker, &blocks, |theirs| fill(theirs, 1, 32));
    all.extend(fill(&blocks, 1, 32));
    worker.join();
    all.extend(fill_elsewhere(&blocks, 1));
    assert_eq!(blocks.stats().heaps, 2);
    free(&blocks, all);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of blocks: takes too long")]
fn trim_frees_chunks_of_threads_that_have_ended() {
    let blocks = BlockAllocator::new();
    let all = fill_elsewhere(&blocks, 5_000);
    let before = blocks.stats().chunk_bytes;
    assert!(before >= 2 * CHUNK);
    free(&blocks, all);
    assert_eq!(blocks.stats().live_blocks, 5_000, "not put back yet");
    assert_eq!(blocks.trim() as u64, before);
    let stats = blocks.stats();
    assert_eq!((stats.chunk_bytes, stats.live_blocks), (0, 0));
    // This is the heap that `trim` has made for this thread.
    assert_eq!((stats.heaps, stats.orphans), (1, 0));
}

#[test]
#[cfg_attr(miri, ignore = "thousands of blocks: takes too long")]
fn thread_that_ends_keeps_two_chunks_for_the_next() {
    let blocks = BlockAllocator::new();
    elsewhere(&blocks, move |inner| {
        let all = fill(inner, 20_000, 32);
        assert!(inner.stats().chunk_bytes > 4 * CHUNK);
        free(inner, all);
    });
    let stats = blocks.stats();
    assert_eq!([stats.chunk_bytes, stats.unused_bytes], [2 * CHUNK; 2]);
    assert!(stats.peak_bytes > 4 * CHUNK);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of blocks: takes too long")]
fn trim_asks_other_threads() {
    let blocks = BlockAllocator::new();
    let worker = Worker::new("worker");
    let use_it = |n| {
        on(&worker, &blocks, move |blocks| {
            let all = fill(blocks, n, 32);
            free(blocks, all);
        });
    };
    use_it(10_000);
    let before = blocks.stats().chunk_bytes;
    assert!(before > 4 * CHUNK);
    assert_eq!(blocks.trim(), 0, "another thread owns the heap");
    assert_eq!(blocks.stats().chunk_bytes, before);
    use_it(3_000);
    // The thread trims when it runs out of blocks.
    assert!(blocks.stats().chunk_bytes < 4 * CHUNK);
    blocks.trim();
    worker.run(frame);
    assert_eq!(blocks.stats().chunk_bytes, 0, "when it has time");
    worker.join();
}

#[test]
#[cfg_attr(miri, ignore = "thousands of blocks: takes too long")]
fn trim_returns_the_sum_of_all_heaps() {
    let blocks = BlockAllocator::new();
    // A trim goes through the heaps from the newest to the oldest.
    let (worker, theirs) = (Worker::new("worker"), blocks.clone());
    let all = worker.run(move || fill(&theirs, 5_000, 32));
    let mine = fill(&blocks, 5_000, 32);
    let latest = Worker::new("worker");
    let more = on(&latest, &blocks, move |theirs| fill(theirs, 3_000, 32));
    worker.join();
    latest.join();
    for all in [all, mine, more] {
        free(&blocks, all);
    }
    let before = blocks.stats().chunk_bytes;
    assert_eq!(blocks.trim() as u64, before);
    assert_eq!(blocks.stats().chunk_bytes, 0);
}

#[test]
fn trim_leaves_the_rest_of_a_chunk_to_be_used() {
    // Blocks of 32 bytes are cut 128 at a time.
    for n in [127, 128, 129] {
        let blocks = BlockAllocator::new();
        let mut all = fill(&blocks, n, 32);
        blocks.trim();
        all.extend(fill(&blocks, 128, 32));
        assert_eq!(blocks.stats().chunk_bytes, CHUNK, "after {n}");
        free(&blocks, all);
    }
}

#[test]
fn objects_in_blocks_are_released_by_thread_handles() {
    let blocks = BlockAllocator::new();
    let worker = Worker::new("worker");
    let handle = worker.run(|| PoolManager::global().current_thread().unwrap());
    let objects = on(&worker, &blocks, move |theirs| {
        [1, 2].map(|n| Ref::new_in(n, theirs))
    });
    for object in objects.into_iter().chain([Ref::new_in(3, &blocks)]) {
        handle.release(object);
    }
    worker.run(|| PoolManager::global().run_inbox());
    let stats = blocks.stats();
    assert_eq!((stats.live_blocks, stats.inbox), (1, 0), "on its way to us");
    worker.join();
    blocks.trim();
    assert_eq!(blocks.stats().live_blocks, 0);
    // This releases to a thread that has ended.
    handle.release(Ref::new_in(4, &blocks));
    crate::support::quiesce_until(|| {
        blocks.trim();
        blocks.stats().live_blocks == 0
    });
}
