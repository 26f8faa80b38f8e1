//! `HomeRef`: where a value can be accessed, and where it is destroyed.

mod access;
mod gone;
mod pending;
mod teardown;
mod weak;

use crate::support::worker::Worker;
use crate::support::{
    DRAINS, Log, Probe, counts, events, events_of, fresh, fresh_to_the_end, global, here, listen,
    me, on_drop, panic_of, wait_until, with_log,
};
use releasepool::event::EventKind;
use releasepool::{AutoreleasePool, Budget, HomeRef, Ref, autorelease, autoreleasepool};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

/// A probe that is neither `Send` nor `Sync`.
pub struct Homely(pub Probe, PhantomData<Rc<()>>);

pub fn homely(log: Log, id: u32) -> Homely {
    Homely(log.probe(id), PhantomData)
}

/// Drops a value on another thread.
fn drop_elsewhere<R: Send>(r: R) {
    fresh(|| drop(r));
}

#[test]
fn a_value_is_accessible_at_home_only() {
    let object = HomeRef::new(Rc::new(7));
    assert_eq!(object.get().map(|rc| **rc), Some(7));
    assert!(object.get().is_some());
    let clone = object.clone();
    let home = me().key();
    fresh(|| {
        assert!(clone.get().is_none());
        assert_eq!(clone.home(), home);
        // A thread that has used the crate and is a home itself has no access, either.
        let other = HomeRef::new(1);
        assert!(other.get().is_some() && clone.get().is_none());
        assert_ne!(other.home(), clone.home());
    });
    assert!(clone.ptr_eq(&object) && clone.get().is_some());
    assert!(!clone.ptr_eq(&HomeRef::new(Rc::new(7))));
}

#[test]
fn the_last_drop_elsewhere_destroys_in_the_next_outermost_drain_at_home() {
    for (what, drain) in DRAINS {
        with_log(|log| {
            drop_elsewhere(HomeRef::new(homely(log, 0)));
            drop_elsewhere(HomeRef::new_or_anywhere(log.probe(1)));
            // No drain of another thread destroys them.
            fresh(|| autoreleasepool(|pool| _ = pool.create(0)));
            assert_eq!(log.count(), 0, "{what}");
            drain();
            assert_eq!(log.ids(), [0, 1], "{what}");
            assert_eq!(log.threads(), [here(); 2], "{what}");
        });
    }
}

#[test]
fn a_drain_inside_a_destructor_leaves_it_to_the_outermost() {
    let log = Log::new();
    let away = HomeRef::new(homely(log, 1));
    autoreleasepool(|pool| {
        let destructor = move || {
            drop_elsewhere(away);
            drop(AutoreleasePool::new());
            log.note(0);
        };
        pool.create(on_drop(destructor));
    });
    assert_eq!(log.ids(), [0, 1]);
}

#[test]
fn what_its_destructor_autoreleases_goes_in_the_same_drain() {
    let log = Log::new();
    let mut pool = AutoreleasePool::new();
    drop_elsewhere(HomeRef::new(on_drop(move || {
        autorelease(Ref::new(log.probe(1)));
        log.note(0);
    })));
    assert_eq!(pool.drain(), 1);
    assert_eq!((log.ids(), pool.len()), (vec![0, 1], 0));
}

#[test]
fn a_drain_within_a_budget_counts_what_comes_home() {
    let log = Log::new();
    let mut pool = AutoreleasePool::new();
    drop_elsewhere((
        HomeRef::new(homely(log, 1)),
        HomeRef::new_or_anywhere(log.probe(2)),
        HomeRef::new((on_drop(|| panic!("bomb")), homely(log, 3))),
        HomeRef::new(homely(log, 4)),
    ));
    assert_eq!(counts(pool.drain_within(Budget::Count(1))), (1, 3));
    assert_eq!(log.ids(), [1]);
    assert_eq!(counts(global().drain_backlog(Budget::Count(1))), (1, 2));
    assert_eq!(log.ids(), [1, 2]);
    let panic = panic_of(|| global().drain_backlog(Budget::All));
    assert_eq!((panic, log.ids()), ("bomb".into(), vec![1, 2, 3, 4]));
    assert!(log.threads().into_iter().all(|thread| thread == here()));
}

#[test]
fn what_a_budget_left_dies_at_the_homes_end() {
    let log = Log::new();
    let home = fresh_to_the_end(move || {
        let mut pool = AutoreleasePool::new();
        for id in 0..3 {
            drop_elsewhere(HomeRef::new(homely(log, id)));
        }
        assert_eq!(pool.drain_within(Budget::Count(0)).remaining, 3);
        drop(pool);
        here()
    });
    assert_eq!((log.ids(), log.threads()), (vec![0, 1, 2], vec![home; 3]));
}

#[test]
fn payloads_of_any_size_and_alignment() {
    #[repr(align(4096))]
    struct Page(Cell<u8>);
    let page = HomeRef::new(Page(Cell::new(7)));
    assert!(std::ptr::from_ref(page.get().unwrap()).is_aligned());
    page.get().unwrap().0.set(8);
    let nothing = HomeRef::new(());
    assert_eq!(nothing.get(), Some(&()));
    let large = HomeRef::new([3u8; 100_000]);
    let clones = (page.clone(), nothing.clone(), large.clone());
    drop_elsewhere((nothing, large));
    assert_eq!(clones.0.get().unwrap().0.get(), 8);
    assert!(clones.2.get().unwrap().iter().all(|byte| *byte == 3));
    drop(page);
    drop_elsewhere(clones);
    drop(AutoreleasePool::new());
}

