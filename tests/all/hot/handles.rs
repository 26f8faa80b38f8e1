//! Tests `Hot` and `HotRef` as long as their object lives.

use crate::support::teardown::{ALWAYS, at_teardown};
use crate::support::{Log, wait_until};
use releasepool::{AutoreleasePool, Hot, HotRef, PoolRef, Ref, Weak, unsize};
use std::collections::HashSet;
use std::fmt::Display;

pub fn hot<T: Send + Sync + 'static>(value: T) -> Hot<T> {
    Hot::new(Ref::new(value))
}

/// Reviews until `done`; other tests may hold a dead object meanwhile.
pub fn review_until(done: impl Fn() -> bool) {
    wait_until(|| {
        Hot::review();
        done()
    });
}

#[test]
fn handles_give_access_to_the_value() {
    let hot = hot(String::from("seven"));
    let one = hot.get();
    let two = one.clone();
    assert_eq!((&**hot, &**one, two.len()), ("seven", "seven", 5));
    assert!(HotRef::ptr_eq(&one, &two) && Hot::ptr_eq(&hot, &hot));
    assert!(std::ptr::eq(&raw const *one, &raw const *hot));
    drop(hot);
    drop(one);
    assert_eq!(two.as_ref(), "seven");
}

#[test]
fn handles_print_and_compare_as_their_values() {
    let (five, six) = (hot(5), hot(6));
    assert_eq!(format!("{} {:?} {six:?}", five.get(), five.get()), "5 5 6");
    assert_eq!(
        format!("{:p}", five.get()),
        format!("{:p}", &raw const *five)
    );
    assert!(five.get() == five.get() && five.get() != six.get());
    let set: HashSet<HotRef<i32>> = [five.get(), six.get(), five.get()].into();
    assert_eq!(set.len(), 2);
    assert!(set.contains(&5), "by the value, which is borrowed");
}

#[test]
fn other_references_count_as_they_always_do() {
    let object = Ref::new(7);
    let before = Ref::downgrade(&object);
    let hot = hot_of(object.clone());
    let handles = [hot.get(), hot.get()];
    assert_eq!(Ref::strong_count(&object), 2, "the row counts as one");
    let kept = HotRef::to_ref(&handles[0]);
    assert!(Ref::ptr_eq(&kept, &object));
    assert_eq!(Ref::strong_count(&object), 3);
    let weak = HotRef::downgrade(&handles[1]);
    assert!(Weak::ptr_eq(&weak, &before) && Weak::ptr_eq(&weak, &Hot::downgrade(&hot)));
    let mut pool = AutoreleasePool::new();
    let lent = pool.autorelease(Hot::to_ref(&hot));
    assert_eq!(*PoolRef::retain(lent), 7);
    assert_eq!(Ref::strong_count(&object), 4);
    pool.drain();
    drop((kept, hot, handles));
    review_until(|| Ref::strong_count(&object) == 1);
    let mut object = object;
    drop((weak, before));
    assert_eq!(Ref::get_mut(&mut object), Some(&mut 7));
}

fn hot_of<T: Send + Sync + ?Sized>(object: Ref<T>) -> Hot<T> {
    Hot::new(object)
}

#[test]
fn an_object_can_be_hot_twice() {
    let log = Log::new();
    let object = Ref::new(log.probe(1));
    let (first, second) = (hot_of(object.clone()), hot_of(object));
    let reference = second.get();
    drop((first, second));
    Hot::review();
    assert_eq!((reference.id, log.count()), (1, 0));
    drop(reference);
    review_until(|| log.count() == 1);
}

#[test]
fn handles_coerce_to_trait_objects_and_slices() {
    let log = Log::new();
    struct Shown(#[expect(dead_code)] crate::support::Probe);
    impl Display for Shown {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("shown")
        }
    }
    let concrete = hot(Shown(log.probe(1)));
    let reference = unsize!(concrete.get() => dyn Display + Send + Sync);
    let owner = unsize!(concrete => dyn Display + Send + Sync);
    assert_eq!(format!("{} {}", &*owner, reference.clone()), "shown shown");
    drop(owner);
    assert_eq!(HotRef::to_ref(&reference).to_string(), "shown");
    drop(reference);
    review_until(|| log.count() == 1);
    let bytes = unsize!(hot([1u8, 2, 3]).get() => [u8]);
    assert_eq!(&*bytes, [1, 2, 3]);
    let text = hot_of(Ref::<str>::from("text"));
    assert_eq!(&*text.get(), "text");
}

#[test]
fn rows_are_used_again() {
    const OBJECTS: u32 = if cfg!(miri) { 50 } else { 10_000 };
    let log = Log::new();
    for id in 0..OBJECTS {
        let owner = hot(log.probe(id));
        let reference = owner.get();
        drop(owner);
        assert_eq!(reference.clone().id, id);
        drop(reference);
        if id % 3 == 0 {
            drop(AutoreleasePool::new());
        }
    }
    review_until(|| log.count() == OBJECTS as usize);
}

#[test]
fn handles_work_in_every_tls_destructor() {
    for when in ALWAYS {
        let log = Log::new();
        let owner = hot(log.probe(1));
        let reference = owner.get();
        at_teardown(when, move || {
            let clones = [reference.clone(), owner.get(), reference.clone()];
            drop(reference);
            assert!(clones.iter().all(|clone| clone.id == 1));
            let another = hot(2);
            assert_eq!(*another.get(), 2);
            drop(owner);
            assert_eq!(clones[1].clone().id, 1);
        });
        wait_until(|| {
            Hot::review();
            drop(AutoreleasePool::new());
            log.count() == 1
        });
    }
}
