//! Collections in an arena: the feature `allocator-api2`.

use crate::arena::HEADER;
use crate::block::api2::resize_to_each;
use crate::block::layout;
use crate::support::Log;
use crate::support::allocator::refusing;
use allocator_api2::alloc::Allocator;
use allocator_api2::vec::Vec;
use releasepool::memory::StackAllocator;

#[test]
fn newest_vector_grows_in_place() {
    let mut arena = StackAllocator::with_capacity(10_000);
    let mut list = Vec::new_in(&arena);
    list.push(0u64);
    let first = list.as_ptr();
    list.extend(1..1000);
    assert_eq!(list.as_ptr(), first);
    assert_eq!(arena.used(), HEADER + 8 * list.capacity());
    assert_eq!(arena.high_water(), arena.used());
    list.truncate(10);
    list.shrink_to_fit();
    assert_eq!(list.as_ptr(), first);
    assert_eq!(arena.used(), HEADER + 80);
    assert!(list.iter().copied().eq(0..10));
    list.clear();
    list.shrink_to_fit();
    assert!(arena.used() == 0);
    list.push(1);
    drop(list);
    assert!(arena.used() == 0);
    arena.reset();
}

#[test]
fn newest_vector_grows_to_the_last_byte_and_not_beyond() {
    const CAPACITY: usize = 1_000;
    let arena = StackAllocator::with_capacity(CAPACITY);
    let below = arena.alloc(7u64);
    for size in [1, 100, 400] {
        let mut list = Vec::with_capacity_in(size, &arena);
        list.resize(size, 1u8);
        let first = list.as_ptr();
        let room = CAPACITY - (arena.used() - size);
        list.reserve_exact(room - size);
        assert_eq!((list.as_ptr(), arena.used()), (first, CAPACITY));
        list.resize(room, 2);
        list.reserve_exact(1);
        assert_ne!(list.as_ptr(), first, "on the heap");
        assert!(list[..size].iter().all(|byte| *byte == 1));
        assert!(list[size..].iter().all(|byte| *byte == 2));
    }
    assert_eq!(*below, 7);
}

#[test]
fn vector_that_is_not_the_newest_moves_and_leaves_a_hole() {
    let log = Log::new();
    let arena = StackAllocator::with_capacity(100_000);
    let mut list = Vec::with_capacity_in(4, &arena);
    list.extend((0..4).map(|id| log.probe(id)));
    let first = list.as_ptr();
    let above = arena.alloc(5);
    list.push(log.probe(4));
    assert_ne!(list.as_ptr(), first);
    assert_eq!(log.count(), 0);
    drop(above);
    // The old memory is below the vector.
    assert!(arena.used() > 2 * HEADER);
    list.truncate(1);
    let above = arena.alloc(6);
    let (used, place) = (arena.used(), list.as_ptr());
    list.shrink_to_fit();
    // Moving would save nothing.
    assert_eq!((arena.used(), list.as_ptr()), (used, place));
    drop(list);
    assert_eq!(log.ids(), [1, 2, 3, 4, 0]);
    drop(above);
    assert!(arena.used() == 0);
}

#[test]
fn vector_moves_to_the_heap_and_back() {
    let arena = StackAllocator::with_capacity(1_000);
    let mut list = Vec::new_in(&arena);
    list.extend(0..2_000u32);
    assert!(arena.used() > 8_000);
    assert!(list.iter().copied().eq(0..2_000));
    list.truncate(5);
    list.shrink_to_fit();
    // A vector on the heap moves to be smaller.
    assert_eq!(arena.used(), HEADER + 20);
    assert_eq!(list, [0, 1, 2, 3, 4]);
    drop(list);
    assert!(arena.used() == 0);
}

#[test]
fn vector_stays_as_it_is_if_shrinking_fails() {
    let arena = StackAllocator::new();
    let mut list = Vec::with_capacity_in(1_000, &arena);
    list.extend(0..500u64);
    refusing(1_000, || list.shrink_to_fit());
    assert!(list.iter().copied().eq(0..500));
    assert!(list.try_reserve(usize::MAX / 8).is_err());
    refusing(1_000, || assert!(list.try_reserve(1_000).is_err()));
    assert_eq!(list.len(), 500);
}

#[test]
fn memory_stays_as_it_is_if_aligning_it_fails() {
    let (arena, old) = (StackAllocator::new(), layout(1_000, 1));
    let allocator = &arena;
    let blocks = [(); 2].map(|()| allocator.allocate(old).unwrap().cast::<u8>());
    let mut unaligned = blocks.iter().filter(|at| at.addr().get() % 4_096 != 0);
    let block = *unaligned
        .next()
        .expect("one of two is not aligned to a page");
    let mut got = Vec::with_capacity_in(2, &arena);
    refusing(1_000, || {
        for new in [layout(500, 4_096), layout(990, 1)] {
            // SAFETY: allocated by this layout, and not moved, as both calls fail.
            got.push(unsafe { allocator.shrink(block, old, new) });
        }
    });
    assert!(got[0].is_err());
    assert_eq!(got[1].unwrap().cast(), block);
}

#[test]
fn memory_keeps_its_contents_in_every_resize() {
    let sizes = [10, 100, 100, 101, 5_000, 5_000, 60, 60, 6, 0, 0, 7, 0];
    let aligns = [1, 1, 64, 128, 2, 4096, 4096, 1, 256, 512, 1, 1, 1];
    // The memory is in the arena or on the heap, above or below another value.
    for (capacity, covered) in [(1 << 16, false), (1 << 16, true), (0, false), (300, false)] {
        let arena = StackAllocator::with_capacity(capacity);
        let before = arena.alloc(1u8);
        let mut above = std::vec::Vec::new();
        let layouts = sizes.into_iter().zip(aligns);
        let layouts = layouts.map(|(size, align)| layout(size, align));
        resize_to_each(&&arena, layouts, false, |_| {
            if covered {
                above.push(arena.alloc([9u8; 3]));
            }
        });
        assert!(above.iter().all(|value| **value == [9; 3]));
        drop((above, before));
        assert!(arena.used() == 0);
    }
}
