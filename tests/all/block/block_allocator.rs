//! `BlockAllocator`: sizes, alignment, and objects in blocks.

use crate::block::{CHUNK, Filled, LARGEST, SIZES, fill, free, layout};
use crate::object::payloads::{Line, Page, through_everything};
use crate::support::{Log, alone, on_drop, panic_of};
use releasepool::memory::BlockAllocator;
use releasepool::{AutoreleasePool, HandoffPool, HomeRef, PoolManager, PoolRef, Ref, Weak, unsize};
use std::fmt::Debug;
use std::ptr::NonNull;

/// Returns the blocks in use, their bytes, and their internal fragmentation.
fn live(blocks: &BlockAllocator) -> (u64, u64, u64) {
    let stats = blocks.stats();
    (stats.live_blocks, stats.live_bytes, stats.waste)
}

#[test]
fn every_size_gets_the_smallest_block_that_holds_it() {
    let blocks = BlockAllocator::new();
    let mut smallest = 1;
    for size in SIZES {
        let most = if cfg!(miri) { 2 } else { 16 };
        let all = (smallest..=size).step_by((size - smallest) / most + 1);
        for asked in all.chain([size]) {
            let block = Filled::new(&blocks, layout(asked, 16), 1);
            assert_eq!(live(&blocks), (1, size as u64, (size - asked) as u64));
            block.free(&blocks);
            assert_eq!(live(&blocks), (0, 0, 0));
        }
        smallest = size + 1;
    }
    let stats = blocks.stats();
    assert_eq!((stats.large, stats.large_bytes), (0, 0));
    assert!(stats.chunk_bytes <= SIZES.len() as u64 * CHUNK);
}

#[test]
fn a_chunk_full_of_each_size_and_more() {
    let blocks = BlockAllocator::new();
    for size in SIZES.into_iter().step_by(if cfg!(miri) { 5 } else { 1 }) {
        let n = if cfg!(miri) { 5 } else { 140_000 / size };
        let all = fill(&blocks, n, size);
        assert_eq!(live(&blocks), (n as u64, (n * size) as u64, 0));
        free(&blocks, all);
        // Now the blocks are those that were freed.
        let again = fill(&blocks, n, size);
        again
            .into_iter()
            .rev()
            .for_each(|block| block.free(&blocks));
    }
    assert_eq!(live(&blocks), (0, 0, 0));
    // Each size keeps its current chunk; other chunks pass from size to size.
    let most = (SIZES.len() as u64 + 2) * CHUNK;
    assert!(blocks.stats().chunk_bytes <= most);
}

#[test]
fn layouts_of_size_0_take_no_memory() {
    let blocks = BlockAllocator::builder().hard_cap(0).build();
    for align in (0..=12).map(|shift| 1 << shift) {
        let nothing = Filled::new(&blocks, layout(0, align), 1);
        // A dangling pointer is not null.
        assert!(nothing.at.addr().get() >= align);
        nothing.free(&blocks);
        // SAFETY: the size is 0, so any pointer is valid.
        unsafe { blocks.dealloc(NonNull::dangling(), layout(0, align)) };
    }
    assert_eq!((blocks.stats().live_blocks, blocks.stats().large), (0, 0));
}

#[test]
fn objects_of_every_size_and_alignment() {
    of_every_size_and_alignment(BlockAllocator::new());
    // Its large objects are owned.
    of_every_size_and_alignment(BlockAllocator::builder().hard_cap(usize::MAX).build());
}

