//! Slices that are collected from iterators, and cloned from slices.

use crate::support::{Log, Probe, fresh, global, me, totals};
use releasepool::Ref;
use std::cell::Cell;

/// An iterator of `values` values, which says that it has `hint` ones.
struct Claiming<F> {
    make: F,
    next: u32,
    values: u32,
    hint: usize,
}

impl<T, F: Fn(u32) -> T> Iterator for Claiming<F> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        assert_ne!(self.next, u32::MAX, "asked again after the end");
        if self.next == self.values {
            self.next = u32::MAX;
            return None;
        }
        self.next += 1;
        Some((self.make)(self.next - 1))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.hint, Some(self.hint))
    }
}

fn claiming<T>(values: u32, hint: usize, make: impl Fn(u32) -> T) -> impl Iterator<Item = T> {
    Claiming {
        make,
        next: 0,
        values,
        hint,
    }
}

#[test]
fn values_are_written_into_the_object_if_their_number_is_known() {
    // Figures are those of threads that use pools.
    drop(global().pool());
    let made_first = |is_known: bool| {
        let before = totals().created;
        let made = |_| totals().created - before;
        let values = 0..1_000;
        let slice: Ref<[u64]> = match is_known {
            true => values.map(made).collect(),
            false => values.filter(|_| true).map(made).collect(),
        };
        slice[0]
    };
    assert_eq!([true, false].map(made_first), [1, 0]);
}

#[test]
fn a_wrong_size_hint_loses_no_value() {
    for values in [0, 1, 2, 15, 16, 17, 18, 40] {
        for hint in [0, 1, 2, 16, 17, 18, 39, 40, 41, 100] {
            let log = Log::new();
            let slice: Ref<[Probe]> = claiming(values, hint, |id| log.probe(id)).collect();
            assert!(slice.iter().map(|probe| probe.id).eq(0..values));
            assert_eq!((Ref::strong_count(&slice), log.count()), (1, 0));
            drop(slice);
            assert!(log.ids().into_iter().eq(0..values), "{:?}", log.ids());
            // Of these sizes, the first values of a long slice are written before the others.
            let slice: Ref<[u32]> = claiming(values, hint, |id| id).collect();
            assert!(slice.iter().copied().eq(0..values));
            let slice: Ref<[u64]> = claiming(values, hint, u64::from).collect();
            assert!(slice.iter().copied().eq(0..values.into()));
        }
    }
}

#[test]
fn a_wrong_size_hint_counts_one_object() {
    let totals = || {
        let (me, all) = (me().key(), global().snapshot().threads);
        let mine = all.into_iter().find(|thread| thread.key == me);
        mine.map(|thread| (thread.totals.created, thread.totals.destroyed))
    };
    fresh(|| {
        for (n, values) in (1..).zip([0, 1, 2, 3, 40]) {
            let slice: Ref<[u32]> = claiming(values, 2, |id| id).collect();
            assert_eq!(totals(), Some((n, n - 1)));
            drop(slice);
            assert_eq!(totals(), Some((n, n)));
        }
    });
}

#[test]
fn of_every_length_and_size() {
    fn check<T: Copy + PartialEq + std::fmt::Debug + 'static>(of: impl Fn(u8) -> T) {
        for len in (0..=40).step_by(if cfg!(miri) { 17 } else { 1 }) {
            let expected: Vec<T> = (0..len).map(&of).collect();
            // Each has another way to hand out its values.
            let slices: [Ref<[T]>; 7] = [
                (0..len).map(&of).collect(),
                expected.iter().copied().collect(),
                expected.iter().rev().rev().cloned().collect(),
                expected.clone().into_iter().collect(),
                (0..len / 2).chain(len / 2..len).map(&of).collect(),
                (0..=len).map(&of).take(len.into()).collect(),
                expected.as_slice().into(),
            ];
            for slice in slices {
                assert_eq!(*slice, *expected);
            }
        }
    }
    check(|_| ());
    check(|n| n);
    check(u16::from);
    check(u32::from);
    check(u64::from);
    check(u128::from);
    check(|n| [n; 3]);
    // With padding, and with an uninitialized part.
    check(|n| (n, u32::from(n)));
    check(|n| (n % 2 == 0).then_some(u64::from(n)));
}

thread_local! {
    static CLONES: Cell<u32> = const { Cell::new(0) };
}

#[test]
fn values_that_are_not_copy_are_cloned_each() {
    #[derive(PartialEq, Debug)]
    struct Counting(u32);
    impl Clone for Counting {
        fn clone(&self) -> Self {
            CLONES.set(CLONES.get() + 1);
            Self(self.0 + 100)
        }
    }
    let values: Vec<_> = (0..20).map(Counting).collect();
    let clones: Ref<[Counting]> = values.as_slice().into();
    assert!(clones.iter().map(|clone| clone.0).eq(100..120));
    assert_eq!(CLONES.get(), 20);
}
