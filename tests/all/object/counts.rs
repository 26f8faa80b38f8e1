//! The counts of an object: one word, with the rules of `Arc`.

use crate::support::{Log, fresh, on_drop, panic_of};
use releasepool::{AutoreleasePool, PoolRef, Ref, Weak};
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::{Arc, Barrier};
use std::thread;

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
fn weak_new_refers_to_nothing() {
    static NOTHING: Weak<u32> = Weak::new();
    let w: Weak<String> = Weak::new();
    assert!(w.upgrade().is_none() && NOTHING.upgrade().is_none());
    assert_eq!((w.strong_count(), w.weak_count()), (0, 0));
    assert!(w.ptr_eq(&w.clone()) && w.ptr_eq(&Weak::default()));
    assert!(!w.ptr_eq(&Ref::downgrade(&Ref::new(String::new()))));
    // SAFETY: from `into_raw`.
    let again = unsafe { Weak::from_raw(w.into_raw()) };
    assert!(again.upgrade().is_none());
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
    let node = Ref::new(Node(RefCell::default(), log.clone()));
    *node.0.borrow_mut() = Ref::downgrade(&node);
    drop(node);
    assert_eq!(log.count(), 1);
    // A pool now holds it, as the only reference and as one of several.
    let mut pool = AutoreleasePool::new();
    for shared in [false, true] {
        let node = pool.create(Node(RefCell::default(), log.clone()));
        *node.0.borrow_mut() = PoolRef::downgrade(node);
        let kept = shared.then(|| PoolRef::retain(node));
        pool.drain();
        drop(kept);
    }
    assert_eq!(log.count(), 3);
}

#[test]
fn new_cyclic_passes_a_weak_reference_to_the_object() {
    struct Node {
        me: Weak<Node>,
        _probe: crate::support::Probe,
    }
    let log = Log::new();
    let node = Ref::new_cyclic(|me| {
        assert!(me.upgrade().is_none(), "the value does not exist yet");
        assert_eq!((me.strong_count(), me.weak_count()), (0, 0));
        Node {
            me: me.clone(),
            _probe: log.probe(0),
        }
    });
    assert_eq!((Ref::strong_count(&node), Ref::weak_count(&node)), (1, 1));
    assert!(Ref::ptr_eq(&node, &node.me.upgrade().unwrap()));
    let weak = node.me.clone();
    drop(node);
    assert_eq!(log.count(), 1);
    assert!(weak.upgrade().is_none());
}

#[test]
fn new_cyclic_that_panics_only_frees() {
    let kept = RefCell::new(Weak::new());
    let message = panic_of(|| {
        Ref::<[u64; 4]>::new_cyclic(|me| {
            *kept.borrow_mut() = me.clone();
            panic!("not made")
        })
    });
    assert_eq!(message, "not made");
    assert!(kept.borrow().upgrade().is_none());
    assert_eq!(kept.borrow().weak_count(), 0);
}

#[test]
fn new_cyclic_whose_weak_another_thread_upgrades() {
    const ROUNDS: usize = if cfg!(miri) { 5 } else { 300 };
    for round in 0..ROUNDS {
        let step = Barrier::new(2);
        thread::scope(|scope| {
            let object = Ref::new_cyclic(|me: &Weak<Vec<usize>>| {
                let (weak, step) = (me.clone(), &step);
                scope.spawn(move || {
                    step.wait();
                    let value = loop {
                        if let Some(object) = weak.upgrade() {
                            break object[0];
                        }
                        thread::yield_now();
                    };
                    assert_eq!(value, round);
                    step.wait();
                });
                step.wait();
                vec![round]
            });
            step.wait();
            assert_eq!(Ref::strong_count(&object), 1);
        });
    }
}

#[test]
fn try_unwrap_and_into_inner_give_the_value_out_once() {
    let log = Log::new();
    let object = Ref::new(log.probe(0));
    let other = object.clone();
    let object = Ref::try_unwrap(object).err().expect("it is shared");
    drop(other);
    let weak = Ref::downgrade(&object);
    let probe = Ref::try_unwrap(object)
        .ok()
        .expect("weak references do not matter");
    assert_eq!((probe.id, log.count()), (0, 0));
    assert!(weak.upgrade().is_none());
    assert_eq!(weak.strong_count(), 0);
    drop(weak);
    drop(probe);
    assert_eq!(log.count(), 1);

    let object = Ref::new(log.probe(1));
    let (other, weak) = (object.clone(), Ref::downgrade(&object));
    assert!(Ref::into_inner(object).is_none());
    let probe = Ref::into_inner(other).unwrap();
    assert!(weak.upgrade().is_none());
    drop((weak, probe));
    assert_eq!(log.ids(), [0, 1]);
}

