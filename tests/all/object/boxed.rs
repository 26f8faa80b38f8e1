//! Values that are moved out of boxes, of any type.

use super::payloads::{Line, Page, through_everything};
use crate::support::{Log, Probe, panic_of};
use releasepool::{AutoreleasePool, PoolRef, Ref, Weak};
use std::any::Any;
use std::error::Error;
use std::fmt::{Debug, Display};

#[test]
fn every_size_and_alignment() {
    through_everything(|| Ref::from(Box::new(())), &());
    through_everything(|| Ref::from(Box::new(1u8)), &1);
    through_everything(|| Ref::from(Box::new(1u128)), &1);
    through_everything(|| Ref::from(Box::new(Page(7))), &Page(7));
    through_everything(|| Ref::from(Box::new(Line([9; 65]))), &Line([9; 65]));
    let strings = || vec![String::from("a"), String::from("b")];
    through_everything(|| strings().into_boxed_slice().into(), &strings()[..]);
    through_everything(
        || Ref::from(vec![Page(1); 2].into_boxed_slice()),
        &[Page(1); 2][..],
    );
    through_everything(
        || Ref::<[()]>::from(vec![(); 3].into_boxed_slice()),
        &[(); 3][..],
    );
    through_everything(|| Ref::<[u64]>::from(Box::<[u64]>::default()), &[][..]);
}

#[test]
fn trait_objects_keep_their_value_and_destructor() {
    let page: Box<dyn Debug> = Box::new(Page(7));
    let page: Ref<dyn Debug> = Ref::from(page);
    assert_eq!(format!("{page:?}"), "Page(7)");
    assert_eq!(
        Ref::as_ptr(&page).cast::<u8>().addr() % align_of::<Page>(),
        0
    );

    let log = Log::new();
    let probe = log.probe(1);
    let function: Box<dyn Fn() -> u32> = Box::new(move || {
        let probe = &probe;
        probe.id
    });
    let function: Ref<dyn Fn() -> u32> = function.into();
    let weak: Weak<dyn Fn() -> u32> = Ref::downgrade(&function);
    let mut pool = AutoreleasePool::new();
    let lent: PoolRef<'_, dyn Fn() -> u32> = pool.autorelease(function);
    assert_eq!((lent(), weak.upgrade().unwrap()()), (1, 1));
    assert_eq!(log.count(), 0);
    pool.drain();
    assert_eq!(log.ids(), [1]);
    assert!(weak.upgrade().is_none());
    drop(weak);

    let nothing: Ref<dyn Debug> = Ref::from(Box::new(()) as Box<dyn Debug>);
    assert_eq!(format!("{nothing:?}"), "()");
    let error: Box<dyn Error + Send + Sync> = "an error".into();
    let error: Ref<dyn Error + Send + Sync> = error.into();
    assert_eq!(error.to_string(), "an error");
}

#[test]
fn values_can_be_moved_out_again() {
    let log = Log::new();
    let boxed: Box<dyn Any + Send + Sync> = Box::new(log.probe(1));
    let object: Ref<dyn Any + Send + Sync> = boxed.into();
    let object = object.downcast::<u8>().unwrap_err();
    let probe: Ref<Probe> = object.downcast().unwrap();
    let weak = Ref::downgrade(&probe);
    let probe = Ref::try_unwrap(probe).ok().unwrap();
    assert!(weak.upgrade().is_none() && log.count() == 0);
    drop((probe, weak));
    assert_eq!(log.ids(), [1]);

    let mut text: Ref<String> = Ref::from(Box::new(String::from("a")));
    let other = text.clone();
    Ref::make_mut(&mut text).push('b');
    let weak = Ref::downgrade(&text);
    Ref::make_mut(&mut text).push('c');
    assert_eq!((&**text, &**other, weak.upgrade()), ("abc", "a", None));
    assert_eq!(Ref::into_inner(other).as_deref(), Some("a"));
}

#[test]
fn destructors_that_panic_free_the_memory() {
    struct Fuse(#[expect(dead_code, reason = "its memory is to be freed")] String);
    impl Drop for Fuse {
        fn drop(&mut self) {
            panic!("spent");
        }
    }
    let fuse: Box<dyn Any> = Box::new(Fuse(String::from("x")));
    let fuse: Ref<dyn Any> = fuse.into();
    assert_eq!(panic_of(|| drop(fuse)), "spent");
    let slice: Ref<[Fuse]> = Ref::from(vec![Fuse(String::new())].into_boxed_slice());
    let weak = Ref::downgrade(&slice);
    assert_eq!(panic_of(|| drop(slice)), "spent");
    assert!(weak.upgrade().is_none());
}

#[test]
fn deep_structures_of_boxed_values_are_destroyed_in_constant_stack() {
    struct Node(#[expect(dead_code, reason = "keeps the next one")] Option<Ref<dyn Any>>);
    let mut list: Option<Ref<dyn Any>> = None;
    for _ in 0..if cfg!(miri) { 100 } else { 100_000 } {
        let node: Box<dyn Any> = Box::new(Node(list.take()));
        list = Some(node.into());
    }
    drop(list);
}

#[test]
fn slices_of_boxed_values_are_viewed_as_arrays() {
    let log = Log::new();
    let probes: Box<[Probe]> = (0..2).map(|id| log.probe(id)).collect();
    let array = <Ref<[Probe; 2]>>::try_from(Ref::<[Probe]>::from(probes))
        .ok()
        .unwrap();
    let shown: Ref<dyn Display> = Ref::from(Box::new(1) as Box<dyn Display>);
    assert_eq!((array[1].id, shown.to_string().as_str()), (1, "1"));
    drop(array);
    assert_eq!(log.ids(), [0, 1]);
}
