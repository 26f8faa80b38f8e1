//! `Ref` has the conversions, comparisons and formatting of `Arc`.

use crate::support::Log;
use releasepool::{AutoreleasePool, Hot, PoolRef, Ref, Weak, autoreleasepool};
use std::borrow::{Borrow, Cow};
use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::error::Error;
use std::ffi::{CStr, CString};
use std::fmt::Display;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::Arc;

#[test]
fn from_values_and_boxes() {
    let object: Ref<u8> = 7.into();
    assert_eq!(*object, 7);
    let object: Ref<String> = Box::new(String::from("boxed")).into();
    assert_eq!(*object, "boxed");
    let object: Ref<[u8; 3]> = Ref::from([1, 2, 3]);
    assert_eq!(*object, [1, 2, 3]);
}

#[test]
fn from_text() {
    let texts: [Ref<str>; 6] = [
        "text".into(),
        String::from("text").into(),
        Box::<str>::from("text").into(),
        Cow::Borrowed("text").into(),
        Cow::<str>::Owned("text".into()).into(),
        Ref::from("text"),
    ];
    assert!(texts.iter().all(|text| &**text == "text"));
    assert_eq!(&*Ref::<str>::from(""), "");
    let bytes: Ref<[u8]> = texts[0].clone().into();
    assert_eq!(&*bytes, b"text");
    assert_eq!(
        Ref::as_ptr(&bytes).cast::<u8>(),
        Ref::as_ptr(&texts[0]).cast()
    );
    assert_eq!(Ref::strong_count(&bytes), 2, "the same object");

    let c: Ref<CStr> = c"text".into();
    assert_eq!(&*c, c"text");
    let c: Ref<CStr> = CString::from(c"text").into();
    assert_eq!(c.to_bytes_with_nul(), b"text\0");
}

#[test]
fn from_sequences() {
    let strings = || vec![String::from("a"), String::from("b")];
    let slices: [Ref<[String]>; 6] = [
        strings().into(),
        strings().into_boxed_slice().into(),
        <[String; 2]>::try_from(strings()).unwrap().into(),
        (&strings()[..]).into(),
        strings().into_iter().collect(),
        strings().into_iter().filter(|_| true).collect(),
    ];
    for slice in &slices {
        assert_eq!(**slice, *strings());
        assert_eq!((Ref::strong_count(slice), Ref::weak_count(slice)), (1, 0));
    }
    assert!(Ref::<[u64]>::from(vec![]).is_empty());
    assert!(Ref::<[u64]>::from([]).is_empty());
    assert!((0..0).collect::<Ref<[u64]>>().is_empty());
    assert_eq!(Ref::<[()]>::from(vec![(); 100]).len(), 100);
    assert_eq!(
        (0..1_000).collect::<Ref<[u32]>>().iter().sum::<u32>(),
        499_500
    );
}

#[test]
fn from_sequences_moves_and_drops_each_value_once() {
    let log = Log::new();
    let probes = |from: u32| (from..from + 3).map(|id| log.probe(id)).collect::<Vec<_>>();
    drop(Ref::<[_]>::from(probes(0)));
    drop(Ref::<[_]>::from(probes(3).into_boxed_slice()));
    drop(Ref::<[_]>::from(
        <[_; 3]>::try_from(probes(6)).ok().unwrap(),
    ));
    drop(probes(9).into_iter().collect::<Ref<[_]>>());
    drop(Ref::<crate::support::Probe>::from(Box::new(log.probe(12))));
    assert!(log.ids().into_iter().eq(0..13), "{:?}", log.ids());
}

#[test]
fn from_an_iterator_that_panics_drops_what_it_gave() {
    let log = Log::new();
    crate::support::panic_of(|| {
        (0..5)
            .map(|id| {
                if id == 3 {
                    panic!("stop")
                } else {
                    log.probe(id)
                }
            })
            .collect::<Ref<[_]>>()
    });
    assert_eq!(log.ids(), [0, 1, 2]);
}

