//! `HomeRef` when its home has ended or is ending, and the figures of such objects.

use crate::object::home::{Homely, homely};
use crate::support::allocator::FOREIGN;
use crate::support::{
    Log, alone, events, fresh, fresh_to_the_end, global, here, listen, me, only_event, react,
};
use releasepool::event::EventKind;
use releasepool::{AutoreleasePool, HomeRef, autoreleasepool};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn the_home_has_ended_and_the_value_is_kept() {
    struct Kept(#[expect(dead_code)] Homely);
    let log = Log::new();
    let (object, home) = fresh_to_the_end(move || {
        let object = HomeRef::new(Kept(homely(log, 1)));
        // Later threads may get the registry slot of its home.
        let home = object.home();
        assert_eq!(global().thread(home).unwrap().name(), Some("fresh"));
        (object, home)
    });
    let before = global().snapshot();
    fresh(|| {
        assert!(global().thread(home).is_none() && object.get().is_none());
        let clone = object.clone();
        drop(object);
        assert!(events(EventKind::HomeGone).is_empty());
        drop(clone);
        let event = only_event(EventKind::HomeGone);
        assert_eq!(event.home.as_deref(), Some(&*format!("fresh ({home})")));
        assert!(event.type_name.unwrap().ends_with("Kept"), "{event:?}");
        assert!(event.thread.starts_with("fresh ("), "the one that drops");
        let sentence = event.to_string();
        let (of, home) = (event.type_name.unwrap(), format!("thread fresh ({home})"));
        assert!(sentence.contains(of) && sentence.contains(&home), "{event}");
        autoreleasepool(|pool| _ = pool.create(0));
    });
    assert_eq!(log.count(), 0, "never run elsewhere");
    assert!(global().snapshot().kept > before.kept);
}

#[test]
fn the_home_has_ended_and_the_value_dies_anywhere() {
    let log = Log::new();
    let object = fresh_to_the_end(move || HomeRef::new_or_anywhere(log.probe(1)));
    fresh(|| {
        let clone = object.clone();
        drop(object);
        assert_eq!(log.count(), 0);
        drop(clone);
        assert_eq!((log.ids(), log.threads()), (vec![1], vec![here()]));
        assert!(events(EventKind::HomeGone).is_empty());
    });
}

#[test]
fn a_successor_on_the_homes_slot_is_not_the_home() {
    let log = Log::new();
    for _ in 0..20 {
        let object = fresh_to_the_end(move || HomeRef::new(homely(log, 1)));
        let key = object.home();
        let same_slot = fresh_to_the_end(move || {
            let own = HomeRef::new(0);
            assert_ne!(own.home(), key);
            assert!(object.get().is_none());
            let same = crate::support::slot(own.home()) == crate::support::slot(key);
            drop(object);
            drop(AutoreleasePool::new());
            same
        });
        assert_eq!(log.count(), 0);
        if same_slot {
            return;
        }
    }
    // Other tests took the slot each time.
}

#[test]
fn figures_of_objects_that_live_are_on_their_way_have_died_and_are_kept() {
    alone!();
    listen();
    let live = || global().snapshot().live_objects();
    let object = HomeRef::new(Rc::new(0));
    assert_eq!(live(), 1);
    fresh_to_the_end(move || drop(object));
    let snapshot = global().snapshot();
    assert_eq!(snapshot.live_objects(), 1, "on its way home");
    assert_eq!((snapshot.departed.handed_over, snapshot.orphans), (1, 0));
    assert_eq!(snapshot.departed.destroyed, 0);
    drop(AutoreleasePool::new());
    assert_eq!(live(), 0);
    let key = me().key();
    let own = global().snapshot().thread(key).unwrap().totals;
    // On the home's account.
    assert_eq!((own.created, own.destroyed), (1, 1));
    drop(HomeRef::new(Rc::new(0)));
    assert_eq!(live(), 0);

    let anywhere = fresh_to_the_end(|| HomeRef::new_or_anywhere(1));
    assert_eq!(live(), 1);
    drop(anywhere);
    assert_eq!(live(), 0);
    drop(fresh_to_the_end(|| HomeRef::new(Rc::new(1))));
    drop(fresh_to_the_end(|| HomeRef::new(Rc::new("2"))));
    let snapshot = global().snapshot();
    assert_eq!((snapshot.kept, snapshot.live_objects()), (2, 2));
    assert_eq!(snapshot.departed.handed_over, 1, "nothing else was sent");
    let shown = snapshot.to_string();
    assert!(
        shown.starts_with("2 live objects, 0 orphans, 2 kept, 0 hot, 0 of them let go\n"),
        "{shown}"
    );
    assert_eq!(events(EventKind::HomeGone).len(), 2);
}

#[test]
fn the_event_hook_may_use_the_crate() {
    static KEPT: AtomicUsize = AtomicUsize::new(0);
    struct One(#[expect(dead_code)] Rc<u8>);
    struct Two(#[expect(dead_code)] Rc<u8>);
    let objects = fresh_to_the_end(|| {
        let n = Rc::new(0);
        (HomeRef::new(One(n.clone())), HomeRef::new(Two(n)))
    });
    fresh(|| {
        react(|event| {
            if event.kind == EventKind::HomeGone {
                KEPT.fetch_add(1, Ordering::Relaxed);
                autoreleasepool(|pool| _ = pool.create(HomeRef::new(0)));
                panic!("swallowed");
            }
        });
        drop(objects);
        assert_eq!(KEPT.load(Ordering::Relaxed), 2);
    });
}

#[test]
#[cfg_attr(feature = "leak-detection", ignore = "the ledger allocates, too")]
fn it_counts_as_kept_once_reports_can_name_it_and_before_its_event() {
    static SEEN: Mutex<Vec<u64>> = Mutex::new(Vec::new());
    alone!();
    for object in fresh_to_the_end(|| [(); 2].map(HomeRef::new)) {
        FOREIGN.set(Some(|| {
            SEEN.lock().unwrap().push(global().snapshot().kept);
        }));
        drop(object);
    }
    // The first memory that the first one takes is room for names; the second one's is for the event.
    assert_eq!(*SEEN.lock().unwrap(), [0, 2]);
}
