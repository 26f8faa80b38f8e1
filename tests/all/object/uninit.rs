//! Objects that are made without a value.

use super::payloads::{Page, through_everything};
use crate::support::{Log, Probe, assert_says, panic_of};
use releasepool::memory::BlockAllocator;
use releasepool::{AutoreleasePool, PoolRef, Ref, unsize};
use std::mem::MaybeUninit;

/// Writes a probe to an object without a value, and asserts that its memory is kept.
fn written(log: Log, mut object: Ref<MaybeUninit<Probe>>) -> Ref<Probe> {
    let place = Ref::as_ptr(&object).cast::<Probe>();
    Ref::get_mut(&mut object).unwrap().write(log.probe(1));
    // SAFETY: just written.
    let object = unsafe { object.assume_init() };
    assert_eq!((Ref::as_ptr(&object), object.id), (place, 1));
    object
}

#[test]
fn values_are_dropped_once_they_are_written() {
    let log = Log::new();
    drop(Ref::<Probe>::new_uninit());
    drop(Ref::<Probe>::new_zeroed());
    assert_eq!(log.count(), 0);
    drop(written(log, Ref::new_uninit()));
    assert_eq!(log.count(), 1);
    drop(written(log, Ref::new(MaybeUninit::uninit())));
    assert_eq!(log.count(), 2);
    drop(written(log, Ref::from(Box::new(MaybeUninit::uninit()))));
    assert_eq!(log.count(), 3);
    let blocks = BlockAllocator::new();
    let object = written(log, Ref::new_in(MaybeUninit::uninit(), &blocks));
    assert_eq!(blocks.stats().live_blocks, 1);
    drop(object);
    assert_eq!((log.count(), blocks.stats().live_blocks), (4, 0));
    let pool = AutoreleasePool::new();
    pool.autorelease(written(log, Ref::new_uninit()));
    drop(pool);
    assert_eq!(log.count(), 5);
}

#[test]
fn what_the_object_is_known_by_follows() {
    let pool = AutoreleasePool::new();
    pool.autorelease(written(Log::new(), Ref::new_uninit()));
    let values = [MaybeUninit::new(1_u16); 5];
    let in_block = Ref::new_slice_in(&values, &BlockAllocator::new());
    for slice in [Ref::<[_]>::from(values), in_block] {
        // SAFETY: made with values.
        pool.autorelease(unsafe { slice.assume_init() });
    }
    let dump = pool.dump().to_string();
    assert!(dump.contains("Probe") && !dump.contains("MaybeUninit"));
}

#[test]
fn memory_is_zeroed() {
    // SAFETY: zeros are a number, and an array of them.
    unsafe {
        through_everything(|| Ref::<u64>::new_zeroed().assume_init(), &0);
        through_everything(|| Ref::<[u64; 100]>::new_zeroed().assume_init(), &[0; 100]);
        through_everything(
            || Ref::<[u64]>::new_zeroed_slice(3).assume_init(),
            &[0; 3][..],
        );
        through_everything(|| Ref::<[u64]>::new_zeroed_slice(0).assume_init(), &[][..]);
        through_everything(
            || Ref::<[Page]>::new_zeroed_slice(2).assume_init(),
            &[Page(0); 2][..],
        );
    }
}

#[test]
fn slices_are_written_value_by_value() {
    drop(Ref::<[Probe]>::new_uninit_slice(3));
    let fill = |mut slice: Ref<[MaybeUninit<Probe>]>| {
        let log = Log::new();
        for (id, place) in Ref::get_mut(&mut slice).unwrap().iter_mut().enumerate() {
            place.write(log.probe(id as u32));
        }
        // SAFETY: all just written.
        let slice = unsafe { slice.assume_init() };
        assert_eq!(slice.iter().map(|probe| probe.id).sum::<u32>(), 3);
        assert_eq!(log.count(), 0);
        drop(slice);
        assert_eq!(log.ids(), [0, 1, 2]);
    };
    fill(Ref::new_uninit_slice(3));
    fill(unsize!(Ref::new([const { MaybeUninit::uninit() }; 3]) => [MaybeUninit<Probe>]));
    fill(Ref::from(Box::<[Probe]>::new_uninit_slice(3)));
    let blocks = BlockAllocator::new();
    fill(unsize!(
        Ref::new_in([const { MaybeUninit::uninit() }; 3], &blocks) => [MaybeUninit<Probe>]
    ));
    assert_eq!(blocks.stats().live_blocks, 0);
}

#[test]
fn slices_in_blocks_stay_there() {
    let blocks = BlockAllocator::new();
    let slice = Ref::new_slice_in(&[MaybeUninit::new(1u16); 5], &blocks);
    // SAFETY: all were written.
    let slice = unsafe { slice.assume_init() };
    assert_eq!((&*slice, blocks.stats().live_blocks), (&[1; 5][..], 1));
    drop(slice);
    assert_eq!(blocks.stats().live_blocks, 0);
}

#[test]
fn shared_values_without_a_destructor_may_be_assumed_to_be_written() {
    let object = Ref::new(MaybeUninit::new(5));
    let (other, weak) = (object.clone(), Ref::downgrade(&object));
    // SAFETY: made with a value.
    let (object, other) = unsafe { (object.assume_init(), other.assume_init()) };
    assert!(Ref::ptr_eq(&object, &other));
    assert_eq!(
        (*object, Ref::strong_count(&other), weak.strong_count()),
        (5, 2, 2)
    );
    let pool = AutoreleasePool::new();
    let lent = pool.create(MaybeUninit::new(7));
    // SAFETY: made with a value.
    assert_eq!(*unsafe { PoolRef::retain(lent).assume_init() }, 7);
}

#[test]
fn shared_values_with_a_destructor_panic() {
    let log = Log::new();
    let object = Ref::new(MaybeUninit::new(log.probe(1)));
    let other = object.clone();
    // SAFETY: made with a value.
    let message = panic_of(|| unsafe { object.assume_init() });
    assert_says(&message, &["Probe", "other references"]);
    let weak = Ref::downgrade(&other);
    // SAFETY: made with a value.
    panic_of(|| unsafe { other.assume_init() });
    assert!(weak.upgrade().is_none());
    assert_eq!(log.count(), 0, "as nothing was assumed");
}
