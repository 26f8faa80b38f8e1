//! The counts of an object: one word, with the rules of `Arc`.

use crate::support::{Log, panic_of};
use releasepool::{AutoreleasePool, PoolRef, Ref, Weak};
use std::cell::RefCell;
use std::sync::Arc;

#[test]
fn counts_equal_those_of_an_arc() {
    let (r, a) = (Ref::new(1), Arc::new(1));
    let counts = |r: &Ref<i32>| (Ref::strong_count(r), Ref::weak_count(r));
    let expected = |a: &Arc<i32>| (Arc::strong_count(a), Arc::weak_count(a));
    assert_eq!(counts(&r), expected(&a));
    let (r2, a2) = (r.clone(), a.clone());
    let (w, v) = (Ref::downgrade(&r), Arc::downgrade(&a));
    let (w2, v2) = (w.clone(), v.clone());
    assert_eq!(counts(&r), expected(&a));
    assert_eq!(
        (w.strong_count(), w.weak_count()),
        (v.strong_count(), v.weak_count())
    );
    drop((r2, a2, w2, v2));
    assert_eq!(counts(&r), expected(&a));
    drop((r, a));
    assert_eq!(
        (w.strong_count(), w.weak_count()),
        (v.strong_count(), v.weak_count())
    );
    assert_eq!((w.upgrade(), v.upgrade()), (None, None));
    drop(w.clone());
}

#[test]
fn weak_references_keep_the_memory_but_not_the_value() {
    let log = Log::new();
    let object = Ref::new(log.probe(0));
    let weaks = [(); 3].map(|()| Ref::downgrade(&object));
    let address = weaks[0].as_ptr();
    drop(object);
    assert_eq!(log.count(), 1);
    assert!(
        weaks
            .iter()
            .all(|weak| weak.as_ptr() == address && weak.upgrade().is_none())
    );
}

#[test]
fn weak_upgrade_in_the_destructor_fails() {
    struct Node(RefCell<Weak<Node>>, Log);
    impl Drop for Node {
        fn drop(&mut self) {
            let me = self.0.borrow();
            assert!(me.upgrade().is_none());
            assert_eq!((me.strong_count(), me.weak_count()), (0, 0));
            drop(me.clone());
            self.1.note(0);
        }
    }
    let log = Log::new();
    let node = Ref::new(Node(RefCell::default(), log));
    *node.0.borrow_mut() = Ref::downgrade(&node);
    drop(node);
    assert_eq!(log.count(), 1);
    // A pool now holds it, as the only reference and as one of several.
    let mut pool = AutoreleasePool::new();
    for shared in [false, true] {
        let node = pool.create(Node(RefCell::default(), log));
        *node.0.borrow_mut() = PoolRef::downgrade(node);
        let kept = shared.then(|| PoolRef::retain(node));
        pool.drain();
        drop(kept);
    }
    assert_eq!(log.count(), 3);
}

#[test]
fn unwrap_or_clone_clones_only_what_is_shared() {
    struct Cloned(u32);
    impl Clone for Cloned {
        fn clone(&self) -> Self {
            Self(self.0 + 1)
        }
    }
    assert_eq!(Ref::unwrap_or_clone(Ref::new(Cloned(0))).0, 0);
    let shared = Ref::new(Cloned(0));
    assert_eq!(Ref::unwrap_or_clone(shared.clone()).0, 1);
    assert_eq!((shared.0, Ref::strong_count(&shared)), (0, 1));
}

#[test]
fn get_mut_needs_the_only_reference_of_any_kind() {
    let mut object = Ref::new(1);
    *Ref::get_mut(&mut object).unwrap() += 1;
    let other = object.clone();
    assert!(Ref::get_mut(&mut object).is_none());
    drop(other);
    let weak = Ref::downgrade(&object);
    assert!(Ref::get_mut(&mut object).is_none());
    drop(weak);
    let mut pool = AutoreleasePool::new();
    let lent = pool.autorelease(object.clone());
    assert!(
        Ref::get_mut(&mut object).is_none(),
        "a pool that holds it counts"
    );
    assert_eq!(*lent, 2);
    pool.drain();
    assert_eq!(Ref::get_mut(&mut object), Some(&mut 2));
}

#[test]
fn make_mut_of_slices_and_text() {
    let mut slice: Ref<[String]> = Ref::from(["a".into(), "b".into()]);
    Ref::make_mut(&mut slice)[0].push('x');
    let other = slice.clone();
    Ref::make_mut(&mut slice)[1].push('y');
    let weak = Ref::downgrade(&slice);
    Ref::make_mut(&mut slice)[1].push('z');
    assert_eq!(
        (&slice[..], &other[..]),
        (
            &["ax", "byz"].map(String::from)[..],
            &["ax", "b"].map(String::from)[..]
        )
    );
    assert!(weak.upgrade().is_none());

    let mut text = Ref::<str>::from("text");
    let other = text.clone();
    Ref::make_mut(&mut text).make_ascii_uppercase();
    let weak = Ref::downgrade(&text);
    Ref::make_mut(&mut text)[1..].make_ascii_lowercase();
    assert_eq!((&*text, &*other, weak.upgrade()), ("Text", "text", None));

    let mut coerced = releasepool::unsize!(Ref::new([1, 2, 3]) => [i32]);
    let other = coerced.clone();
    Ref::make_mut(&mut coerced)[0] = 7;
    let weak = Ref::downgrade(&coerced);
    Ref::make_mut(&mut coerced)[1] = 8;
    assert_eq!(
        (&*coerced, &*other, weak.upgrade()),
        (&[7, 8, 3][..], &[1, 2, 3][..], None)
    );
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
fn raw_pointers_carry_the_count() {
    let log = Log::new();
    let object = Ref::new(log.probe(0));
    let raw = Ref::into_raw(object.clone());
    assert_eq!(raw, Ref::as_ptr(&object));
    // SAFETY: `object` keeps the value alive, and each count is given back once.
    unsafe {
        Ref::increment_strong_count(raw);
        assert_eq!(Ref::strong_count(&object), 3);
        Ref::decrement_strong_count(raw);
        let again = Ref::from_raw(raw);
        assert!(Ref::ptr_eq(&again, &object));
        assert_eq!(Ref::strong_count(&object), 2);
    }
    assert_eq!(Ref::strong_count(&object), 1);
    let raw = Ref::into_raw(object);
    assert_eq!(log.count(), 0);
    // SAFETY: the last reference.
    unsafe { Ref::decrement_strong_count(raw) };
    assert_eq!(log.count(), 1);
}

#[test]
fn raw_pointers_of_unsized_objects() {
    let text = Ref::<str>::from("text");
    let raw = Ref::into_raw(text.clone());
    // SAFETY: from `into_raw`, once.
    let again = unsafe { Ref::from_raw(raw) };
    assert_eq!(&*again, "text");
    let weak = Ref::downgrade(&text);
    // SAFETY: from `into_raw`, once.
    let weak = unsafe { Weak::from_raw(weak.into_raw()) };
    assert_eq!(weak.upgrade().as_deref(), Some("text"));
    // A sized reference may come back as an unsized one.
    let raw = Ref::into_raw(Ref::new(5));
    let raw: *const dyn std::fmt::Display = raw;
    // SAFETY: the same object, coerced.
    assert_eq!(unsafe { Ref::from_raw(raw) }.to_string(), "5");
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
