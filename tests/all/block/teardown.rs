//! Blocks in the destructors of thread-locals, before and after the crate's own exit of the thread.

use crate::block::{Filled, assert_empty, layout, on};
use crate::support::teardown::{ALWAYS, When, notes, push_work, thread_to_the_end, use_the_crate};
use crate::support::{Log, Worker, fresh_to_the_end, on_drop};
use releasepool::memory::{AllocError, BlockAllocator};
use releasepool::{AutoreleasePool, PoolManager, Ref};
use std::cell::{Cell, RefCell};

const N: usize = if cfg!(miri) { 3 } else { 1_000 };

/// Uses the allocator in every way.
fn use_it(blocks: &BlockAllocator) -> Ref<[u8; 40]> {
    let all: Vec<_> = (0..N)
        .map(|i| Filled::new(blocks, layout(i % 700, 8), i as u8))
        .collect();
    all.iter().for_each(Filled::check);
    let manager = PoolManager::builder().memory(blocks.clone()).build();
    let pool = manager.pool();
    for i in 0..N {
        assert_eq!(*pool.create(i), i);
    }
    let global = AutoreleasePool::new();
    (0..N).for_each(|i| _ = global.create([i; 10]));
    drop((global, pool));
    all.into_iter().for_each(|memory| memory.free(blocks));
    drop(Ref::try_new_in(String::from("text"), blocks).unwrap());
    blocks.trim();
    assert!(blocks.stats().heaps > 0);
    Ref::new_in([7; 40], blocks)
}

#[test]
fn blocks_work_in_every_tls_destructor() {
    for when in ALWAYS {
        let blocks = BlockAllocator::new();
        let mine = use_it(&blocks);
        let (to, made) = std::sync::mpsc::channel();
        let inner = blocks.clone();
        let noted = notes(when, move |_| {
            drop(mine);
            let kept = use_it(&inner);
            assert_eq!(*kept, [7; 40]);
            let weak = Ref::downgrade(&kept);
            drop(kept);
            assert!(weak.upgrade().is_none());
            to.send(use_it(&inner)).unwrap();
        });
        assert_eq!(noted, [1_000], "{when:?}");
        let object = made.recv().unwrap();
        assert_eq!(*object, [7; 40], "blocks outlive the destructor");
        blocks.trim();
        assert_eq!(blocks.stats().live_blocks, 1);
        drop(object);
        assert_empty(&blocks);
        assert!(blocks.stats().heaps <= 3);
    }
}

#[test]
fn last_handle_is_dropped_in_every_tls_destructor() {
    for when in ALWAYS {
        let blocks = BlockAllocator::new();
        let noted = notes(when, move |_| {
            let kept = use_it(&blocks);
            drop(blocks);
            assert_eq!(*kept, [7; 40]);
        });
        assert_eq!(noted, [1_000], "{when:?}");
    }
}

#[test]
fn hard_cap_after_the_threads_exit_trims_too() {
    let blocks = BlockAllocator::builder().hard_cap(65_536).build();
    let (has_it, has_none) = (Worker::new("worker"), Worker::new("worker"));
    let block = on(&has_it, &blocks, move |theirs| Filled::small(theirs, 1));
    let theirs = blocks.clone();
    assert!(has_none.run(move || theirs.alloc(layout(640, 1)).is_err()));
    on(&has_it, &blocks, move |theirs| block.free(theirs));
    has_it.join();
    // The heap that is found first is the one of this thread.
    has_none.join();
    let inner = blocks.clone();
    let noted = notes(When::AfterOurExit, move |_| {
        let block = Filled::new(&inner, layout(640, 1), 1);
        let other = inner.alloc(layout(32, 1));
        assert!(matches!(other, Err(AllocError::Capped { .. })));
        block.free(&inner);
        Filled::small(&inner, 2).free(&inner);
    });
    assert_eq!(noted, [1_000]);
    assert_empty(&blocks);
}

#[test]
fn handle_in_a_thread_local_and_blocks_in_others() {
    thread_local! {
        static HANDLE: RefCell<Option<BlockAllocator>> = const { RefCell::new(None) };
        static OBJECTS: RefCell<Vec<Ref<String>>> = const { RefCell::new(Vec::new()) };
        static POOL: Cell<Option<AutoreleasePool>> = const { Cell::new(None) };
    }
    // This is each order in which they may be dropped, relative to each other and to the crate's
    // exit.
    for order in (0..24).step_by(if cfg!(miri) { 7 } else { 1 }) {
        let mut left = vec![0, 1, 2, 3];
        let mut n = order;
        let order: Vec<_> = (1..=4)
            .rev()
            .map(|choices| {
                let choice = left.remove(n % choices);
                n /= choices;
                choice
            })
            .collect();
        thread_to_the_end(move || {
            for what in order {
                match what {
                    0 => HANDLE.set(None),
                    1 => OBJECTS.with(|_| ()),
                    2 => POOL.set(None),
                    _ => use_the_crate(),
                }
            }
            let blocks = BlockAllocator::new();
            let manager = PoolManager::builder().memory(blocks.clone()).build();
            let pool = manager.pool();
            for _ in 0..N {
                pool.create(String::from("in a pool"));
                let object = Ref::new_in(String::from("held"), &blocks);
                pool.autorelease(object.clone());
                OBJECTS.with(|objects| objects.borrow_mut().push(object));
            }
            manager.autorelease(Ref::new_in(1, &blocks));
            POOL.set(Some(pool));
            HANDLE.set(Some(blocks));
        });
    }
}

#[test]
fn pools_of_a_manager_that_was_dropped_keep_its_allocator() {
    let log = Log::new();
    fresh_to_the_end(move || {
        thread_local!(static POOL: Cell<Option<AutoreleasePool>> = const { Cell::new(None) });
        let gone = on_drop(move || log.note(1));
        let gone = std::sync::Mutex::new(Some(gone));
        let blocks = BlockAllocator::builder()
            .soft_cap(0, move |_| drop(gone.lock()))
            .build();
        POOL.set(None);
        let manager = PoolManager::builder().memory(blocks).build();
        let pool = manager.pool();
        drop(manager);
        // This drops the stacks of managers that were dropped, but this one has a pool.
        PoolManager::new().pool().create(0);
        pool.create([1u8; 100]);
        push_work(|| {
            let pool = POOL.take().unwrap();
            pool.create([2u8; 100]);
            POOL.set(Some(pool));
        });
        POOL.set(Some(pool));
    });
    assert_eq!(log.ids(), [1], "it was dropped with the last pool");
}

#[test]
fn a_heap_that_a_thread_first_uses_while_its_pools_exit_is_given_up() {
    let blocks = BlockAllocator::new();
    let there = blocks.clone();
    // Made here, so that the thread uses no heap before its exit.
    let last = Ref::new(on_drop(move || {
        Filled::new(&there, layout(40, 8), 1).free(&there);
    }));
    fresh_to_the_end(move || releasepool::autorelease(last));
    let stats = blocks.stats();
    assert_eq!((stats.heaps, stats.orphans), (1, 1));
}
