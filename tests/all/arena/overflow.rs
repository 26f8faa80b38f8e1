//! Arenas that are too small, and memory that is exhausted.

use crate::arena::HEADER;
use crate::support::allocator::{allocations, refusing};
use crate::support::{Log, alone, child, panic_of};
use releasepool::memory::{AllocError, StackAllocator, StackBox};
use std::alloc::Layout;

#[test]
fn reset_frees_forgotten_values_on_the_heap() {
    alone!();
    let left = crate::support::allocator::left_over(20, || {
        let mut arena = StackAllocator::with_capacity(100);
        for _ in 0..3 {
            std::mem::forget(arena.alloc([0u8; 50]));
            std::mem::forget(arena.alloc([0u8; 5_000]));
            drop(arena.alloc([0u8; 7_000]));
            std::mem::forget(arena.alloc([0u8; 500]));
            arena.reset();
        }
        std::mem::forget(arena.alloc([0u8; 50_000]));
    });
    assert_eq!(left, 0);
}

#[test]
fn reset_grows_to_one_and_a_half_times_the_need_and_never_shrinks() {
    let mut arena = StackAllocator::new();
    assert_eq!(arena.capacity(), 0);
    arena.reset();
    assert_eq!(arena.capacity(), 0, "nothing was needed");
    let frame = |arena: &StackAllocator| {
        let _list = arena.alloc_slice(1_000, |i| i);
        let _more = arena.alloc([0u8; 500]);
    };
    frame(&arena);
    let most = arena.high_water();
    arena.reset();
    assert_eq!(arena.capacity(), most + most / 2);
    assert_eq!(allocations(|| frame(&arena)), 0, "all of it fits");
    assert_eq!(arena.high_water(), most, "the mark stays");
    let capacity = arena.capacity();
    for _ in 0..3 {
        assert_eq!(allocations(|| arena.reset()), 0);
        drop(arena.alloc(1u8));
    }
    assert_eq!((arena.capacity(), arena.high_water()), (capacity, most));
}

#[test]
fn reset_does_not_grow_an_arena_that_was_just_large_enough() {
    let mut arena = StackAllocator::with_capacity(1000);
    drop(arena.alloc_slice(1000 - HEADER, |_| 1u8));
    arena.reset();
    assert_eq!((arena.high_water(), arena.capacity()), (1000, 1000));
}

#[test]
fn sizes_that_overflow_are_errors_and_closures_are_not_called() {
    let arena = StackAllocator::with_capacity(1024);
    for n in [usize::MAX, usize::MAX / 8, isize::MAX as usize / 8 + 1] {
        let result = arena.try_alloc_slice(n, |_| -> u64 { unreachable!() });
        match result.unwrap_err() {
            AllocError::TooLarge { count, layout, .. } => {
                assert_eq!((count, layout), (n, Layout::new::<u64>()));
            }
            error => panic!("{error}"),
        }
    }
    // The layout is valid, but not with a node before it.
    let most = isize::MAX as usize - 7;
    let result = arena.try_alloc_slice(most, |_| -> u8 { unreachable!() });
    assert!(matches!(result, Err(AllocError::TooLarge { .. })));
    let message = panic_of(|| arena.alloc_slice(usize::MAX, |_| 0u32));
    let wanted = format!("{} values of 4 bytes", usize::MAX);
    assert!(message.starts_with(&wanted), "{message}");
    assert!(arena.used() == 0 && arena.high_water() == 0);
    let result = StackAllocator::try_with_capacity(usize::MAX);
    assert!(matches!(result, Err(AllocError::TooLarge { .. })));
    panic_of(|| StackAllocator::with_capacity(isize::MAX as usize));
}

#[test]
fn exhausted_memory_is_an_error_and_the_value_is_dropped() {
    let log = Log::new();
    let mut arena = StackAllocator::with_capacity(200);
    let below = arena.alloc(log.probe(0));
    let (used, most) = (arena.used(), arena.high_water());
    refusing(1_000, || {
        let Err(error) = arena.try_alloc((log.probe(1), [0u8; 1_000])) else {
            panic!("there is no memory");
        };
        let AllocError::OutOfMemory { layout, .. } = error else {
            panic!("{error}");
        };
        assert!(layout.size() > 1_000);
        let words = format!("no memory for {} bytes", layout.size());
        assert!(error.to_string().starts_with(&words));
        let result = arena.try_alloc_slice(1_000, |_| log.probe(2));
        assert!(matches!(result, Err(AllocError::OutOfMemory { .. })));
        // A node comes before the bytes.
        let result = arena.try_alloc_slice(1_000, |_| 0_u8);
        assert!(matches!(
            result,
            Err(AllocError::OutOfMemory { layout }) if layout.align() == align_of::<usize>()
        ));
        let result = StackAllocator::try_with_capacity(1_000);
        assert!(matches!(result, Err(AllocError::OutOfMemory { .. })));
        let fits = arena.try_alloc(5u8).unwrap();
        assert_eq!(*fits, 5);
        // This one is on the heap, which has as much memory.
        assert_eq!(arena.try_alloc([5u8; 300]).unwrap()[299], 5);
    });
    assert_eq!(log.ids(), [1]);
    assert_eq!(arena.used(), used);
    drop(below);
    assert!(arena.high_water() > most);
    drop(arena.alloc([0u8; 5_000]));
    refusing(1_000, || arena.reset());
    assert_eq!(arena.capacity(), 200, "it keeps its memory");
    drop(arena.alloc(1));
    arena.reset();
    assert!(arena.capacity() > 5_000);
}

#[test]
fn exhausted_memory_aborts_where_no_error_is_returned() {
    let child = child!(|| {
        let arena = StackAllocator::with_capacity(200);
        refusing(1_000, || drop(arena.alloc([0u8; 2_000])));
    });
    child.assert_aborted_saying(&["memory allocation of 2"]);
}

#[test]
fn box_leaked_on_the_heap_is_valid_until_reset() {
    let mut arena = StackAllocator::new();
    let leaked = StackBox::leak(arena.alloc_slice(10, |i| i));
    drop(arena.alloc([0u8; 100]));
    leaked.reverse();
    assert_eq!((leaked[0], leaked.len()), (9, 10));
    arena.reset();
    assert!(arena.used() == 0);
}
