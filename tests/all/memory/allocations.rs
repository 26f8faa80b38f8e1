//! How many allocations objects and pools make, and of which sizes.

#![cfg(not(feature = "leak-detection"))] // The ledger allocates, too.

use crate::support::allocator::{BYTES, allocations};
use crate::support::{alone, deep_down, global, on_drop};
use releasepool::{AutoreleasePool, HomeRef, Ref, autoreleasepool};
use std::sync::atomic::Ordering;
use std::thread;

#[test]
fn an_empty_nested_pool_allocates_nothing() {
    drop(AutoreleasePool::new());
    let empty = || {
        for _ in 0..100 {
            let _outer = AutoreleasePool::new();
            autoreleasepool(|_| drop(AutoreleasePool::new()));
            let token = global().push();
            global().pop(token).unwrap();
        }
    };
    empty();
    assert_eq!(allocations(empty), 0);
}

#[test]
fn pools_that_have_been_filled_once_allocate_no_more() {
    let object = Ref::new(0);
    let mut pool = AutoreleasePool::new();
    let mut fill = || {
        for _ in 0..3 {
            (0..5_000).for_each(|_| _ = pool.autorelease(object.clone()));
            pool.drain();
        }
        autoreleasepool(|inner| {
            (0..1_000).for_each(|_| _ = inner.autorelease(object.clone()));
        });
    };
    fill();
    assert_eq!(allocations(fill), 0, "pages come from the thread's cache");
}

#[test]
fn a_page_that_comes_and_goes_is_always_the_same() {
    let object = Ref::new(0);
    let once = || autoreleasepool(|pool| _ = pool.autorelease(object.clone()));
    once();
    assert_eq!(allocations(|| (0..200).for_each(|_| once())), 0);
}

#[test]
fn nested_pools_keep_their_pages_while_an_outer_one_takes_all_spare_pages() {
    alone!();
    let object = Ref::new(0);
    let nested = || {
        let pools: [_; 8] = std::array::from_fn(|_| AutoreleasePool::new());
        pools
            .iter()
            .for_each(|pool| _ = pool.autorelease(object.clone()));
        pools.into_iter().rev().for_each(drop);
    };
    let outer = AutoreleasePool::new();
    nested();
    (0..5_000).for_each(|_| _ = outer.autorelease(object.clone()));
    assert_eq!(allocations(nested), 0);
}

#[test]
fn an_object_is_one_allocation() {
    drop(Ref::new(0));
    assert_eq!(allocations(|| drop(Ref::new([0u8; 100]))), 1);
    assert_eq!(allocations(|| drop(Ref::<str>::from("text"))), 1);
    let values = vec![1, 2, 3];
    assert_eq!(allocations(|| drop(Ref::<[i32]>::from(values))), 1);
    let object = Ref::new(1);
    let shared = || {
        let weak = Ref::downgrade(&object);
        drop(weak.upgrade());
        drop(object.clone());
    };
    assert_eq!(allocations(shared), 0);
}

#[test]
fn an_object_that_goes_home_is_one_allocation_and_its_way_none() {
    drop(AutoreleasePool::new());
    drop(HomeRef::new(0));
    assert_eq!(allocations(|| drop(HomeRef::new([0u8; 100]))), 1);
    let objects = std::array::from_fn::<_, 10, _>(|_| HomeRef::new(String::new()));
    let clones = objects.clone();
    // On a thread that does not use the crate otherwise, and in a deep destructor.
    let thread = thread::spawn(|| allocations(|| objects.into_iter().for_each(drop)));
    assert_eq!(thread.join().unwrap(), 0);
    let deep = thread::spawn(|| {
        drop(Ref::new(on_drop(|| {
            let drops = || clones.into_iter().for_each(drop);
            assert_eq!(deep_down(64, || allocations(drops)), 0);
        })));
    });
    deep.join().unwrap();
    assert_eq!(allocations(|| drop(AutoreleasePool::new())), 0, "nor here");
}

#[test]
fn objects_take_a_header_and_slices_a_length_more() {
    fn bytes_of<R>(make: impl FnOnce() -> R) -> isize {
        let before = BYTES.load(Ordering::Relaxed);
        let made = make();
        let bytes = BYTES.load(Ordering::Relaxed) - before;
        drop(made);
        bytes
    }
    #[repr(align(64))]
    struct Aligned;
    alone!();
    drop(Ref::new(0));
    assert_eq!(bytes_of(|| Ref::new([0u8; 48])), 16 + 48);
    assert_eq!(bytes_of(|| Ref::new(())), 16);
    assert_eq!(bytes_of(|| Ref::<str>::from("")), 24);
    assert_eq!(bytes_of(|| Ref::<[u8]>::from([7; 40])), 24 + 40);
    let aligned = bytes_of(|| Ref::new([Aligned]));
    assert_eq!(
        aligned, 64,
        "the header is right before the value, which is zero-sized here"
    );
}