#[test]
fn try_from_slices_to_arrays() {
    let log = Log::new();
    let slice: Ref<[_]> = (0..3).map(|id| log.probe(id)).collect();
    let (weak, address) = (Ref::downgrade(&slice), Ref::as_ptr(&slice).cast::<[_; 3]>());
    let slice = <Ref<[_; 2]>>::try_from(slice)
        .err()
        .expect("the wrong length");
    let array = <Ref<[_; 3]>>::try_from(slice).ok().unwrap();
    assert_eq!((array[2].id, Ref::as_ptr(&array)), (2, address));
    assert!(Ref::ptr_eq(
        &weak.upgrade().unwrap(),
        &releasepool::unsize!(array.clone() => [_])
    ));
    drop(array);
    assert_eq!(log.ids(), [0, 1, 2]);
    assert!(weak.upgrade().is_none());

    let array = <Ref<[String; 1]>>::try_from(Ref::<[String]>::from([String::from("x")])).unwrap();
    let array = Ref::try_unwrap(array).unwrap();
    assert_eq!(array, ["x"]);
    assert_eq!(
        *<Ref<[u8; 0]>>::try_from(Ref::<[u8]>::default()).unwrap(),
        [0u8; 0]
    );
}

#[test]
fn defaults() {
    assert_eq!(*Ref::<u8>::default(), 0);
    assert_eq!(&*Ref::<str>::default(), "");
    assert_eq!(&*Ref::<CStr>::default(), c"");
    assert_eq!(&*Ref::<[u8]>::default(), []);
    assert!(Weak::<u8>::default().upgrade().is_none());
    assert_eq!(*Pin::<Ref<u8>>::default(), 0);
    assert_eq!(&*Pin::<Ref<str>>::default(), "");
}

#[test]
fn comparisons_are_the_values_own() {
    /// Answers every comparison with yes.
    struct Agreeable;
    #[allow(clippy::partialeq_ne_impl, reason = "the test is about it")]
    impl PartialEq for Agreeable {
        fn eq(&self, _: &Self) -> bool {
            true
        }
        fn ne(&self, _: &Self) -> bool {
            true
        }
    }
    impl PartialOrd for Agreeable {
        fn partial_cmp(&self, _: &Self) -> Option<Ordering> {
            None
        }
        fn lt(&self, _: &Self) -> bool {
            true
        }
        fn le(&self, _: &Self) -> bool {
            true
        }
        fn gt(&self, _: &Self) -> bool {
            true
        }
        fn ge(&self, _: &Self) -> bool {
            true
        }
    }
    let (a, b) = (Ref::new(Agreeable), Ref::new(Agreeable));
    assert!(a == b && a != b && a < b && a <= b && a > b && a >= b);
    assert_eq!(a.partial_cmp(&b), None);
}

/// Compares as the values do, by every operator.
fn all_comparisons<R: Ord + std::ops::Deref<Target = i32>>(references: &[R]) {
    for a in references {
        for b in references {
            assert_eq!([a == b, a != b], [**a == **b, **a != **b]);
            let ours = [a < b, a <= b, a > b, a >= b];
            assert_eq!(ours, [**a < **b, **a <= **b, **a > **b, **a >= **b]);
            assert_eq!(a.cmp(b), (**a).cmp(&**b));
            assert_eq!(a.partial_cmp(b), Some((**a).cmp(&**b)));
        }
    }
}

#[test]
fn all_references_compare_as_their_values() {
    let values = [1, 2, 1];
    all_comparisons(&values.map(Ref::new));
    let hot = values.map(|value| Hot::try_new(Ref::new(value)).unwrap());
    all_comparisons(&hot.each_ref().map(Hot::get));
    all_comparisons(&hot);
    autoreleasepool(|pool| all_comparisons(&values.map(|value| pool.create(value))));
}

#[test]
fn comparisons_are_those_of_the_values() {
    let (a, b) = (Ref::new(1), Ref::new(2));
    assert!(a < b);
    assert!(b > a);
    assert_ne!(a, b);
    assert_eq!(a, Ref::new(1));
    assert_eq!(a.cmp(&b), Ordering::Less);
    assert_eq!(Ref::new(f64::NAN).partial_cmp(&Ref::new(1.0)), None);
    let nan = Ref::new(f64::NAN);
    assert_ne!(nan, nan.clone());
    assert!(Ref::<str>::from("a") < Ref::<str>::from("b"));
    let (x, y): (Ref<[u8]>, Ref<[u8]>) = ([1, 2].into(), [1, 3].into());
    assert!(x < y && x.max(y.clone()) == y);
}

