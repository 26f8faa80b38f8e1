//! `StackAllocator` and `StackBox`: when memory is used again, and values that are forgotten.

use crate::arena::{HEADER, address};
use crate::support::Log;
use releasepool::memory::{StackAllocator, StackBox};
use releasepool::unsize;
use std::fmt::Display;

#[test]
fn holes_are_used_again_when_everything_above_was_dropped() {
    let log = Log::new();
    let arena = StackAllocator::with_capacity(4096);
    let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|id| arena.alloc(log.probe(id)));
    let used = arena.used();
    let entry = used / 5;
    drop(b);
    drop(d);
    assert_eq!(log.ids(), [1, 3], "dropped at once");
    assert_eq!(arena.used(), used, "e is above them");
    drop(e);
    // `e` and `d` are free, but c is above b.
    assert_eq!(arena.used(), 3 * entry);
    let other = arena.alloc(log.probe(5));
    assert_eq!(arena.used(), 4 * entry, "in the place of d");
    drop(c);
    assert_eq!(arena.used(), 4 * entry);
    drop(other);
    assert_eq!(arena.used(), entry, "the top skips two holes at once");
    assert_eq!(a.id, 0);
    drop(a);
    assert_eq!(log.ids(), [1, 3, 4, 2, 5, 0]);
    assert!(arena.used() == 0);
}

#[test]
fn leaked_reference_stays_valid_whatever_is_made_and_dropped() {
    let mut arena = StackAllocator::with_capacity(1024);
    let below = arena.alloc([1u8; 16]);
    let leaked: &mut String = StackBox::leak(arena.alloc(String::from("leaked")));
    drop(below);
    for n in 0..20 {
        drop(arena.alloc([n; 100]));
        leaked.push('!');
    }
    assert_eq!(*leaked, format!("leaked{}", "!".repeat(20)));
    // The `String` is in the arena, its text is not.
    drop(std::mem::take(leaked));
    arena.reset();
    assert!(arena.used() == 0);
}

#[test]
fn arena_dropped_with_forgotten_values_runs_no_destructors() {
    let log = Log::new();
    let arena = StackAllocator::with_capacity(256);
    std::mem::forget(arena.alloc(log.probe(0)));
    // This one is on the heap.
    std::mem::forget(arena.alloc((log.probe(1), [0u8; 500])));
    drop(arena);
    assert_eq!(log.count(), 0);
}

#[test]
#[allow(clippy::modulo_one)]
fn every_alignment_up_to_a_page() {
    macro_rules! aligned {
        ($arena:expr, $($align:literal)*) => { $({
            #[repr(align($align))]
            struct Aligned(u8);
            #[repr(align($align))]
            struct Nothing;
            // This starts at any offset.
            let _before = $arena.alloc([0u8; $align % 23 + 1]);
            let value = $arena.alloc(Aligned(7));
            assert_eq!((address(&value) % $align, value.0), (0, 7));
            assert_eq!(address(&$arena.alloc(Nothing)) % $align, 0);
            let slice = $arena.alloc_slice(3, |i| Aligned(i as u8));
            assert_eq!(address(&slice) % $align, 0);
            assert_eq!([0, 1, 2].map(|i: usize| slice[i].0), [0, 1, 2]);
        })* };
    }
    // One arena has room for all values, the other for none.
    for capacity in [1 << 20, 0] {
        let arena = StackAllocator::with_capacity(capacity);
        aligned!(arena, 1 2 4 8 16 32 64 128 256 512 1024 2048 4096);
        assert!(arena.used() == 0);
        let on_heap = arena.high_water() > capacity;
        assert_eq!(on_heap, capacity == 0);
    }
}

#[test]
fn entries_fill_the_arena_to_the_last_byte() {
    let size = 1000 - HEADER;
    let arena = StackAllocator::with_capacity(1000);
    let full = arena.alloc_slice(size, |_| 1u8);
    assert_eq!(arena.used(), 1000);
    drop(full);
    let more = arena.alloc_slice(size + 1, |_| 1u8);
    // It is on the heap, where a node is larger than a header.
    assert!(arena.used() > 1001);
    drop(more);
    assert_eq!(arena.used(), 0);
}

