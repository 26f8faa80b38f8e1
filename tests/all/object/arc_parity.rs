//! `Ref` has the conversions, comparisons and formatting of `Arc`.

use crate::support::Log;
use releasepool::{AutoreleasePool, Hot, Ref, Weak, autoreleasepool};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::error::Error;
use std::ffi::CStr;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::Arc;

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
