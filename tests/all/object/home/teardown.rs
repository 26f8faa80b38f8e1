//! `HomeRef` while the thread-locals of its home are torn down, before and after the crate's own
//! exit hook.

use crate::object::home::{Homely, homely};
use crate::support::teardown::{push_work as late, thread_to_the_end as home};
use crate::support::worker::Worker;
use crate::support::{Log, events_of, fresh_to_the_end, global, here, listen, on_drop};
use releasepool::event::EventKind;
use releasepool::{AutoreleasePool, HomeRef};
use std::sync::mpsc;
use std::thread;

fn gone() -> bool {
    global().current_thread().is_none()
}

#[test]
fn dropped_at_home_before_the_crates_exit() {
    let log = Log::new();
    let id = home(move || {
        let object = HomeRef::new(homely(log, 1));
        late(move || {
            assert!(!gone());
            assert_eq!(object.get().unwrap().0.id, 1);
            drop(object);
            assert_eq!(log.ids(), [1]);
        });
    });
    assert_eq!(log.threads(), [id]);
}

#[test]
fn dropped_at_home_after_the_crates_exit() {
    let log = Log::new();
    let id = home(move || {
        late(|| ());
        let object = HomeRef::new(homely(log, 1));
        late(move || {
            assert!(gone());
            assert!(object.get().is_some(), "a thread stays what it is");
            assert_eq!(object.get().unwrap().0.id, 1);
            assert!(format!("{object:?}", object = HomeRef::new(5)).contains("value: 5"));
            drop(object);
            assert_eq!(log.ids(), [1]);
            drop(HomeRef::new_or_anywhere(log.probe(2)));
            assert_eq!(log.ids(), [1, 2]);
        });
    });
    assert_eq!(log.threads(), [id, id]);
    assert!(events_of(id).is_empty(), "{:?}", events_of(id));
}

#[test]
fn made_after_the_crates_exit() {
    struct Before(#[expect(dead_code)] Homely);
    struct After(#[expect(dead_code)] Homely);
    let log = Log::new();
    let (send, receive) = mpsc::channel();
    let id = home(move || {
        late(|| ());
        let before = HomeRef::new(Before(homely(log, 0)));
        late(move || {
            assert!(gone());
            let after = HomeRef::new(homely(log, 1));
            assert_eq!(after.home(), before.home());
            assert_eq!(after.get().unwrap().0.id, 1);
            drop(after);
            assert_eq!(log.ids(), [1]);
            // These are sent to a home that accepts nothing any more.
            send.send((
                HomeRef::new(After(homely(log, 2))),
                HomeRef::new_or_anywhere(log.probe(3)),
                before,
            ))
            .unwrap();
        });
    });
    assert_eq!(log.threads(), [id]);
    listen();
    let (kept, anywhere, before) = receive.recv().unwrap();
    assert!(kept.get().is_none() && anywhere.get().is_none());
    let label = format!("fresh ({})", kept.home());
    assert_eq!(kept.home(), before.home());
    let here = fresh_to_the_end(move || {
        drop(kept);
        drop(anywhere);
        drop(before);
        here()
    });
    assert_eq!((log.ids(), log.threads()), (vec![1, 3], vec![id, here]));
    let events = events_of(here);
    assert_eq!(events.len(), 2);
    for event in events {
        assert_eq!(event.kind, EventKind::HomeGone);
        assert_eq!(event.home.as_ref(), Some(&label));
    }
}

#[test]
fn first_use_of_the_crate_in_a_teardown() {
    let log = Log::new();
    let id = home(move || {
        late(move || {
            let object = HomeRef::new(homely(log, 1));
            let other = object.clone();
            // Sent home in the teardown, before the exit hook.
            thread::spawn(move || drop(other)).join().unwrap();
            thread::spawn(move || drop(object)).join().unwrap();
            assert_eq!(log.count(), 0);
        });
    });
    assert_eq!((log.ids(), log.threads()), (vec![1], vec![id]));
}

#[test]
fn sent_home_by_another_after_the_crates_exit() {
    struct Late(#[expect(dead_code)] Homely);
    let log = Log::new();
    let id = home(move || {
        late(|| ());
        let one = HomeRef::new(Late(homely(log, 1)));
        let two = HomeRef::new(homely(log, 2));
        let kept = two.clone();
        late(move || {
            assert!(gone());
            thread::spawn(move || drop(two)).join().unwrap();
            let thread = thread::spawn(move || {
                drop(one);
                here()
            });
            let dropper = thread.join().unwrap();
            assert_eq!(events_of(dropper).len(), 1, "too late");
            // The last one is dropped here.
            assert_eq!(log.count(), 0);
            drop(kept);
            assert_eq!(log.ids(), [2]);
        });
    });
    assert_eq!(log.threads(), [id]);
}

#[test]
fn made_and_dropped_by_what_the_exit_destroys() {
    let log = Log::new();
    listen();
    let worker = Worker::new("home");
    // Arrives last, and is destroyed when the inbox is already closed.
    let object = worker.run(move || {
        HomeRef::new(on_drop(move || {
            let made = HomeRef::new(homely(log, 1));
            assert!(made.get().is_some());
            let pool = AutoreleasePool::new();
            pool.create(HomeRef::new(homely(log, 2)));
            drop(pool);
            releasepool::autorelease(releasepool::Ref::new(HomeRef::new(homely(log, 3))));
            drop(made);
        }))
    });
    drop(object);
    let id = worker.id();
    worker.join();
    assert_eq!((log.ids(), log.threads()), (vec![2, 1, 3], vec![id; 3]));
    let events = events_of(id);
    assert!(
        events.iter().all(|e| e.kind == EventKind::NoPool),
        "{events:?}"
    );
}
