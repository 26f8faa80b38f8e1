//! Objects of every size, alignment and type of payload.

use crate::support::Log;
use releasepool::{AutoreleasePool, PoolRef, Ref, Weak, unsize};
use std::fmt::Debug;

#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(align(4096))]
pub struct Page(pub u8);

#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(align(64))]
pub struct Line(pub [u8; 65]);

/// Performs every operation on an object, and asserts that its value is unchanged.
pub fn through_everything<T: ?Sized + PartialEq + Debug + 'static>(
    make: impl Fn() -> Ref<T>,
    value: &T,
) {
    let object = make();
    assert_eq!(&*object, value);
    assert!(Ref::as_ptr(&object).cast::<u8>().addr() % align_of_val(value) == 0);
    let (other, weak) = (object.clone(), Ref::downgrade(&object));
    assert_eq!(&*weak.upgrade().unwrap(), value);
    drop(object);
    assert_eq!(&*other, value);

    let mut pool = AutoreleasePool::new();
    let lent = pool.autorelease(other);
    assert_eq!(&*lent, value);
    let kept = PoolRef::retain(lent);
    pool.drain();
    assert_eq!(&*kept, value);
    // SAFETY: the pointer came from `into_raw`, and is used once.
    let kept = unsafe { Ref::from_raw(Ref::into_raw(kept)) };
    pool.autorelease(kept.clone());
    assert!(pool.contains(&kept));
    drop(kept);
    assert_eq!(pool.drain(), 1);
    assert!(weak.upgrade().is_none());

    let mut many: Vec<_> = (0..10).map(|_| make()).collect();
    many.retain(|object| Ref::strong_count(object) == 1);
    for (i, object) in many.iter().enumerate() {
        assert_eq!(&**object, value);
        assert!(many[..i].iter().all(|other| !Ref::ptr_eq(other, object)));
    }
    many.into_iter()
        .for_each(|object| _ = pool.autorelease(object));
    assert_eq!(pool.drain(), 10);
}

#[test]
fn zero_sized() {
    through_everything(|| Ref::new(()), &());
    through_everything(|| Ref::new([0u64; 0]), &[0u64; 0]);
    through_everything(|| Ref::<[u64]>::from([]), &[][..]);
    through_everything(|| Ref::<[()]>::from([(); 3]), &[(); 3][..]);
    through_everything(|| Ref::<str>::from(""), "");
    #[derive(PartialEq, Debug)]
    #[repr(align(4096))]
    struct Nothing;
    through_everything(|| Ref::new(Nothing), &Nothing);
    through_everything(
        || Ref::<[Nothing]>::from([Nothing, Nothing]),
        &[Nothing, Nothing][..],
    );
}

#[test]
fn small_sizes() {
    through_everything(|| Ref::new(1u8), &1);
    through_everything(|| Ref::new([1u8; 3]), &[1; 3]);
    through_everything(|| Ref::new(1u16), &1);
    through_everything(|| Ref::new(1u128), &1);
    through_everything(|| Ref::new(Some(Box::new(1))), &Some(Box::new(1)));
}

#[test]
fn over_aligned() {
    through_everything(|| Ref::new(Page(7)), &Page(7));
    through_everything(|| Ref::new([Page(1), Page(2)]), &[Page(1), Page(2)]);
    through_everything(|| Ref::<[Page]>::from([Page(1); 3]), &[Page(1); 3][..]);
    through_everything(|| Ref::new(Line([9; 65])), &Line([9; 65]));
    through_everything(
        || (0..5).map(|_| Line([1; 65])).collect(),
        &[Line([1; 65]); 5][..],
    );
    through_everything(
        || unsize!(Ref::new([Page(3); 2]) => [Page]),
        &[Page(3); 2][..],
    );
}

#[test]
fn large() {
    const SIZE: usize = if cfg!(miri) { 1_000 } else { 1 << 20 };
    const ARRAY: usize = if cfg!(miri) { 1_000 } else { 10_000 };
    through_everything(|| Ref::new([3u8; ARRAY]), &[3u8; ARRAY]);
    let value = vec![5u8; SIZE];
    through_everything(|| Ref::<[u8]>::from(&value[..]), &value[..]);
}

#[test]
fn slices_and_text() {
    let strings = ["a", "b"].map(String::from);
    through_everything(|| Ref::<[String]>::from(strings.clone()), &strings[..]);
    through_everything(|| Ref::<str>::from("grüße"), "grüße");
    through_everything(|| Ref::<std::ffi::CStr>::from(c"text"), c"text");
    through_everything(|| Ref::<[u8]>::from(Ref::<str>::from("ab")), &b"ab"[..]);
    through_everything(
        || Ref::<[u16; 2]>::try_from(Ref::<[u16]>::from([1, 2])).unwrap(),
        &[1, 2],
    );
}

#[test]
fn trait_objects() {
    trait Shape: Debug {
        fn area(&self) -> u32;
    }
    struct Square(u32, crate::support::Log, Page);
    impl Debug for Square {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "Square({})", self.0)
        }
    }
    impl Shape for Square {
        fn area(&self) -> u32 {
            assert!(std::ptr::from_ref(&self.2).is_aligned());
            self.0 * self.0
        }
    }
    impl Drop for Square {
        fn drop(&mut self) {
            self.1.note(self.0);
        }
    }
    let log = Log::new();
    let mut pool = AutoreleasePool::new();
    let sized = Ref::new(Square(3, log, Page(0)));
    let shape: Ref<dyn Shape> = unsize!(sized.clone() => dyn Shape);
    assert!(Ref::as_ptr(&shape).cast::<u8>() == Ref::as_ptr(&sized).cast());
    assert_eq!((shape.area(), Ref::strong_count(&sized)), (9, 2));
    let debug: Ref<dyn Debug> = unsize!(shape.clone() => dyn Debug);
    let weak: Weak<dyn Shape> = unsize!(Ref::downgrade(&sized) => dyn Shape);
    let lent: PoolRef<'_, dyn Shape> = unsize!(pool.autorelease(sized) => dyn Shape);
    assert_eq!((lent.area(), weak.upgrade().unwrap().area()), (9, 9));
    // The pool finds the object by each of its types.
    assert!(pool.contains(&shape) && pool.contains(&debug));
    pool.drain();
    drop((shape, debug));
    assert_eq!(log.ids(), [3]);
    assert!(weak.upgrade().is_none());
    let nothing: Weak<dyn Shape> = unsize!(Weak::<Square>::new() => dyn Shape);
    assert!(nothing.upgrade().is_none() && nothing.strong_count() == 0);
    drop(nothing.clone());
}