#[test]
fn into_inner_by_all_threads_gives_the_value_to_one() {
    const ROUNDS: u32 = if cfg!(miri) { 5 } else { 500 };
    let log = Log::new();
    for id in 0..ROUNDS {
        let object = Ref::new(log.probe(id));
        let got: usize = thread::scope(|scope| {
            let threads = [object.clone(), object.clone(), object]
                .map(|object| scope.spawn(|| usize::from(Ref::into_inner(object).is_some())));
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        });
        assert_eq!((got, log.count() as u32), (1, id + 1));
    }
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
fn make_mut_clones_moves_or_does_nothing() {
    let mut object = Ref::new(vec![1]);
    let address = Ref::as_ptr(&object);
    Ref::make_mut(&mut object).push(2);
    assert_eq!(
        Ref::as_ptr(&object),
        address,
        "the only reference: nothing is cloned or moved"
    );

    let other = object.clone();
    Ref::make_mut(&mut object).push(3);
    assert_eq!((&object[..], &other[..]), (&[1, 2, 3][..], &[1, 2][..]));
    assert_eq!(
        (Ref::strong_count(&object), Ref::strong_count(&other)),
        (1, 1)
    );

    let weak = Ref::downgrade(&object);
    let buffer = object.as_ptr();
    Ref::make_mut(&mut object).push(4);
    assert_eq!(
        object.as_ptr(),
        buffer,
        "only weak references besides: the value moves"
    );
    assert!(weak.upgrade().is_none());
    assert_eq!(Ref::weak_count(&object), 0);
    assert_eq!(&object[..], [1, 2, 3, 4]);
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
fn a_slice_whose_clone_panics_drops_what_was_cloned() {
    struct Counted(Log, u32);
    impl Clone for Counted {
        fn clone(&self) -> Self {
            assert!(self.1 != 3, "the fourth");
            Self(self.0.clone(), self.1 + 10)
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.note(self.1);
        }
    }
    let log = Log::new();
    let values: Vec<_> = (0..5).map(|id| Counted(log.clone(), id)).collect();
    assert_eq!(
        panic_of(|| Ref::<[Counted]>::from(&values[..])),
        "the fourth"
    );
    assert_eq!(log.ids(), [10, 11, 12]);
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

#[test]
fn last_release_inside_a_destructor_is_done_at_once() {
    let order = Rc::new(RefCell::new(Vec::new()));
    let (outer, inner) = (order.clone(), order.clone());
    let leaf = Ref::new(on_drop(move || inner.borrow_mut().push("leaf")));
    drop(Ref::new(on_drop(move || {
        outer.borrow_mut().push("before");
        drop(leaf);
        outer.borrow_mut().push("after");
    })));
    assert_eq!(*order.borrow(), ["before", "leaf", "after"]);
}

#[test]
fn a_pool_holding_one_of_several_references_only_gives_up_its_own() {
    fresh(|| {
        let log = Log::new();
        let objects: Vec<_> = (0..10).map(|id| Ref::new(log.probe(id))).collect();
        let mut pool = AutoreleasePool::new();
        for object in objects.iter().chain(&objects[5..]) {
            pool.autorelease(object.clone());
        }
        assert_eq!(pool.drain(), 15);
        assert_eq!(log.count(), 0);
        assert!(objects.iter().all(|object| Ref::strong_count(object) == 1));
    });
}

#[test]
fn two_handles_to_one_object_are_the_same() {
    let object = Ref::new(7);
    let (same, equal) = (object.clone(), Ref::new(7));
    assert!(Ref::ptr_eq(&object, &same) && !Ref::ptr_eq(&object, &equal));
    assert_eq!(
        HashSet::from([object, same, equal]).len(),
        1,
        "but equal by value"
    );
    assert!(
        !Ref::ptr_eq(&Ref::new(()), &Ref::new(())),
        "also for objects without a size"
    );
}