fn of_every_size_and_alignment(blocks: BlockAllocator) {
    macro_rules! all {
            ($($value:expr),* $(,)?) => { $(
                through_everything(|| Ref::new_in($value, &blocks), &$value);
                through_everything(|| Ref::try_new_in($value, &blocks).unwrap(), &$value);
            )* };
        }
    #[derive(PartialEq, Debug)]
    #[repr(align(4096))]
    struct Nothing;
    let large = blocks.stats().large;
    // Objects of up to 64,768 bytes, with their headers, are in blocks.
    all!((), [0u64; 0], 1u8, 1u16, 1u128, [7u8; 3], [1u64; 30]);
    all!(
        Some(String::from("text")),
        vec![1, 2],
        [5u8; LARGEST - 16],
        Line([9; 65])
    );
    assert_eq!(blocks.stats().large, large);
    all!([5u8; LARGEST - 15], Page(7), [Page(1), Page(2)], Nothing);
    assert!(blocks.stats().large > large);
    through_everything(
        || unsize!(Ref::new_in([3u16; 5], &blocks) => [u16]),
        &[3; 5][..],
    );
    assert_eq!(live(&blocks), (0, 0, 0));
    assert_eq!(blocks.stats().live_large_bytes, 0);
}

#[test]
fn trait_objects_in_blocks() {
    let blocks = BlockAllocator::new();
    let log = Log::new();
    let probe = log.probe(1);
    let id = move || {
        let probe = &probe;
        probe.id
    };
    let object: Ref<dyn Fn() -> u32> = unsize!(Ref::new_in(id, &blocks) => dyn Fn() -> u32);
    let weak: Weak<dyn Fn() -> u32> = Ref::downgrade(&object);
    assert_eq!((object(), blocks.stats().live_blocks), (1, 1));
    drop(object);
    assert_eq!((log.count(), blocks.stats().live_blocks), (1, 1));
    assert!(weak.upgrade().is_none());
    drop(weak);
    assert_eq!(blocks.stats().live_blocks, 0);
    let debug: Ref<dyn Debug> = unsize!(Ref::new_in(Page(2), &blocks) => dyn Debug);
    assert_eq!(format!("{debug:?}"), "Page(2)");
}

#[test]
fn pools_make_objects_in_their_managers_allocator() {
    let blocks = BlockAllocator::new();
    let manager = PoolManager::builder().memory(blocks.clone()).build();
    let mut pool = manager.pool();
    let lent = pool.create([1u8; 20]);
    assert_eq!(*lent, [1; 20]);
    pool.create([2u8; 70_000]);
    pool.try_create(|| Ok::<_, ()>(3)).unwrap();
    let kept = PoolRef::retain(pool.create(Page(4)));
    assert_eq!(live(&blocks), (2, 48 + 32, 12 + 12));
    assert_eq!(blocks.stats().large, 2);
    pool.create(String::from("nested"));
    let inner = manager.named_pool("inner");
    let outlives = PoolRef::retain(inner.create(5));
    assert_eq!(blocks.stats().live_blocks, 4);
    drop(inner);
    assert_eq!(pool.drain(), 5);
    assert_eq!(blocks.stats().live_blocks, 1);
    // Other pools take no block from it.
    AutoreleasePool::new().create(6);
    PoolManager::new().pool().create(7);
    let handoff = HandoffPool::new();
    handoff.create(8);
    drop((HomeRef::new(9), Ref::new(10), handoff));
    manager.autorelease(Ref::new(11));
    assert_eq!(blocks.stats().live_blocks, 1);
    drop((outlives, kept));
    assert_eq!(live(&blocks), (0, 0, 0));
}

