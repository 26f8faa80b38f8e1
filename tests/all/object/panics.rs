//! Destructors that panic: operations go on to their end, nothing is lost or dropped twice, and the
//! first panic is resumed where that is possible.

mod deep;

use crate::support::{
    Log, OnDrop, child, events, global, listen, me, on_drop, panic_of, react, totals,
};
use releasepool::event::EventKind;
use releasepool::{AutoreleasePool, Ref, autorelease};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};

/// Records its death, then panics with its id.
fn bomb(log: Log, id: u32) -> OnDrop<impl FnOnce() + Send + Sync> {
    on_drop(move || {
        log.note(id);
        panic!("bomb {id}");
    })
}

/// Returns the messages of the panics that were reported rather than resumed on this thread.
fn reported() -> Vec<String> {
    let told = events(EventKind::Panic).into_iter();
    told.map(|event| event.message.unwrap_or_default())
        .collect()
}

#[test]
fn destructor_panics_and_what_it_autoreleased_before_is_released() {
    let log = Log::new();
    let mut pool = AutoreleasePool::new();
    pool.create(log.probe(0));
    pool.create(on_drop(move || {
        autorelease(Ref::new(log.probe(1)));
        panic!("after the autorelease");
    }));
    let before = totals().released;
    assert_eq!(panic_of(|| pool.drain()), "after the autorelease");
    assert_eq!(log.ids(), [1, 0]);
    assert!(pool.is_empty());
    assert_eq!(totals().released - before, 3);
}

/// The payload of a panic, whose destructor panics.
struct Venom(Log);

impl Drop for Venom {
    fn drop(&mut self) {
        self.0.note(99);
        panic!("a payload's destructor");
    }
}

#[test]
fn payload_whose_own_destructor_panics_is_survived() {
    listen();
    let log = Log::new();
    let mut pool = AutoreleasePool::new();
    pool.create(log.probe(0));
    for _ in 0..2 {
        let venom = Venom(log);
        pool.create(on_drop(move || panic_any(venom)));
    }
    pool.create(bomb(log, 1));
    assert_eq!(panic_of(|| pool.drain()), "bomb 1");
    // Later payloads are dropped, their panics are not reported.
    assert_eq!(log.ids(), [1, 99, 99, 0]);
    // The messages are equal: the second is only counted.
    assert_eq!(reported(), [""]);
}

#[test]
fn payload_of_the_first_panic_is_handed_on_untouched() {
    let log = Log::new();
    let mut pool = AutoreleasePool::new();
    let venom = Venom(log);
    pool.create(on_drop(move || panic_any(venom)));
    let payload = catch_unwind(AssertUnwindSafe(|| pool.drain())).unwrap_err();
    assert_eq!(log.count(), 0);
    let venom = payload.downcast::<Venom>().ok().unwrap();
    std::mem::forget(venom);
}

#[test]
fn panicking_event_hook_is_survived() {
    let log = Log::new();
    react(|_| panic!("the hook"));
    struct Stray(#[expect(dead_code)] crate::support::Probe);
    autorelease(Ref::new(Stray(log.probe(0))));
    let mut pool = AutoreleasePool::new();
    pool.create(log.probe(1));
    pool.create(bomb(log, 2));
    pool.create(bomb(log, 3));
    assert_eq!(panic_of(|| pool.drain()), "bomb 3");
    assert_eq!(global().drain_root(), 1);
    assert_eq!(log.ids(), [3, 2, 1, 0]);
    assert_eq!(events(EventKind::NoPool).len(), 1);
}

#[test]
fn destructor_panics_at_the_last_release() {
    let log = Log::new();
    let object = Ref::new((bomb(log, 1), log.probe(2)));
    let weak = Ref::downgrade(&object);
    assert_eq!(panic_of(|| drop(object)), "bomb 1");
    // As with `Arc`, fields are dropped nevertheless.
    assert_eq!(log.ids(), [1, 2]);
    assert!(weak.upgrade().is_none());
}

#[test]
fn destructor_panics_in_a_slice_and_the_other_elements_die() {
    let log = Log::new();
    let slice: Ref<[_]> = Ref::from([None, Some(bomb(log, 1)), None]);
    assert_eq!(panic_of(|| drop(slice)), "bomb 1");
    let loud = |id| (log.probe(id), (id == 2).then(|| bomb(log, 10)));
    let probes: Ref<[_]> = (0..5).map(loud).collect();
    assert_eq!(panic_of(|| drop(probes)), "bomb 10");
    assert_eq!(log.sorted(), [0, 1, 1, 2, 3, 4, 10]);
}

#[test]
fn ref_dropped_during_unwinding_dies_as_an_arc_does() {
    let log = Log::new();
    let message = panic_of(|| {
        let _object = Ref::new((log.probe(0), Ref::new(log.probe(1))));
        panic!("away");
    });
    assert_eq!(message, "away");
    assert_eq!(log.ids(), [0, 1]);
}

#[test]
fn ref_dropped_during_unwinding_whose_destructor_panics_aborts_as_an_arc_does() {
    let child = child!(|| {
        let _object = Ref::new(on_drop(|| panic!("second")));
        panic!("first");
    });
    child.assert_aborted_saying(&["first", "second"]);
}

#[test]
fn closures_that_panic_do_not_keep_others_from_running() {
    listen();
    let log = Log::new();
    for id in 0..4 {
        me().post(move || {
            log.note(id);
            assert!(id % 2 == 0, "closure {id}");
        })
        .unwrap();
    }
    me().release(Ref::new(bomb(log, 10)));
    assert_eq!(panic_of(|| global().run_inbox()), "bomb 10");
    assert_eq!(log.ids(), [10, 0, 1, 2, 3]);
    assert_eq!(reported(), ["closure 1", "closure 3"]);
    assert_eq!(global().run_inbox(), 0);
}
