//! Boxes, vectors and tables of `allocator-api2`, in blocks and in an arena: that the allocators
//! get along with what collections do to pointers. Both allocators run the same code, mostly for
//! Miri.

use allocator_api2::alloc::Allocator;
use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec;
use hashbrown::HashMap;
use releasepool::memory::{BlockAllocator, StackAllocator};
use std::any::Any;
use std::hash::RandomState;
use std::mem::MaybeUninit;

/// A type of size 0 that is aligned to more than blocks are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
struct Nothing;

/// Boxes values that fit a block, are too large or over-aligned for one, or of size 0.
fn boxes<A: Allocator + Copy + 'static>(a: A) {
    #[derive(Clone, Debug, PartialEq)]
    #[repr(align(64))]
    struct Line([u8; 65]);
    one_box(1u8, a);
    one_box(String::from("text"), a);
    one_box([7u64; 80], a);
    one_box([7u64; 81], a);
    one_box(Line([3; 65]), a);
    one_box((), a);
    one_box([0u64; 0], a);
    one_box(Nothing, a);
}

fn one_box<T: Clone + PartialEq + std::fmt::Debug + 'static, A: Allocator + Copy + 'static>(
    value: T,
    a: A,
) {
    let make = || Box::new_in(value.clone(), a);
    drop(make());
    let mut first = make();
    let second = first.clone();
    std::mem::swap(&mut *first, &mut *make());
    assert_eq!((&*first, &*second), (&value, &value));
    assert_eq!(Box::into_inner(first), value);
    drop(Box::into_pin(second));

    let mut uninit = Box::<T, A>::new_uninit_in(a);
    (*uninit).write(value.clone());
    // SAFETY: all of it was just written.
    assert_eq!(*unsafe { uninit.assume_init() }, value);
    assert_eq!(
        *Box::write(Box::<T, A>::new_uninit_in(a), value.clone()),
        value
    );
    drop(Box::<MaybeUninit<T>, A>::new_zeroed_in(a));

    // SAFETY: from a box of the same allocator, and used once.
    unsafe {
        assert_eq!(*Box::from_raw_in(Box::into_raw(make()), a), value);
        let (raw, allocator) = Box::into_raw_with_allocator(make());
        assert_eq!(*Box::from_raw_in(raw, allocator), value);
        let leaked: &mut T = Box::leak(make());
        *leaked = value.clone();
        let again = Box::from_raw_in(&raw mut *leaked, a);
        assert_eq!(*again, value);
        drop(Box::from_raw_in(Box::leak(again), a));
    }
    let any: Box<dyn Any, A> = allocator_api2::unsize_box!(make());
    assert_eq!(any.downcast_ref(), Some(&value));
    drop(any);

    let mut list = Box::into_boxed_slice(make()).into_vec();
    list.push(value.clone());
    assert!(list.iter().all(|one| *one == value));
}

/// Boxes slices of no, of one, of some and of many values.
fn slices<A: Allocator + Copy>(a: A) {
    // As many values as a block holds, and more.
    let (some, many) = if cfg!(miri) { (3, 90) } else { (40, 1_000) };
    for n in [0, 1, some, many] {
        one_slice(n, |i| i as u64, a);
        one_slice(n, |_| Nothing, a);
    }
    for n in [0, 1, some, 2 * some] {
        one_slice(n, std::boxed::Box::new, a);
    }
}

