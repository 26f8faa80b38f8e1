//! Closures and destructors that panic, or use the arena that they are called by.

use crate::support::{Log, on_drop, panic_of};
use releasepool::memory::{StackAllocator, StackBox};
use std::cell::{Cell, RefCell};

#[test]
fn closure_that_panics_halfway_leaves_nothing() {
    let log = Log::new();
    // The value is in an arena, and then on its heap.
    for capacity in [4096, 0] {
        let arena = StackAllocator::with_capacity(capacity);
        let below = arena.alloc(7);
        let used = arena.used();
        let before = log.count();
        let message = panic_of(|| {
            arena.alloc_slice(10, |i| {
                assert_ne!(i, 6, "on purpose");
                log.probe(i as u32)
            })
        });
        assert!(message.contains("on purpose"));
        assert_eq!(log.ids()[before..], [0, 1, 2, 3, 4, 5]);
        assert_eq!((arena.used(), *below), (used, 7));
    }
}

#[test]
fn memory_is_freed_if_a_destructor_panics() {
    let log = Log::new();
    let arena = StackAllocator::with_capacity(4096);
    let below = arena.alloc(log.probe(0));
    let used = arena.used();
    let bomb = arena.alloc((on_drop(|| panic!("on purpose")), log.probe(1)));
    assert_eq!(panic_of(|| drop(bomb)), "on purpose");
    assert_eq!(log.ids(), [1], "the other field is dropped");
    assert_eq!(arena.used(), used);
    let slice = arena.alloc_slice(3, |i| {
        (on_drop(move || assert_ne!(i, 1)), log.probe(i as u32))
    });
    panic_of(|| drop(slice));
    assert_eq!(log.ids(), [1, 0, 1, 2]);
    assert_eq!((arena.used(), below.id), (used, 0));
    drop(below);
    assert!(arena.used() == 0);
}

#[test]
fn destructor_that_panics_below_others_leaves_them_alone() {
    let arena = StackAllocator::with_capacity(4096);
    let below = arena.alloc(String::from("below"));
    let bomb = arena.alloc(on_drop(|| panic!("on purpose")));
    let above = arena.alloc(String::from("above"));
    let on_heap = arena.alloc((on_drop(|| panic!("on purpose")), [0u8; 5_000]));
    panic_of(|| drop(bomb));
    panic_of(|| drop(on_heap));
    assert_eq!((&**below, &**above), ("below", "above"));
    drop(above);
    assert_eq!(arena.alloc(1u8).checked_add(1), Some(2));
    drop(below);
    assert!(arena.used() == 0);
}

#[test]
fn boxes_dropped_by_unwinding_free_their_memory() {
    let log = Log::new();
    let arena = StackAllocator::with_capacity(4096);
    panic_of(|| {
        let _first = arena.alloc(log.probe(0));
        let _second = arena.alloc_slice(2, |i| log.probe(i as u32 + 1));
        panic!("on purpose");
    });
    assert_eq!(log.ids(), [1, 2, 0]);
    assert!(arena.used() == 0);
}

#[test]
fn closure_may_use_the_arena_while_it_fills_a_slice() {
    let arena = StackAllocator::with_capacity(4096);
    let kept = RefCell::new(Vec::new());
    let slice = arena.alloc_slice(20, |i| {
        let temporary = arena.alloc([i; 5]);
        if i % 3 == 0 {
            kept.borrow_mut().push(arena.alloc(i));
        }
        if i % 7 == 0 {
            kept.borrow_mut().clear();
        }
        temporary.iter().sum::<usize>()
    });
    assert!(slice.iter().enumerate().all(|(i, sum)| *sum == 5 * i));
    let kept: Vec<_> = kept.into_inner().iter().map(|i| **i).collect();
    assert_eq!(kept, [15, 18]);
    drop(slice);
    assert!(arena.used() == 0);
}

#[test]
fn destructor_may_use_the_arena_that_its_value_is_in() {
    let arena = StackAllocator::with_capacity(4096);
    let others = RefCell::new(Vec::new());
    let result = Cell::new(0);
    let below = arena.alloc(1u64);
    let mut values: Vec<StackBox<u64>> = (0..4).map(|n| arena.alloc(n)).collect();
    let above = values.split_off(2);
    let value = arena.alloc(on_drop(|| {
        // Makes values, keeps one, drops one below and one above, and forgets one.
        result.set(*arena.alloc_slice(9, |i| i).last().unwrap());
        others.borrow_mut().push(arena.alloc(result.get()));
        drop(values);
        drop(above);
        std::mem::forget(arena.alloc(5u8));
    }));
    drop(value);
    assert_eq!(result.get(), 8);
    assert_eq!((**others.borrow())[0], arena.alloc(8));
    assert_eq!(*below, 1);
    others.borrow_mut().clear();
    assert!(arena.used() != 0, "one is forgotten");
}

#[test]
fn destructor_may_drop_its_own_neighbors() {
    // Each drops the value above it, which is the topmost then, while it is itself in use.
    struct Node<'s>(u32, Cell<Option<StackBox<'s, Node<'s>>>>, &'s Log);
    impl Drop for Node<'_> {
        fn drop(&mut self) {
            drop(self.1.take());
            self.2.note(self.0);
        }
    }
    let log = Log::new();
    for capacity in [8192, 500] {
        let arena = StackAllocator::with_capacity(capacity);
        let nodes: Vec<_> = (0..30)
            .map(|n| arena.alloc(Node(n, Cell::new(None), &log)))
            .collect();
        let first = nodes.into_iter().rev().reduce(|above, node| {
            node.1.set(Some(above));
            node
        });
        let before = log.count();
        drop(first);
        assert!(log.ids()[before..].iter().rev().copied().eq(0..30));
        assert!(arena.used() == 0);
    }
}