#[test]
fn values_are_moved_out_and_renewed() {
    let blocks = BlockAllocator::new();
    let make = || Ref::new_in(String::from("a"), &blocks);
    let count = || blocks.stats().live_blocks;

    assert_eq!(Ref::try_unwrap(make()).unwrap(), "a");
    assert_eq!(Ref::into_inner(make()).unwrap(), "a");
    assert_eq!(Ref::unwrap_or_clone(make()), "a");
    assert_eq!(count(), 0);

    let object = make();
    let other = object.clone();
    let object = Ref::try_unwrap(object).unwrap_err();
    assert_eq!(Ref::into_inner(object), None);
    assert_eq!(Ref::unwrap_or_clone(other), "a");
    assert_eq!(count(), 0);

    // The last weak reference frees the block.
    for n in 1..4 {
        let object = make();
        let weak: Vec<_> = (0..n).map(|_| Ref::downgrade(&object)).collect();
        assert_eq!(Ref::try_unwrap(object).unwrap(), "a");
        assert_eq!(count(), 1);
        drop(weak);
        assert_eq!(count(), 0);
    }

    let mut object = make();
    Ref::get_mut(&mut object).unwrap().push('b');
    Ref::make_mut(&mut object).push('c');
    assert_eq!((object.as_str(), count()), ("abc", 1), "in place");
    let shared = object.clone();
    Ref::make_mut(&mut object).push('d');
    assert_eq!(
        (object.as_str(), shared.as_str(), count()),
        ("abcd", "abc", 1)
    );
    let mut moved = shared;
    let weak = Ref::downgrade(&moved);
    Ref::make_mut(&mut moved).push('e');
    assert_eq!((moved.as_str(), count()), ("abce", 1));
    assert!(weak.upgrade().is_none());
    drop(weak);
    assert_eq!(count(), 0);

    // SAFETY: from `into_raw`, and used once.
    drop(unsafe { Ref::from_raw(Ref::into_raw(make())) });
    let cyclic = Ref::<Weak<u8>>::new_cyclic(|_| Weak::new());
    drop(cyclic);
    assert_eq!(count(), 0);
}

#[test]
fn blocks_are_freed_if_destructors_panic() {
    let bomb = || (on_drop(|| panic!("on purpose")), [1u8; 40]);
    let blocks = BlockAllocator::new();
    let manager = PoolManager::builder().memory(blocks.clone()).build();
    let make = || Ref::new_in(bomb(), &blocks);
    panic_of(|| drop(make()));
    assert_eq!(blocks.stats().live_blocks, 0);
    let object = make();
    let weak = Ref::downgrade(&object);
    panic_of(|| drop(object));
    assert_eq!(blocks.stats().live_blocks, 1);
    drop(weak);
    panic_of(|| {
        let pool = manager.pool();
        pool.create(bomb());
        pool.create(String::from("before it"));
        pool.create(bomb());
    });
    assert_eq!(live(&blocks), (0, 0, 0));
    panic_of(|| drop(Ref::into_inner(make())));
    assert_eq!(blocks.stats().live_blocks, 0);
}

