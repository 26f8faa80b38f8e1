//! The limits of the table, and what is reported.

use super::handles::hot;
use crate::support::allocator::left_over;
use crate::support::{
    Worker, alone, assert_says, events, fresh_to_the_end, global, listen, me, on_drop, only_event,
    panic_of, react, wait_until,
};
use releasepool::event::EventKind;
use releasepool::hot::HotTableFull;
use releasepool::{AutoreleasePool, Hot, Ref};
use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How many objects can be hot.
const ROOM: usize = 1_024;

#[test]
fn one_object_too_many_is_given_back_and_reported() {
    alone!();
    listen();
    let all: Vec<_> = (0..ROOM).map(hot).collect();
    let one = Ref::new(ROOM);
    let full: Box<dyn Error> = Hot::try_new(one.clone()).unwrap_err().into();
    let message = full.to_string();
    assert!(message.starts_with("1024 objects are hot"), "{message}");
    assert!(message.contains("another one, of type usize"), "{message}");
    let full = full.downcast::<HotTableFull<usize>>().unwrap();
    assert_eq!(format!("{full:?}"), "HotTableFull { .. }");
    let back = full.into_inner();
    assert!(Ref::ptr_eq(&one, &back) && Ref::strong_count(&one) == 2);
    let event = only_event(EventKind::HotTableFull);
    assert_eq!(panic_of(|| Hot::new(one)), message);
    assert_eq!((event.count, event.type_name), (ROOM, Some("usize")));
    assert_says(&event, &["1,024 objects are hot"]);
    assert!(all.iter().enumerate().all(|(n, hot)| **hot == n));
    drop(all);
    drop(AutoreleasePool::new());
    assert_eq!(global().snapshot().hot_objects, 0);
}

#[test]
fn the_rows_of_dead_objects_are_found_when_the_table_is_full() {
    let log = alone!();
    let mut all: Vec<_> = (0..ROOM as u32).map(|id| hot(log.probe(id))).collect();
    drop(all.swap_remove(300));
    all.push(hot(log.probe(2_000)));
    assert_eq!(log.count(), 0, "no destructor runs there");
    assert_eq!(global().snapshot().orphans, 1);
    drop(AutoreleasePool::new());
    assert_eq!(log.ids(), [300]);
    drop(all);
    drop(AutoreleasePool::new());
    assert_eq!(log.count(), ROOM + 1);
}

/// A program without pools depends on reviews alone.
#[test]
fn a_review_also_releases_what_was_found_when_the_table_was_full() {
    let log = alone!();
    for id in 0..=ROOM as u32 {
        hot(log.probe(id));
    }
    assert_eq!(global().snapshot().orphans, ROOM);
    assert_eq!((Hot::review(), log.count()), (1, ROOM + 1));
    assert_eq!(global().snapshot().orphans, 0);
}

#[test]
fn what_was_found_when_the_table_was_full_is_reported_if_nothing_releases_it() {
    alone!();
    listen();
    wait_until(|| {
        std::thread::sleep(Duration::from_millis(5));
        for id in 0..ROOM {
            hot(id);
        }
        !events(EventKind::OrphansWaiting).is_empty()
    });
    let all = events(EventKind::OrphansWaiting);
    assert!(all[0].count >= ROOM && all[0].age.unwrap() >= Duration::from_secs(1));
    assert!(all[0].to_string().contains("no thread drains a pool"));
}

#[test]
fn a_review_in_a_destructor_leaves_orphans_to_the_drain_around_it() {
    let log = alone!();
    let pool = AutoreleasePool::new();
    for id in 0..=ROOM as u32 {
        hot(log.probe(id));
    }
    pool.create(on_drop(move || {
        assert_eq!((Hot::review(), log.count()), (1, 1));
    }));
    drop(pool);
    assert_eq!(log.count(), ROOM + 1);
}

#[test]
fn threads_reuse_the_memory_of_those_that_have_ended() {
    alone!();
    let owner = hot(1);
    let threads = || {
        let reference = owner.get();
        fresh_to_the_end(move || drop(reference.clone()));
    };
    assert!(left_over(50, threads) < 26 << 10, "less than one thread's");
}

#[test]
fn an_object_that_is_let_go_and_stays_alive_is_reported_once() {
    struct Kept;
    static RAN: AtomicUsize = AtomicUsize::new(0);
    alone!();
    react(|event| {
        // The hook is not called in a destructor, where no closures run.
        if event.kind == EventKind::HotLetGo {
            me().post(|| ()).unwrap();
            RAN.store(global().run_inbox(), Ordering::Relaxed);
        }
    });
    // One that dies at once is not.
    let other = hot(1);
    let owner = hot(Kept);
    drop(other);
    let reference = owner.get();
    drop(owner);
    wait_until(|| {
        std::thread::sleep(Duration::from_millis(5));
        Hot::review();
        !events(EventKind::HotLetGo).is_empty()
    });
    Hot::review();
    let all = events(EventKind::HotLetGo);
    assert_eq!(all.len(), 1);
    assert!(all[0].type_name.unwrap().ends_with("Kept"));
    assert!(all[0].age.unwrap() >= Duration::from_secs(1));
    assert!(all[0].to_string().contains("Hot::review"));
    assert_eq!(RAN.load(Ordering::Relaxed), 1);
    drop(reference);
    assert_eq!(Hot::review(), 1);
}

#[test]
fn one_that_died_unnoticed_and_waited_long_is_reported_by_the_quiesce_that_releases_it() {
    let log = alone!();
    listen();
    let other = Worker::new("does not drain");
    other.run(move || drop(hot(log.probe(1))));
    // Sees first that an object is let go.
    let _owner = hot(1);
    std::thread::sleep(Duration::from_millis(1_100));
    global().quiesce(Duration::ZERO);
    assert_eq!((log.count(), events(EventKind::HotLetGo).len()), (1, 1));
    other.join();
}

#[test]
fn snapshots_count_hot_objects() {
    alone!();
    let figures = || {
        let snapshot = global().snapshot();
        (snapshot.hot_objects, snapshot.hot_let_go)
    };
    assert_eq!(figures(), (0, 0));
    let (one, two) = (hot(1), hot(2));
    let kept = two.get();
    assert_eq!(figures(), (2, 0));
    drop((one, two));
    assert_eq!(figures(), (2, 2));
    drop(AutoreleasePool::new());
    assert_eq!(figures(), (1, 1));
    let text = global().snapshot().to_string();
    assert!(text.contains("1 hot, 1 of them let go"), "{text}");
    drop(kept);
    Hot::review();
    assert_eq!(figures(), (0, 0));
}