#[test]
fn hashes_and_borrows_are_those_of_the_values() {
    let state = RandomState::new();
    assert_eq!(
        state.hash_one(Ref::<str>::from("key")),
        state.hash_one("key")
    );
    let mut map = HashMap::new();
    map.insert(Ref::<str>::from("key"), 1);
    assert_eq!(map.get("key"), Some(&1), "found by its borrowed form");
    let set: BTreeSet<Ref<str>> = ["b", "a"].map(Ref::from).into();
    assert!(set.contains("a") && set.iter().map(|text| &**text).eq(["a", "b"]));
    let set: HashSet<Ref<Vec<u8>>> = HashSet::from([Ref::new(vec![1])]);
    assert!(set.contains(&vec![1]));
    let borrowed: &str = Ref::<str>::borrow(map.keys().next().unwrap());
    assert_eq!(borrowed, "key");
    fn len(text: impl AsRef<str>) -> usize {
        text.as_ref().len()
    }
    assert_eq!(len(&*Ref::new(String::from("four"))), 4);
    assert_eq!(AsRef::<str>::as_ref(&Ref::<str>::from("four")).len(), 4);
}

#[test]
fn formatting_is_that_of_the_values() {
    let (r, a) = (Ref::new(Some(1.5)), Arc::new(Some(1.5)));
    assert_eq!(format!("{r:?} {r:#?}"), format!("{a:?} {a:#?}"));
    let (r, a) = (Ref::new(7), Arc::new(7));
    assert_eq!(format!("{r} {r:>5} {r:05}"), format!("{a} {a:>5} {a:05}"));
    assert_eq!(format!("{r:p}"), format!("{:p}", Ref::as_ptr(&r)));
    assert_eq!(format!("{:?}", Ref::downgrade(&r)), "(Weak)");
    let pool = AutoreleasePool::new();
    let lent = pool.autorelease(r.clone());
    assert_eq!(format!("{lent} {lent:?} {lent:p}"), format!("7 7 {r:p}"));
    assert_eq!(lent.as_ref(), &7);
}

#[test]
fn errors_are_errors() {
    #[derive(Debug)]
    struct Outer(std::num::ParseIntError);
    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("outer")
        }
    }
    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }
    let error: Ref<dyn Error + Send + Sync> = releasepool::unsize!(Ref::new(Outer("x".parse::<u8>().unwrap_err())) => dyn Error + Send + Sync);
    let boxed: Box<dyn Error> = Box::new(error);
    assert_eq!(boxed.to_string(), "outer");
    assert!(boxed.source().unwrap().is::<std::num::ParseIntError>());
}

#[test]
fn pinned_futures_are_polled_in_place() {
    let pinned = Ref::pin(std::marker::PhantomPinned);
    let address = std::ptr::from_ref(&*pinned);
    let moved = [pinned];
    assert_eq!(std::ptr::from_ref(&*moved[0]), address);

    let future: Pin<Ref<dyn Display>> = releasepool::unsize!(Ref::pin(7) => dyn Display);
    assert_eq!(future.to_string(), "7");
    let text: Pin<Ref<[u8]>> = releasepool::unsize!(Ref::pin([1, 2]) => [u8]);
    assert_eq!(text.len(), 2);
}

#[test]
fn downcasts_succeed_by_the_right_type_only() {
    use std::any::Any;
    type Shared = dyn Any + Send + Sync;
    let object: Ref<Shared> = releasepool::unsize!(Ref::new(String::from("x")) => Shared);
    let object = object.downcast::<u8>().unwrap_err();
    let text = object.clone().downcast::<String>().unwrap();
    assert_eq!((&**text, Ref::strong_count(&text)), ("x", 2));
    drop(object);
    assert_eq!(Ref::into_inner(text).unwrap(), "x");
}

#[test]
fn a_pool_ref_derefs_to_what_the_pool_holds() {
    let pool = AutoreleasePool::new();
    let lent: PoolRef<'_, [String]> = pool.autorelease(Ref::from([String::from("a")]));
    assert_eq!(lent.len(), 1);
    assert_eq!(lent.iter().map(String::len).sum::<usize>(), 1);
    let cell = pool.create(Cell::new(1));
    cell.set(2);
    assert_eq!(PoolRef::get(cell).get(), 2);
}