#[test]
fn structures_of_any_depth_in_blocks() {
    struct Node(#[expect(dead_code)] Option<Ref<Node>>);
    let blocks = BlockAllocator::new();
    let mut head = None;
    let depth = if cfg!(miri) { 200 } else { 100_000 };
    for _ in 0..depth {
        head = Some(Ref::new_in(Node(head), &blocks));
    }
    assert_eq!(blocks.stats().live_blocks, depth);
    drop(head);
    assert_eq!(blocks.stats().live_blocks, 0);
}

#[test]
fn plain_objects_of_different_kinds_die_in_one_drain() {
    let blocks = BlockAllocator::new();
    let manager = PoolManager::builder().memory(blocks.clone()).build();
    for manager in [&manager, PoolManager::global()] {
        let mut pool = manager.pool();
        let mut weak = Vec::new();
        for i in 0..200u64 {
            let lent = pool.create(i);
            if i % 7 == 0 {
                weak.push(PoolRef::downgrade(lent));
            }
            if i % 11 == 0 {
                pool.autorelease(PoolRef::retain(lent));
            }
            if i % 5 == 0 {
                pool.create([i; 10]);
                pool.create(i as f64);
                pool.autorelease(Ref::new(i));
                pool.autorelease(Ref::new_in(i, &blocks));
                pool.autorelease(Ref::new_in(i, &blocks));
            }
            assert_eq!(*lent, i);
        }
        let entries = pool.len();
        assert_eq!(pool.drain(), entries);
        assert!(weak.iter().all(|weak| weak.upgrade().is_none()));
        // All have other references.
        let kept = Vec::from_iter((0..20_u64).map(|i| PoolRef::retain(pool.create(i))));
        assert_eq!(pool.drain(), 20);
        assert!(kept.iter().map(|kept| **kept).eq(0..20));
    }
    assert_eq!(live(&blocks), (0, 0, 0));
}

#[test]
fn plain_objects_that_die_in_a_row_are_counted_and_their_chunks_freed() {
    alone!();
    let blocks = BlockAllocator::process();
    let mut pool = AutoreleasePool::new();
    let (before, chunks) = (live(&blocks), blocks.stats().chunk_bytes);
    for _ in 0..3 {
        // With their headers they are 12 bytes smaller than their blocks.
        (0..5_000).for_each(|_| _ = pool.create([1u8; 20]));
        let now = live(&blocks);
        assert_eq!((now.0 - before.0, now.2 - before.2), (5_000, 60_000));
        assert_eq!(pool.drain(), 5_000);
        assert_eq!(live(&blocks), before);
    }
    blocks.trim();
    assert!(blocks.stats().chunk_bytes <= chunks);
}

#[test]
fn chunks_are_freed_if_their_plain_objects_die_in_two_drains() {
    alone!();
    let blocks = BlockAllocator::process();
    let managers = [PoolManager::new(), PoolManager::new()];
    let mut pools = managers.each_ref().map(PoolManager::pool);
    let chunks = blocks.stats().chunk_bytes;
    (0..5_000).for_each(|i| pools.iter().for_each(|pool| _ = pool.create([i; 5])));
    let full = blocks.stats().chunk_bytes;
    assert!(full >= chunks + 7 * CHUNK);
    assert_eq!(pools[0].drain(), 5_000);
    // Freed blocks are used again.
    (0..5_000).for_each(|i| _ = pools[0].create([i; 5]));
    assert_eq!(blocks.stats().chunk_bytes, full);
    pools.iter_mut().for_each(|pool| _ = pool.drain());
    blocks.trim();
    assert!(blocks.stats().chunk_bytes <= chunks);
}

#[test]
fn after_a_trim_the_block_that_was_freed_last_is_given_out_first() {
    let blocks = BlockAllocator::new();
    // Two full chunks.
    let mut all = fill(&blocks, 4, 21_760);
    assert_eq!((blocks.trim(), blocks.stats().chunk_bytes), (0, 2 * CHUNK));
    let last = all.pop().unwrap();
    all.remove(0).free(&blocks);
    let at = last.at;
    last.free(&blocks);
    let again = Filled::new(&blocks, layout(21_760, 1), 7);
    assert_eq!(again.at, at);
    all.push(again);
    free(&blocks, all);
}

#[test]
fn thread_has_one_heap_of_each_allocator() {
    alone!();
    let [one, other] = [(); 2].map(|()| BlockAllocator::new());
    let all = [BlockAllocator::process(), one, other];
    for _ in 0..10 {
        all.iter().for_each(|blocks| drop(Ref::new_in(1, blocks)));
    }
    assert!(all.iter().all(|blocks| blocks.stats().heaps == 1));
}

#[test]
fn debug_and_display_of_allocators_and_errors() {
    let blocks = BlockAllocator::builder().hard_cap(0).build();
    let error = blocks.alloc(layout(16, 1)).unwrap_err();
    let message = "the allocator holds 0 bytes, and its hard cap is 0";
    assert_eq!(error.to_string(), message);
    assert!(format!("{blocks:?}").contains("hard_cap"));
    let soft = BlockAllocator::builder().soft_cap(5, |_| ());
    assert!(format!("{soft:?}").contains("soft_cap: Some(5)"));
    assert_eq!(BlockAllocator::default().stats().chunk_bytes, 0);
}
