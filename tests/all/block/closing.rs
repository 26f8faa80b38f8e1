//! Blocks and chunks after the allocator's last handle was dropped.

use crate::block::{frame, on};
use crate::support::allocator::{bytes, left_over};
use crate::support::{Worker, alone, child, fresh_to_the_end};
use releasepool::memory::BlockAllocator;
use releasepool::{PoolManager, Ref};

const N: usize = if cfg!(miri) { 10 } else { 300 };

fn fill(blocks: &BlockAllocator) -> Vec<Ref<[u8; 40]>> {
    (0..N).map(|i| Ref::new_in([i as u8; 40], blocks)).collect()
}

fn check(all: &[Ref<[u8; 40]>]) {
    for (i, object) in all.iter().enumerate() {
        assert_eq!(**object, [i as u8; 40]);
    }
}

/// Asserts that `f` leaks no memory, however often it is called. A heap takes about 2,000 bytes, a
/// chunk 65,536.
fn leaves_nothing(mut f: impl FnMut()) {
    let left = left_over(10, &mut f);
    assert!(left < 4_096, "{left} bytes after ten allocators");
}

/// Runs a test in its own process; under Miri, which starts none, calls its body once.
macro_rules! leaves_nothing {
    ($f:expr) => {
        if cfg!(miri) {
            ($f)();
        } else {
            child!(|| leaves_nothing($f)).assert_success();
        }
    };
}

#[test]
fn blocks_of_this_thread_outlive_the_handles() {
    leaves_nothing!(|| {
        let blocks = BlockAllocator::new();
        let all = fill(&blocks);
        let handle = blocks.clone();
        drop(blocks);
        let more = fill(&handle);
        drop(handle);
        check(&all);
        drop(more);
        check(&all);
    });
}

#[test]
fn level_with_a_cap_leaves_nothing_when_it_has_ended() {
    leaves_nothing!(|| {
        let level = BlockAllocator::builder().hard_cap(1 << 20).build();
        let monsters = fill(&level);
        let texture = |_| Ref::try_new_in([1u8; 100_000], &level).ok();
        let textures: Vec<_> = (0..).map_while(texture).collect();
        assert_eq!(textures.len(), 9);
        drop(level);
        check(&monsters);
        fresh_to_the_end(move || drop(textures));
    });
}

#[test]
fn allocator_that_is_not_in_use_is_freed_at_once() {
    leaves_nothing!(|| {
        drop(BlockAllocator::new());
        let blocks = BlockAllocator::new();
        drop(fill(&blocks));
        fresh_to_the_end({
            let blocks = blocks.clone();
            move || drop(fill(&blocks))
        });
    });
}

#[test]
fn blocks_of_a_thread_that_goes_on_are_freed_there() {
    let worker = Worker::new("worker");
    leaves_nothing!(|| {
        let blocks = BlockAllocator::new();
        let all = on(&worker, &blocks, fill);
        check(&all);
        drop(blocks);
        // The closure's handle is dropped, too; either may be the last.
        worker.run(move || {
            check(&all);
            drop(all);
        });
    });
    worker.join();
}

#[test]
fn blocks_of_a_thread_that_goes_on_are_freed_elsewhere() {
    let worker = Worker::new("worker");
    leaves_nothing!(|| {
        let blocks = BlockAllocator::new();
        let all = on(&worker, &blocks, fill);
        drop(blocks);
        check(&all);
        drop(all);
        worker.run(frame);
    });
    worker.join();
}

/// Asserts that the memory in use grows by less than a chunk during `f`.
fn keeps_little(f: impl FnOnce()) {
    let before = bytes();
    f();
    let grown = bytes() - before;
    assert!(grown < 16_384, "{grown} bytes more");
}

/// Returns an allocator that the thread has used, so that it has a chunk of it.
fn used_by(worker: &Worker) -> BlockAllocator {
    let blocks = BlockAllocator::new();
    on(worker, &blocks, |blocks| drop(fill(blocks)));
    blocks
}

#[test]
#[cfg_attr(feature = "leak-detection", ignore = "the ledger allocates, too")]
fn heap_is_freed_with_the_last_block_that_its_thread_frees() {
    alone!();
    let worker = Worker::new("worker");
    worker.run(frame);
    keeps_little(|| {
        let blocks = BlockAllocator::new();
        let all = on(&worker, &blocks, fill);
        drop(blocks);
        worker.run(move || drop(all));
    });
}

#[test]
fn unused_chunks_of_this_thread_are_freed_with_the_handle() {
    alone!();
    let use_it = || drop(fill(&BlockAllocator::new()));
    use_it();
    frame();
    keeps_little(use_it);
}

