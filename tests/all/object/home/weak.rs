//! `HomeWeak`: it keeps the memory of a value with a home, and never the value.

use crate::support::teardown::{ALWAYS, at_teardown};
use crate::support::{Log, Probe, fresh, fresh_to_the_end, global, here};
use releasepool::home::HomeWeak;
use releasepool::{AutoreleasePool, HandoffPool, HomeRef, unsize};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread::{self, ThreadId};

/// Neither `Send` nor `Sync`, and over-aligned.
#[repr(align(64))]
struct Bound(Probe, PhantomData<Rc<()>>);

impl Bound {
    fn new(log: Log, id: u32) -> HomeRef<Self> {
        HomeRef::new(Self(log.probe(id), PhantomData))
    }

    fn id(&self) -> u32 {
        assert_eq!((&raw const *self).addr() % 64, 0);
        self.0.id
    }
}

#[test]
fn it_upgrades_on_any_thread_while_the_value_is_alive() {
    let log = Log::new();
    let object = Bound::new(log, 1);
    let weak = HomeRef::downgrade(&object);
    assert_eq!((weak.strong_count(), weak.weak_count()), (1, 1));
    assert_eq!(weak.upgrade().unwrap().with(Bound::id), 1);
    fresh(|| {
        let upgraded = weak.upgrade().unwrap();
        assert!(upgraded.ptr_eq(&object) && upgraded.get().is_none());
        let again = HomeRef::downgrade(&upgraded);
        assert!(again.ptr_eq(&weak) && again.clone().ptr_eq(&weak));
        assert_eq!((weak.strong_count(), weak.weak_count()), (2, 2));
    });
    assert_eq!((weak.strong_count(), weak.weak_count()), (1, 1));
    drop(object);
    assert_eq!((log.ids(), log.threads()), (vec![1], vec![here()]));
    assert!(weak.upgrade().is_none());
    assert_eq!((weak.strong_count(), weak.weak_count()), (0, 0));
    let elsewhere = weak.clone();
    drop(weak);
    // Frees the memory.
    fresh(|| assert!(elsewhere.upgrade().is_none()));
    drop(elsewhere);
}

#[test]
fn a_value_on_its_way_home_cannot_be_upgraded() {
    let log = Log::new();
    let mut pool = AutoreleasePool::new();
    let object = Bound::new(log, 1);
    let weak = HomeRef::downgrade(&object);
    let elsewhere = weak.clone();
    fresh(move || {
        drop(object);
        assert!(elsewhere.upgrade().is_none());
    });
    assert!(weak.upgrade().is_none());
    assert_eq!(log.count(), 0);
    pool.drain();
    assert_eq!((log.ids(), log.threads()), (vec![1], vec![here()]));
    assert!(weak.upgrade().is_none());
}

#[test]
fn it_outlives_a_value_that_is_kept() {
    let log = Log::new();
    let (object, anywhere) = fresh_to_the_end(move || {
        let anywhere = HomeRef::new_or_anywhere(log.probe(2));
        (Bound::new(log, 1), anywhere)
    });
    fresh(|| {
        let weak = HomeRef::downgrade(&object);
        assert!(weak.upgrade().is_some());
        let kept = global().snapshot().kept;
        drop(object);
        assert!(weak.upgrade().is_none());
        assert!(global().snapshot().kept > kept);
        let weak = HomeRef::downgrade(&anywhere);
        drop(anywhere);
        assert!(weak.upgrade().is_none());
        assert_eq!(log.ids(), [2]);
    });
}

#[test]
fn it_works_while_the_thread_locals_of_its_home_are_destroyed() {
    for when in ALWAYS {
        let log = Log::new();
        let (tell, told) = mpsc::channel::<(HomeWeak<Bound>, ThreadId)>();
        let other = thread::spawn(move || {
            let (weak, home) = told.recv().unwrap();
            let upgraded = weak.upgrade();
            let seen = upgraded.as_ref().and_then(HomeRef::get);
            assert!(seen.is_none(), "the value is elsewhere");
            home
        });
        at_teardown(when, move || {
            let object = Bound::new(log, 1);
            let weak = HomeRef::downgrade(&object);
            tell.send((weak.clone(), here())).unwrap();
            assert_eq!(weak.upgrade().unwrap().with(Bound::id), 1);
            let pool = HandoffPool::new();
            pool.create(object);
            drop(pool);
        });
        let home = other.join().unwrap();
        // It is kept if the other thread has dropped it last, and the home accepted nothing.
        assert!(log.count() <= 1, "{when:?}");
        assert!(log.threads().iter().all(|thread| *thread == home));
    }
}

#[test]
fn one_to_no_object() {
    const NONE: HomeWeak<Rc<u8>> = HomeWeak::new();
    assert!(NONE.upgrade().is_none() && HomeWeak::<Rc<u8>>::default().ptr_eq(&NONE));
    assert_eq!((NONE.strong_count(), NONE.weak_count()), (0, 0));
    let none = unsize!(NONE.clone() => dyn std::fmt::Debug);
    assert!(none.upgrade().is_none() && none.clone().upgrade().is_none());
    assert_eq!(format!("{none:?}"), "(HomeWeak)");
    let object = HomeRef::new(Rc::new(1));
    assert!(!HomeRef::downgrade(&object).ptr_eq(&NONE));
    assert_eq!(size_of::<Option<HomeWeak<u8>>>(), size_of::<usize>());
}
