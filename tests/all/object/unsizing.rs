//! `unsize!`: what it coerces, for each kind of handle. Every group of lints is forbidden here that a module can
//! forbid, so the macro allows none: an `allow` of a lint that is forbidden is error E0453. The groups for crates
//! are in an example in `src/compile_fail_tests.rs`. Of Clippy's group `restriction`, which forbids plain
//! code, too, these are the lints of what the macro expands to.
#![forbid(
    clippy::all,
    clippy::cargo,
    clippy::nursery,
    clippy::pedantic,
    deprecated_safe,
    keyword_idents,
    let_underscore,
    nonstandard_style,
    refining_impl_trait,
    rust_2018_compatibility,
    rust_2018_idioms,
    unsafe_code,
    unused,
    unused_unsafe,
    warnings
)]
#![forbid(
    clippy::absolute_paths,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::as_conversions,
    clippy::multiple_unsafe_ops_per_block,
    clippy::pattern_type_mismatch,
    clippy::semicolon_outside_block,
    clippy::shadow_reuse,
    clippy::shadow_same,
    clippy::shadow_unrelated,
    clippy::undocumented_unsafe_blocks,
    clippy::unnecessary_safety_comment
)]

use crate::support::Log;
use releasepool::memory::StackAllocator;
use releasepool::{AutoreleasePool, HomeRef, Hot, Ref, unsize};
use std::fmt::Display;
use std::pin::Pin;

#[test]
fn every_kind_of_handle() {
    let pool = AutoreleasePool::new();
    let counted = Ref::new(7);
    let weak = unsize!(Ref::downgrade(&counted) => dyn Display);
    let lent = unsize!(pool.autorelease(Ref::clone(&counted)) => dyn Display);
    let pinned: Pin<Ref<dyn Display>> = unsize!(Ref::pin(7) => dyn Display);
    assert_eq!(format!("{lent}{pinned}"), "77");
    assert!(weak.upgrade().is_some());

    let number = HomeRef::new(7);
    let weak_home = unsize!(HomeRef::downgrade(&number) => dyn Display);
    let home = unsize!(number => dyn Display);
    assert_eq!(home.with(ToString::to_string), "7");
    assert!(weak_home.upgrade().is_some());

    let owner = Hot::new(counted);
    let hot_ref = unsize!(owner.get() => dyn Display + Send + Sync);
    let hot = unsize!(owner => dyn Display + Send + Sync);
    assert_eq!(format!("{}{hot_ref}", &*hot), "77");

    let arena = StackAllocator::with_capacity(64);
    let boxed = unsize!(arena.alloc(7) => dyn Display);
    assert_eq!(boxed.to_string(), "7");
}

#[test]
fn trait_objects_lose_auto_traits_and_gain_supertraits() {
    let all: Ref<dyn Display + Send + Sync> = unsize!(Ref::new(1) => dyn Display + Send + Sync);
    let less: Ref<dyn Display + Send> = unsize!(all => dyn Display + Send);
    let least: Ref<dyn Display> = unsize!(less => dyn Display);
    let same: Ref<dyn Display> = unsize!(least => dyn Display);
    assert_eq!(same.to_string(), "1");
}

#[test]
fn closures_and_structs_with_an_unsized_tail() {
    struct Tailed<T: ?Sized> {
        head: u8,
        tail: T,
    }

    let log = Log::new();
    let probe = log.probe(0);
    let function: Ref<dyn Fn(u32) -> u32> = unsize!(
        Ref::new(move |n| {
            let _held = &probe;
            n + 1
        }) => dyn Fn(u32) -> u32
    );
    assert_eq!(function(1), 2);
    drop(function);
    assert_eq!(log.count(), 1);

    let whole = Ref::new(Tailed {
        head: 1,
        tail: [log.probe(1), log.probe(2)],
    });
    let tailed: Ref<Tailed<[_]>> = unsize!(whole => Tailed<[_]>);
    assert_eq!(
        (tailed.head, tailed.tail.len(), tailed.tail[1].id),
        (1, 2, 2)
    );
    let pool = AutoreleasePool::new();
    let lent = pool.autorelease(tailed);
    assert_eq!(lent.tail[0].id, 1);
    drop(pool);
    assert_eq!(log.ids(), [0, 1, 2]);
}

#[test]
fn unsize_evaluates_its_operand_once_and_outside_of_unsafe() {
    let mut evaluated = 0;
    let slice = unsize!({ evaluated += 1; Ref::new([evaluated; 2]) } => [i32]);
    assert_eq!((&*slice, evaluated), (&[1, 1][..], 1));
    // The names in the macro do not clash with the user's.
    let (handle, pointer) = (Ref::new([1u8]), 7);
    let unsized_handle = unsize!(handle => [u8]);
    assert_eq!((unsized_handle.len(), pointer), (1, 7));
}