#[test]
#[cfg_attr(feature = "leak-detection", ignore = "the ledger allocates, too")]
fn unused_chunks_of_another_thread_are_freed_when_it_has_time() {
    alone!();
    let worker = Worker::new("worker");
    worker.run(frame);
    // The first of the thread's heaps is in use.
    let _open = used_by(&worker);
    keeps_little(|| {
        drop([(); 3].map(|()| used_by(&worker)));
        worker.run(frame);
    });
}

#[test]
fn unused_chunks_of_another_thread_are_freed_with_its_next_allocator() {
    alone!();
    let worker = Worker::new("worker");
    worker.run(frame);
    let mut blocks = used_by(&worker);
    keeps_little(|| {
        for _ in 0..3 {
            drop(blocks);
            blocks = used_by(&worker);
        }
    });
}

#[test]
fn blocks_of_a_thread_that_ends_are_freed_elsewhere() {
    // It ends before the last handle is dropped, before its blocks are freed, in between, or at
    // last, with remote frees.
    let outlive = |ends_at| {
        let mut worker = Some(Worker::new("worker"));
        let blocks = BlockAllocator::new();
        let theirs = blocks.clone();
        let mut all = worker.as_ref().unwrap().run(move || fill(&theirs));
        let mut end = |step| {
            if step == ends_at {
                worker.take().unwrap().join();
            }
        };
        end(0);
        drop(blocks);
        end(1);
        drop(all.split_off(N / 2));
        end(2);
        check(&all);
        // The last of them is freed on a third thread.
        let last = all.pop();
        drop(all);
        fresh_to_the_end(move || drop(last));
        end(3);
    };
    if cfg!(miri) {
        (0..4).for_each(outlive);
    } else {
        alone!(|| (0..4).for_each(|ends_at| leaves_nothing(|| outlive(ends_at))));
    }
}

#[test]
fn remote_frees_of_this_thread_are_sent_by_the_last_handle() {
    alone!();
    let once = || {
        let blocks = BlockAllocator::new();
        let theirs = blocks.clone();
        // These are fewer than a batch.
        let some = fresh_to_the_end(move || fill(&theirs).split_off(N - 3));
        drop(some);
        drop(blocks);
    };
    once();
    keeps_little(once);
}

#[test]
fn blocks_that_a_thread_had_gathered_at_the_close_are_sent_with_the_next_one() {
    alone!();
    let worker = Worker::new("worker");
    let once = || {
        let blocks = BlockAllocator::new();
        let (one, other) = (Ref::new_in(1, &blocks), Ref::new_in(2, &blocks));
        worker.run(move || drop(one));
        drop(blocks);
        worker.run(move || drop(other));
    };
    once();
    (0..10).for_each(|_| keeps_little(once));
}

#[test]
fn last_handle_is_in_one_of_its_own_blocks() {
    struct Holder(#[expect(dead_code)] BlockAllocator, String);
    leaves_nothing!(|| {
        let blocks = BlockAllocator::new();
        let all = fill(&blocks);
        let make = || Ref::new_in(Holder(blocks.clone(), String::from("held")), &blocks);
        let (first, second) = (make(), make());
        drop(blocks);
        drop(first);
        assert_eq!(second.1, "held");
        fresh_to_the_end(move || drop(second));
        check(&all);
        // This is in a pool of a manager without another handle.
        let blocks = BlockAllocator::new();
        let manager = PoolManager::builder().memory(blocks.clone()).build();
        let pool = manager.pool();
        pool.create(Holder(blocks, String::new()));
        drop(manager);
        drop(pool);
        // This drops the stacks of managers that were dropped.
        drop(PoolManager::new().pool());
    });
}

#[test]
fn manager_is_dropped_before_its_pools_and_objects() {
    leaves_nothing!(|| {
        let manager = PoolManager::builder().memory(BlockAllocator::new()).build();
        let pool = manager.pool();
        let kept = releasepool::PoolRef::retain(pool.create(String::from("kept")));
        manager.autorelease(Ref::new(1));
        drop(manager);
        let lent = pool.create([1u8; 100]);
        assert_eq!(*lent, [1; 100]);
        drop(pool);
        drop(PoolManager::new().pool());
        assert_eq!(*kept, "kept");
        fresh_to_the_end(move || drop(kept));
    });
}

#[test]
fn objects_in_blocks_may_be_orphans() {
    leaves_nothing!(|| {
        let blocks = BlockAllocator::new();
        let gone = fresh_to_the_end(|| PoolManager::global().current_thread().unwrap());
        gone.release(Ref::new_in(3, &blocks));
        drop(blocks);
        assert!(PoolManager::global().quiesce(std::time::Duration::from_secs(60)));
    });
}
