//! Requests to trim: a thread that keeps the memory of a capped allocator gives it to others.

use crate::block::{CHUNK, Filled, elsewhere, frame, layout, on};
use crate::support::{Worker, wait_until};
use releasepool::memory::{AllocError, BlockAllocator};
use releasepool::{AutoreleasePool, Budget, Looper, PoolManager, Ref};

fn capped(chunks: usize) -> BlockAllocator {
    let cap = chunks * CHUNK as usize;
    BlockAllocator::builder().hard_cap(cap).build()
}

/// Allocates all blocks of 640 bytes that the cap allows.
fn fill(blocks: &BlockAllocator) -> Vec<Ref<[u8; 600]>> {
    let next = || Ref::try_new_in([1; 600], blocks).ok();
    std::iter::from_fn(next).collect()
}

/// Returns whether there is a block of a size for which there is no chunk yet.
fn is_served(blocks: &BlockAllocator) -> bool {
    match blocks.alloc(layout(32, 1)) {
        // SAFETY: just allocated.
        Ok(block) => unsafe { blocks.dealloc(block, layout(32, 1)) },
        Err(AllocError::Capped { .. }) => return false,
        Err(error) => panic!("{error}"),
    }
    true
}

#[test]
fn a_request_is_answered_by_the_owners_next_drain_or_allocation() {
    let answers: &[(&str, fn())] = &[
        ("an empty pool", || drop(AutoreleasePool::new())),
        ("a pool with few objects", || {
            AutoreleasePool::new().autorelease(Ref::new(1));
        }),
        ("a pool with many objects", || {
            let pool = AutoreleasePool::new();
            (0..100).for_each(|n| _ = pool.autorelease(Ref::new(n)));
        }),
        ("the drain of a pool with objects", || {
            let mut pool = AutoreleasePool::new();
            (0..100).for_each(|n| _ = pool.autorelease(Ref::new(n)));
            pool.drain();
            std::mem::forget(pool);
        }),
        ("a budgeted drain", || {
            let mut pool = AutoreleasePool::new();
            pool.drain_within(Budget::Count(1));
            std::mem::forget(pool);
        }),
        ("the drain of the root pool", || {
            _ = PoolManager::global().drain_root();
        }),
        ("another manager's pool", || {
            drop(PoolManager::new().pool());
        }),
        ("another allocator's block", || {
            let blocks = BlockAllocator::new();
            Filled::small(&blocks, 1).free(&blocks);
        }),
        ("a frame", frame),
    ];
    for (answer, f) in answers {
        let blocks = capped(2);
        let owner = Worker::new("owner");
        on(&owner, &blocks, |blocks| {
            // The owner has a heap of the process-wide allocator, too.
            AutoreleasePool::new().create(1);
            drop(fill(blocks));
        });
        // The owner has not been asked, and then has not answered.
        assert!(!is_served(&blocks) && !is_served(&blocks), "{answer}");
        owner.run(*f);
        assert!(is_served(&blocks), "{answer} is no answer");
        assert_eq!(blocks.stats().live_blocks, 0);
        owner.join();
    }
}

#[test]
fn a_request_wakes_a_looper() {
    let blocks = capped(1);
    let looper = Looper::spawn("owner").unwrap();
    let theirs = blocks.clone();
    looper.call(move || drop(fill(&theirs))).unwrap();
    wait_until(|| is_served(&blocks));
}

#[test]
fn a_thread_that_needs_its_memory_keeps_it() {
    let blocks = capped(1);
    let owner = Worker::new("owner");
    let one = on(&owner, &blocks, |blocks| fill(blocks).pop());
    assert!(!is_served(&blocks));
    owner.run(|| drop(AutoreleasePool::new()));
    assert!(!is_served(&blocks), "a block in use keeps its chunk");
    // On this thread, which has no chunk: the block goes home at once, and its owner is asked.
    drop(one);
    assert!(!is_served(&blocks));
    owner.run(|| drop(AutoreleasePool::new()));
    assert!(is_served(&blocks));
    owner.join();
}

#[test]
fn blocks_of_an_ended_thread_come_back_when_its_objects_die_elsewhere() {
    let blocks = capped(1);
    let objects = elsewhere(&blocks, fill);
    let heir = Worker::new("heir");
    heir.run(move || drop(objects));
    assert!(is_served(&blocks), "the heir keeps none of them");
    heir.join();
}
