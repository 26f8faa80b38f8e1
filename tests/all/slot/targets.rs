//! What slots can hold besides sized values: `str`, slices, and trait objects by way of a `Ref`.

use super::slots::settle_until;
use crate::support::{Log, Probe, panic_of};
use releasepool::memory::BlockAllocator;
use releasepool::object::ThinTarget;
use releasepool::slot::OptionSlot;
use releasepool::{AutoreleasePool, PoolRef, Ref, Slot, unsize};
use std::fmt::{Debug, Display};
use std::mem::MaybeUninit;

/// Puts an object into slots and takes it out, in each possible way.
#[track_caller]
fn round_trip<T: ?Sized + ThinTarget + Send + Sync + PartialEq + Debug>(r: &Ref<T>) {
    let slot = Slot::new(r.clone());
    let mut pool = AutoreleasePool::new();
    let lent = slot.load(&pool);
    assert_eq!((&*lent, PoolRef::as_ptr(lent)), (&**r, Ref::as_ptr(r)));
    assert!(Ref::ptr_eq(&slot.load_full(), r));
    assert_eq!(Ref::as_ptr(&slot.swap(r.clone())), Ref::as_ptr(r));
    let before = slot.compare_exchange(r, r.clone()).unwrap();
    assert_eq!(*before, **r);
    let before = slot.rcu(|now| {
        assert_eq!(now, &**r);
        r.clone()
    });
    assert_eq!(*before, **r);
    let option = OptionSlot::new(Some(before));
    assert_eq!(option.load(&pool).as_deref(), Some(&**r));
    assert_eq!(option.take().as_deref(), Some(&**r));
    assert!(matches!(
        option.compare_exchange(None, Some(r.clone())),
        Ok(None)
    ));
    assert_eq!(option.load_full().as_deref(), Some(&**r));
    assert!(option.compare_exchange(None, None).is_err());
    pool.drain();
}

#[test]
fn texts_in_slots_keep_their_lengths() {
    for text in ["", "a", "a text of more than a few bytes"] {
        round_trip::<str>(&Ref::from(text));
        round_trip::<str>(&Ref::new_str_in(text, &BlockAllocator::new()));
        round_trip::<str>(&Ref::from(Box::<str>::from(text)));
        round_trip::<[u8]>(&Ref::from(Ref::<str>::from(text)));
    }
}

#[test]
fn slices_in_slots_keep_their_lengths_whatever_they_were_made_of() {
    for len in [0, 1, 100] {
        let values: Vec<u32> = (0..len).collect();
        round_trip::<[u32]>(&Ref::from(values.clone()));
        round_trip::<[u32]>(&Ref::new_slice_in(&values, &BlockAllocator::new()));
        round_trip::<[u32]>(&Ref::from(values.clone().into_boxed_slice()));
        let mut uninit = Ref::<[u32]>::new_uninit_slice(values.len());
        for (to, from) in Ref::get_mut(&mut uninit).unwrap().iter_mut().zip(&values) {
            *to = MaybeUninit::new(*from);
        }
        // SAFETY: all values have been written.
        round_trip::<[u32]>(&unsafe { uninit.assume_init() });
    }
    // Objects of arrays have no length before their headers.
    round_trip::<[u32]>(&unsize!(Ref::new([1, 2, 3]) => [u32]));
    round_trip::<[u32]>(&unsize!(Ref::new([0; 0]) => [u32]));
    round_trip::<[u32]>(&unsize!(Ref::new_in([1, 2, 3], &BlockAllocator::new()) => [u32]));
    let boxed: Ref<[u32; 3]> = Ref::from(Box::new([1, 2, 3]));
    round_trip::<[u32]>(&unsize!(boxed => [u32]));
    let array: Ref<[u32; 3]> = Ref::<[u32]>::from([4, 5, 6]).try_into().unwrap();
    round_trip::<[u32]>(&unsize!(array => [u32]));
    #[derive(Clone, PartialEq, Debug)]
    #[repr(align(64))]
    struct Wide(u8);
    round_trip::<[Wide]>(&Ref::from([Wide(1), Wide(2)]));
    round_trip::<[Wide]>(&unsize!(Ref::new([Wide(1), Wide(2)]) => [Wide]));
}

#[test]
fn slices_of_nothing_are_refused_only_if_no_object_knows_their_length() {
    round_trip::<[()]>(&Ref::from([(); 3]));
    round_trip::<[()]>(&unsize!(Ref::new([(); 0]) => [()]));
    let array = || unsize!(Ref::new([(); 3]) => [()]);
    assert!(panic_of(|| Slot::new(array())).contains("cannot tell the length"));
    let slot = Slot::<[()]>::new(Ref::from([(); 2]));
    assert!(panic_of(|| slot.store(array())).contains("cannot tell the length"));
    assert_eq!(slot.load_full().len(), 2);
}

#[test]
fn slices_in_slots_die_once_after_the_drain() {
    let log = Log::new();
    let slice = |ids: [u32; 2]| -> Ref<[Probe]> { ids.map(|id| log.probe(id)).into() };
    let slot = Slot::new(slice([1, 2]));
    let pool = AutoreleasePool::new();
    let lent = slot.load(&pool);
    slot.store(unsize!(Ref::new([3].map(|id| log.probe(id))) => [Probe]));
    assert_eq!((lent[1].id, slot.load(&pool)[0].id, log.count()), (2, 3, 0));
    drop(pool);
    settle_until(|| log.ids() == [1, 2]);
    drop(slot);
    settle_until(|| log.ids() == [1, 2, 3]);
}

#[test]
fn default_slots_of_texts_and_slices_are_empty() {
    assert_eq!(&*Slot::<str>::default().load_full(), "");
    assert_eq!(&*Slot::<[u8]>::default().load_full(), []);
    let slot = Slot::<str>::new(Ref::from("a"));
    assert_eq!(format!("{slot:?}"), "Slot(\"a\")");
}

#[test]
fn trait_objects_are_read_through_their_references() {
    let log = Log::new();
    trait Numbered: Send + Sync {
        fn id(&self) -> u32;
    }
    impl Numbered for Probe {
        fn id(&self) -> u32 {
            self.id
        }
    }
    let probe = |id| unsize!(Ref::new(log.probe(id)) => dyn Numbered);
    let slot = Slot::new_dyn(probe(1));
    let pool = AutoreleasePool::new();
    let lent = slot.load_dyn(&pool);
    let kept = slot.load_full_dyn();
    slot.store_dyn(probe(2));
    assert_eq!((lent.id(), slot.load_dyn(&pool).id(), kept.id()), (1, 2, 1));
    assert!(Ref::ptr_eq(&PoolRef::retain(lent), &kept));
    drop(pool);
    settle_until(|| Ref::strong_count(&kept) == 1);
    assert_eq!(log.count(), 0);
    drop(kept);
    assert_eq!(log.ids(), [1]);
    drop(slot);
    settle_until(|| log.count() == 2);
    // Any reference will do, also to what a slot could hold itself.
    let shown: Slot<Ref<dyn Display + Send + Sync>> =
        Slot::new_dyn(unsize!(Ref::new(7) => dyn Display + Send + Sync));
    assert_eq!(shown.load_full_dyn().to_string(), "7");
}