#[test]
fn an_object_inside_the_value_of_another_threads() {
    let log = Log::new();
    let mine = HomeRef::new(homely(log, 1));
    let worker = Worker::new("other");
    let theirs = worker.run(move || HomeRef::new((homely(log, 2), mine, Rc::new(0))));
    // Although a value of this thread is inside.
    assert!(theirs.get().is_none());
    drop(theirs);
    drop(AutoreleasePool::new());
    assert_eq!(log.count(), 0);
    worker.run(|| autoreleasepool(|_| ()));
    assert_eq!(log.ids(), [2]);
    drop(AutoreleasePool::new());
    assert_eq!(log.ids(), [2, 1]);
    assert_eq!(log.threads(), [worker.id(), here()]);
    worker.join();
}

#[test]
fn chains_of_any_length_die_in_constant_stack() {
    struct Node(
        #[expect(dead_code)] Option<HomeRef<Node>>,
        #[expect(dead_code)] Rc<()>,
    );
    const LENGTH: usize = if cfg!(miri) { 500 } else { 200_000 };
    let small = thread::Builder::new().stack_size(128 << 10);
    let chains = small.spawn(|| {
        let rc = Rc::new(());
        let chain = || (0..LENGTH).fold(None, |next, _| Some(HomeRef::new(Node(next, rc.clone()))));
        drop(chain());
        assert_eq!(Rc::strong_count(&rc), 1);
        fresh({
            let chain = chain();
            move || drop(chain)
        });
        assert_eq!(Rc::strong_count(&rc), LENGTH + 1);
        drop(AutoreleasePool::new());
        assert_eq!(Rc::strong_count(&rc), 1);
    });
    chains.unwrap().join().unwrap();
}

#[test]
fn a_panic_comes_out_of_the_drain_that_destroys() {
    listen();
    let log = Log::new();
    let bomb = |message: &'static str| {
        HomeRef::new((on_drop(move || panic!("{message}")), homely(log, 1)))
    };
    assert_eq!(panic_of(|| drop(bomb("bomb"))), "bomb");
    assert_eq!(log.ids(), [1]);
    for (round, drain) in [
        || drop(AutoreleasePool::new()),
        || _ = global().drain_root(),
        || _ = global().run_inbox(),
        || _ = AutoreleasePool::new().drain(),
    ]
    .into_iter()
    .enumerate()
    {
        let objects = (
            HomeRef::new(homely(log, 0)),
            bomb("bomb"),
            // Panics with equal messages are not reported each time.
            bomb(["a", "b", "c", "d"][round]),
            HomeRef::new(homely(log, 2)),
        );
        drop_elsewhere(objects);
        assert_eq!(panic_of(drain), "bomb");
        assert_eq!(log.ids()[1 + 4 * round..], [0, 1, 1, 2]);
        assert_eq!(events(EventKind::Panic).len(), round + 1);
    }
}

#[test]
fn a_panic_at_the_homes_end_is_reported() {
    let log = Log::new();
    listen();
    let worker = Worker::new("home");
    drop(worker.run(move || {
        let ends: [Box<dyn FnOnce()>; 2] =
            [Box::new(|| panic!("late")), Box::new(move || log.note(1))];
        ends.map(|end| HomeRef::new(on_drop(end)))
    }));
    let home = worker.id();
    worker.join();
    assert_eq!(log.ids(), [1]);
    let events = events_of(home);
    let told: Vec<_> = events
        .iter()
        .map(|e| (e.kind, e.message.as_deref()))
        .collect();
    assert_eq!(told, [(EventKind::Panic, Some("late"))]);
}

#[test]
fn drops_while_unwinding() {
    let log = Log::new();
    let at_home = HomeRef::new(homely(log, 1));
    let away = HomeRef::new(homely(log, 2));
    let gone = fresh_to_the_end(|| HomeRef::new(Rc::new(0)));
    let panic = fresh(|| {
        panic_of(move || {
            let _held = (away, gone);
            panic!("elsewhere")
        })
    });
    assert_eq!(panic, "elsewhere");
    let panic = panic_of(move || {
        let _held = at_home;
        panic!("at home")
    });
    assert_eq!((panic, log.ids()), ("at home".into(), vec![1]));
    panic_of(|| {
        let _drained = AutoreleasePool::new();
        panic!("at home")
    });
    assert_eq!(log.ids(), [1, 2]);
}

#[test]
fn references_inside_counted_objects_go_by_pools_and_orphans() {
    let log = Log::new();
    let holder = |id| Ref::new(HomeRef::new(homely(log, id)));
    // One pool has the only reference to its object, the other has not.
    let (sole, shared) = (holder(1), holder(2));
    fresh(|| {
        let other = shared.clone();
        autoreleasepool(|pool| _ = (pool.autorelease(sole), pool.autorelease(shared)));
        drop(other);
    });
    // These go through the orphans.
    let ended = fresh_to_the_end(me);
    ended.release(holder(3));
    wait_until(|| {
        fresh(|| _ = global().quiesce(Duration::ZERO));
        autoreleasepool(|_| ());
        log.count() == 3
    });
    assert_eq!(log.sorted(), [1, 2, 3]);
    assert!(log.threads().into_iter().all(|thread| thread == here()));
}

#[test]
fn debug_shows_the_value_at_home_only() {
    let object = HomeRef::new(RefCell::new(7));
    let home = object.home();
    assert_eq!(
        format!("{object:?}"),
        format!("HomeRef {{ home: {home:?}, value: RefCell {{ value: 7 }} }}")
    );
    let shown = fresh(|| format!("{object:?}"));
    assert_eq!(shown, format!("HomeRef {{ home: {home:?}, .. }}"));
}