#[test]
fn values_of_size_0_take_no_memory_and_are_dropped() {
    use std::cell::Cell;
    thread_local!(static DROPPED: Cell<u32> = const { Cell::new(0) });
    struct Nothing;
    impl Drop for Nothing {
        fn drop(&mut self) {
            DROPPED.set(DROPPED.get() + 1);
        }
    }
    for mut arena in [StackAllocator::new(), StackAllocator::with_capacity(100)] {
        DROPPED.set(0);
        let nothing = arena.alloc(Nothing);
        let many = arena.alloc_slice(1_000, |_| Nothing);
        let none = arena.alloc_slice(0, |_| String::new());
        assert_eq!((many.len(), none.len()), (1_000, 0));
        assert_eq!((arena.used(), arena.high_water()), (0, 0));
        assert!(arena.used() == 0);
        drop(StackBox::into_inner(nothing));
        assert_eq!(DROPPED.get(), 1);
        drop((many, none));
        assert_eq!(DROPPED.get(), 1_001);
        assert_eq!(StackBox::leak(arena.alloc_slice(10, |_| ())).len(), 10);
        arena.reset();
    }
}

#[test]
fn values_move_in_and_out() {
    let arena = StackAllocator::with_capacity(1024);
    let text = arena.alloc(String::from("moved"));
    assert_eq!(StackBox::into_inner(text), "moved");
    assert!(arena.used() == 0, "the memory is freed");
    assert_eq!(*arena.alloc_str("a text"), *"a text");
    assert_eq!(*arena.alloc_str(""), *"");
    assert_eq!(*arena.alloc_slice_copy(&[1, 2, 3]), [1, 2, 3]);
    let debug = format!("{arena:?}");
    assert!(debug.contains("used: 0, capacity: 1024, high_water"));
    assert!(arena.used() == 0);
}

#[test]
fn boxes_hold_boxes_of_the_same_arena() {
    let log = Log::new();
    let arena = StackAllocator::with_capacity(4096);
    let outer = arena.alloc_slice(5, |i| arena.alloc(log.probe(i as u32)));
    let list = arena.alloc(outer.iter().map(|probe| probe.id).collect::<Vec<_>>());
    assert_eq!(*list, [0, 1, 2, 3, 4]);
    drop(outer);
    assert_eq!(log.ids(), [0, 1, 2, 3, 4]);
    drop(list);
    assert!(arena.used() == 0);
}

#[test]
fn boxes_are_covariant() {
    fn shorter<'s, 't>(long: StackBox<'s, &'static str>, _: &'t str) -> StackBox<'s, &'t str> {
        long
    }
    let arena = StackAllocator::with_capacity(1024);
    let text = String::from("short");
    let mut value = shorter(arena.alloc("long"), &text);
    assert_eq!(*value, "long");
    *value = &text;
    assert_eq!(*value, "short");
}

#[test]
fn boxes_of_trait_objects_and_slices() {
    let log = Log::new();
    let arena = StackAllocator::with_capacity(1024);
    let shown: [StackBox<dyn Display>; 2] = [
        unsize!(arena.alloc(1.5) => dyn Display),
        unsize!(arena.alloc(String::from("text")) => dyn Display),
    ];
    assert_eq!(shown.each_ref().map(|s| s.to_string()), ["1.5", "text"]);
    drop(shown);
    let probes = unsize!(arena.alloc([log.probe(0), log.probe(1)]) => [crate::support::Probe]);
    assert_eq!(probes.len(), 2);
    drop(probes);
    assert_eq!(log.ids(), [0, 1]);
    assert!(arena.used() == 0);
    let mut numbers = unsize!(arena.alloc(1..4) => dyn Iterator<Item = i32>);
    assert_eq!(numbers.size_hint(), (3, Some(3)));
    assert_eq!(numbers.next(), Some(1));
    assert_eq!((&mut *numbers).sum::<i32>(), 5);
}

#[test]
fn boxes_are_like_their_values() {
    let (arena, other) = (StackAllocator::new(), StackAllocator::new());
    let (one, two) = (arena.alloc(1), other.alloc(2));
    assert!(one != two && one == arena.alloc(1));
    assert_eq!(format!("{one} {two:?}"), "1 2");
}
