//! Counts, conversions, comparisons and formatting, where std's own tests of `Arc`, which run with `Ref`
//! (`cargo xtask std-arc`), do not look.

use crate::support::{Log, Probe, panic_of};
use releasepool::{AutoreleasePool, Hot, PoolRef, Ref, Weak, autoreleasepool, unsize};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::error::Error;
use std::ffi::{CStr, CString};
use std::hash::{BuildHasher, RandomState};
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;

#[test]
fn from_sequences_moves_and_drops_each_value_once() {
    let log = Log::new();
    let probes = |from: u32| (from..from + 3).map(|id| log.probe(id)).collect::<Vec<_>>();
    drop(Ref::<[_]>::from(probes(0)));
    drop(Ref::<[_]>::from(probes(3).into_boxed_slice()));
    drop(Ref::<[_]>::from([6, 7, 8].map(|id| log.probe(id))));
    drop(probes(9).into_iter().collect::<Ref<[_]>>());
    drop(Ref::<Probe>::from(Box::new(log.probe(12))));
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

/// Compares as the values do, by every operator. Some values are unordered.
fn all_comparisons<R: PartialOrd + Deref<Target = f64>>(references: &[R]) {
    for a in references {
        for b in references {
            assert_eq!([a == b, a != b], [**a == **b, **a != **b]);
            let ours = [a < b, a <= b, a > b, a >= b];
            assert_eq!(ours, [**a < **b, **a <= **b, **a > **b, **a >= **b]);
            assert_eq!(a.partial_cmp(b), (**a).partial_cmp(&**b));
        }
    }
}

#[test]
fn all_references_compare_as_their_values() {
    let values = [1.0, 2.0, 1.0, f64::NAN];
    all_comparisons(&values.map(Ref::new));
    all_comparisons(&values.map(|value| Hot::new(Ref::new(value)).get()));
    autoreleasepool(|pool| {
        all_comparisons(&values.map(|value| pool.create(value)));
        let (one, two) = (pool.create(1), Hot::new(Ref::new(2)).get());
        assert_eq!(one.cmp(&one), Ordering::Equal);
        assert_eq!(two.cmp(&two), Ordering::Equal);
    });
    assert_eq!(Ref::new(1).cmp(&Ref::new(2)), Ordering::Less);
}

#[test]
fn hashes_and_borrows_are_those_of_the_values() {
    let state = RandomState::new();
    let key = Ref::<str>::from("key");
    assert_eq!(state.hash_one(&key), state.hash_one("key"));
    let map = HashMap::from([(key, 1)]);
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
    let error = unsize!(Ref::new("x".parse::<u8>().unwrap_err()) => dyn Error + Send + Sync);
    let boxed: Box<dyn Error> = Box::new(error);
    assert_eq!(boxed.to_string(), "invalid digit found in string");
    assert!(boxed.source().is_none());
}

#[test]
fn errors_have_the_causes_of_the_values() {
    let text = CString::new([0xff_u8]).unwrap();
    let error = Ref::new(text.into_string().unwrap_err());
    let cause = Error::source(&error).expect("it has one");
    assert!(cause.is::<std::str::Utf8Error>(), "{cause}");
}

#[test]
fn weak_references_in_the_destructor_find_it_dead() {
    struct Node(Weak<Node>, Log);
    impl Drop for Node {
        fn drop(&mut self) {
            assert!(self.0.upgrade().is_none());
            assert_eq!((self.0.strong_count(), self.0.weak_count()), (0, 0));
            drop(self.0.clone());
            self.1.note(0);
        }
    }
    let log = Log::new();
    let node = || Ref::new_cyclic(|me| Node(me.clone(), log));
    drop(node());
    // A pool holds it, as the only reference and as one of several.
    let mut pool = AutoreleasePool::new();
    pool.autorelease(node());
    pool.drain();
    let kept = PoolRef::retain(pool.autorelease(node()));
    pool.drain();
    drop(kept);
    assert_eq!(log.count(), 3);
}

#[test]
fn make_mut_whose_clone_panics_changes_nothing() {
    struct Stubborn(u32);
    impl Clone for Stubborn {
        fn clone(&self) -> Self {
            panic!("no clones");
        }
    }
    let mut object = Ref::new(Stubborn(1));
    let other = object.clone();
    assert_eq!(panic_of(|| Ref::make_mut(&mut object).0), "no clones");
    assert!(Ref::ptr_eq(&object, &other));
    assert_eq!(Ref::strong_count(&object), 2);
    drop(other);
    assert_eq!(Ref::make_mut(&mut object).0, 1);
}

#[test]
fn raw_pointers_handed_to_a_pool_behind_its_back() {
    // Foreign code retains by pointer, then autoreleases the new reference.
    let log = Log::new();
    let mut pool = AutoreleasePool::new();
    let lent = pool.create(log.probe(0));
    let raw = PoolRef::as_ptr(lent);
    for _ in 0..3 {
        // SAFETY: alive by the pool's reference; each count is given back once.
        let counted = unsafe {
            Ref::increment_strong_count(raw);
            Ref::from_raw(raw)
        };
        pool.autorelease(counted);
    }
    assert_eq!(pool.drain(), 4);
    assert_eq!(log.ids(), [0]);
}