fn one_slice<T: Clone + PartialEq + std::fmt::Debug, A: Allocator + Copy>(
    n: usize,
    of: impl Fn(usize) -> T,
    a: A,
) {
    let is_whole = |all: &[T]| all.len() == n && (0..n).all(|i| all[i] == of(i));
    let make = || {
        let mut list = Vec::new_in(a);
        list.extend((0..n).map(&of));
        list
    };
    drop(make().into_boxed_slice());
    let slice = make().into_boxed_slice();
    assert!(is_whole(&slice) && is_whole(&slice.clone()));

    // Into a vector, which grows, shrinks, and becomes a slice again.
    let mut list = slice.into_vec();
    list.extend((n..2 * n + 3).map(&of));
    list.truncate(n);
    list.shrink_to_fit();
    let slice = list.into_boxed_slice();
    assert!(is_whole(&slice));

    // SAFETY: from a box or a vector of the same allocator, and used once.
    unsafe {
        let slice = Box::from_raw_in(Box::leak(slice), a);
        let (raw, allocator) = Box::into_raw_with_allocator(slice);
        let mut list = Box::from_raw_in(raw, allocator).into_vec();
        assert!(is_whole(&list));
        list.reserve(7);
        let (raw, len, capacity) = (list.as_mut_ptr(), list.len(), list.capacity());
        std::mem::forget(list);
        let list = Vec::from_raw_parts_in(raw, len, capacity, a);
        assert!(is_whole(&list));
    }

    let mut uninit = Box::<[T], A>::new_uninit_slice_in(n, a);
    for (i, place) in uninit.iter_mut().enumerate() {
        place.write(of(i));
    }
    // SAFETY: all of it was just written.
    assert!(is_whole(&unsafe { uninit.assume_init() }));
    drop(Box::<[T], A>::new_zeroed_slice_in(n, a));

    let mut list = make();
    assert_eq!(list.drain(..n / 2).count(), n / 2);
    let rest = list.split_off(list.len() / 2);
    list.shrink_to(1);
    drop((rest, list));
}

/// The provenance of a box's pointer covers its values alone; a vector that is made from the box
/// and grows in place needs more.
fn slice_grows_in_place<A: Allocator + Copy>(a: A) {
    let mut slice = Box::<[u64], A>::new_uninit_slice_in(3, a).into_vec();
    slice.fill(MaybeUninit::new(1));
    // SAFETY: all of it was just written.
    let slice = unsafe { slice.into_boxed_slice().assume_init() };
    let mut list = slice.into_vec();
    let first = list.as_ptr();
    list.reserve_exact(1);
    list.push(2);
    assert_eq!((list.as_ptr(), &*list), (first, &[1, 1, 1, 2][..]));
    list.truncate(3);
    let mut list = list.into_boxed_slice().into_vec();
    list.reserve_exact(1);
    list.push(3);
    assert_eq!((list.as_ptr(), &*list), (first, &[1, 1, 1, 3][..]));
}

fn tables<A: Allocator + Copy>(a: A) {
    let mut table = HashMap::<_, _, RandomState, A>::with_hasher_in(RandomState::new(), a);
    let n = if cfg!(miri) { 15 } else { 400 };
    for i in 0..n {
        table.insert(i, Box::new_in([i; 3], a));
    }
    let clone = table.clone();
    table.retain(|i, _| i % 8 == 0);
    table.shrink_to_fit();
    assert!(table.iter().all(|(i, value)| **value == [*i; 3]));
    assert_eq!(
        clone.into_iter().map(|(_, value)| value[0]).max(),
        Some(n - 1)
    );
    table.clear();
    table.shrink_to_fit();
    table.insert(1, Box::new_in([1; 3], a));
    let mut none = HashMap::<(), (), RandomState, A>::with_hasher_in(RandomState::new(), a);
    none.insert((), ());
}

/// Takes a reference, as `BlockAllocator` is not `Copy`, and references to allocators are
/// allocators.
fn in_blocks(blocks: &'static BlockAllocator) {
    boxes(blocks);
    slices(blocks);
    tables(blocks);
    let stats = blocks.stats();
    assert_eq!((stats.live_blocks, stats.waste), (0, 0));
}

#[test]
fn in_blocks_of_the_same_thread() {
    let blocks = std::boxed::Box::new(BlockAllocator::new());
    in_blocks(std::boxed::Box::leak(blocks));
}

#[test]
fn boxed_slices_grow_in_place() {
    slice_grows_in_place(&BlockAllocator::new());
    slice_grows_in_place(&StackAllocator::with_capacity(1_000));
}

#[test]
fn in_blocks_of_the_process() {
    // Its heap is found in another way. Other tests use it, so its statistics are not checked.
    let blocks = std::boxed::Box::leak(std::boxed::Box::new(BlockAllocator::process()));
    one_box(String::from("text"), &*blocks);
    one_slice(5, |i| i, &*blocks);
    tables(&*blocks);
}

#[test]
fn in_an_arena_and_in_its_overflow() {
    // The arenas have room for all values, for none, and for some.
    for capacity in [1 << 20, 0, 600] {
        let arena = StackAllocator::with_capacity(capacity);
        let arena = std::boxed::Box::leak(std::boxed::Box::new(arena));
        boxes(&*arena);
        slices(&*arena);
        tables(&*arena);
        assert!(arena.used() == 0);
    }
}
