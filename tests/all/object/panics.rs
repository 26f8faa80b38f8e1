//! Destructors that panic: operations go on to their end, nothing is lost or dropped twice, and the
//! first panic is resumed where that is possible.

mod deep;

use crate::support::{Log, child, events, fresh, message_of, on_drop, panic_of, react};
use releasepool::event::EventKind;
use releasepool::{AutoreleasePool, PoolManager, Ref, Weak, autorelease, autoreleasepool};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};

/// Records its death, then panics with its id; its field is dropped after that.
struct Bomb<C = ()> {
    id: u32,
    log: Log,
    _cargo: C,
}

impl<C> Drop for Bomb<C> {
    fn drop(&mut self) {
        self.log.note(self.id);
        panic!("bomb {}", self.id);
    }
}

fn bomb(log: &Log, id: u32) -> Bomb {
    Bomb {
        id,
        log: log.clone(),
        _cargo: (),
    }
}

/// Returns the messages of the panics that were reported rather than resumed on this thread.
fn reported() -> Vec<String> {
    events(EventKind::Panic)
        .into_iter()
        .map(|event| event.message.unwrap_or_default())
        .collect()
}

#[test]
fn destructor_panics_the_drain_goes_on_to_the_end_then_the_first_panic_resumes() {
    fresh(|| {
        let log = Log::new();
        let mut pool = AutoreleasePool::new();
        for id in 0..10 {
            if id % 3 == 0 {
                pool.create(bomb(&log, id));
            } else {
                pool.create(log.probe(id));
            }
        }
        assert_eq!(
            panic_of(|| pool.drain()),
            "bomb 9",
            "the newest is the first"
        );
        assert!(
            log.ids().into_iter().eq((0..10).rev()),
            "nothing is lost or destroyed twice"
        );
        assert_eq!(reported(), ["bomb 6", "bomb 3", "bomb 0"]);
        assert_eq!(pool.drain(), 0);
        pool.create(log.probe(10));
        assert_eq!(pool.drain(), 1, "the pool works as before");
    });
}

#[test]
fn destructor_panics_when_the_pool_is_dropped() {
    fresh(|| {
        let log = Log::new();
        let outer = AutoreleasePool::new();
        let pool = AutoreleasePool::new();
        pool.create(log.probe(0));
        pool.create(bomb(&log, 1));
        pool.create(log.probe(2));
        assert_eq!(panic_of(|| drop(pool)), "bomb 1");
        assert_eq!(log.ids(), [2, 1, 0]);
        autorelease(Ref::new(log.probe(3)));
        assert_eq!(outer.len(), 1, "the pool is closed nevertheless");
    });
}

#[test]
fn destructor_panics_when_a_token_is_popped() {
    fresh(|| {
        let log = Log::new();
        let manager = PoolManager::global();
        let outer = manager.push();
        autorelease(Ref::new(bomb(&log, 0)));
        let inner = manager.push();
        autorelease(Ref::new(bomb(&log, 1)));
        assert_eq!(panic_of(|| manager.pop(outer)), "bomb 1");
        assert_eq!(log.ids(), [1, 0]);
        assert_eq!(reported(), ["bomb 0"]);
        for token in [outer, inner] {
            assert_eq!(manager.pop(token), Err(releasepool::PopError::Stale));
        }
    });
}

#[test]
fn destructor_panics_in_the_root_pool() {
    fresh(|| {
        let log = Log::new();
        autorelease(Ref::new(log.probe(0)));
        autorelease(Ref::new(bomb(&log, 1)));
        assert_eq!(panic_of(|| PoolManager::global().drain_root()), "bomb 1");
        assert_eq!(log.ids(), [1, 0]);
        assert_eq!(PoolManager::global().drain_root(), 0);
    });
}

#[test]
fn destructor_panics_and_what_it_autoreleased_before_is_released() {
    fresh(|| {
        let log = Log::new();
        let mut pool = AutoreleasePool::new();
        pool.create(log.probe(0));
        let inner_log = log.clone();
        pool.create(on_drop(move || {
            autorelease(Ref::new(inner_log.probe(1)));
            panic!("after the autorelease");
        }));
        assert_eq!(panic_of(|| pool.drain()), "after the autorelease");
        assert_eq!(log.ids(), [1, 0]);
        assert!(pool.is_empty());
    });
}

#[test]
fn destructor_panics_in_a_nested_drain_of_a_destructor() {
    fresh(|| {
        let log = Log::new();
        let mut pool = AutoreleasePool::new();
        pool.create(log.probe(0));
        let inner_log = log.clone();
        pool.create(on_drop(move || {
            autoreleasepool(|nested| {
                nested.create(inner_log.probe(1));
                nested.create(bomb(&inner_log, 2));
            });
            unreachable!("the panic of the nested drain escaped");
        }));
        assert_eq!(panic_of(|| pool.drain()), "bomb 2");
        assert_eq!(log.ids(), [2, 1, 0]);
        assert_eq!(reported(), [""; 0]);
    });
}

#[test]
fn destructor_panics_while_already_unwinding_and_is_reported() {
    fresh(|| {
        let log = Log::new();
        let inner_log = log.clone();
        let message = panic_of(|| {
            let pool = AutoreleasePool::new();
            pool.create(inner_log.probe(0));
            pool.create(bomb(&inner_log, 1));
            pool.create(bomb(&inner_log, 2));
            panic!("the one that gets out");
        });
        assert_eq!(message, "the one that gets out");
        assert_eq!(log.ids(), [2, 1, 0]);
        let mut reported = reported();
        reported.sort();
        assert_eq!(reported, ["bomb 1", "bomb 2"]);
    });
}

#[test]
fn panic_out_of_autoreleasepool_drains_and_restores() {
    fresh(|| {
        let log = Log::new();
        let outer = AutoreleasePool::new();
        let message = panic_of(|| {
            autoreleasepool(|pool| {
                pool.create(log.probe(0));
                autoreleasepool(|_| {
                    autorelease(Ref::new(log.probe(1)));
                    panic!("inside");
                })
            })
        });
        assert_eq!(message, "inside");
        assert_eq!(log.ids(), [1, 0]);
        autorelease(Ref::new(0));
        assert_eq!(outer.len(), 1);
    });
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
    fresh(|| {
        let log = Log::new();
        let mut pool = AutoreleasePool::new();
        pool.create(log.probe(0));
        for _ in 0..2 {
            let venom = Venom(log.clone());
            pool.create(on_drop(move || panic_any(venom)));
        }
        pool.create(bomb(&log, 1));
        assert_eq!(panic_of(|| pool.drain()), "bomb 1");
        assert_eq!(
            log.ids(),
            [1, 99, 99, 0],
            "later payloads are dropped, their panics are not reported"
        );
        assert_eq!(
            reported(),
            [""],
            "the messages are equal: the second is only counted"
        );
    });
}

#[test]
fn payload_of_the_first_panic_is_handed_on_untouched() {
    fresh(|| {
        let log = Log::new();
        let mut pool = AutoreleasePool::new();
        let venom = Venom(log.clone());
        pool.create(on_drop(move || panic_any(venom)));
        let payload = catch_unwind(AssertUnwindSafe(|| pool.drain())).unwrap_err();
        assert_eq!(log.count(), 0);
        let venom = payload.downcast::<Venom>().ok().unwrap();
        std::mem::forget(venom);
    });
}

#[test]
fn panicking_event_hook_is_survived() {
    fresh(|| {
        let log = Log::new();
        react(|_| panic!("the hook"));
        struct Stray(#[expect(dead_code)] crate::support::Probe);
        autorelease(Ref::new(Stray(log.probe(0))));
        let mut pool = AutoreleasePool::new();
        pool.create(log.probe(1));
        pool.create(bomb(&log, 2));
        pool.create(bomb(&log, 3));
        assert_eq!(panic_of(|| pool.drain()), "bomb 3");
        assert_eq!(PoolManager::global().drain_root(), 1);
        assert_eq!(log.ids(), [3, 2, 1, 0]);
        assert_eq!(events(EventKind::NoPool).len(), 1);
    });
}

#[test]
fn destructor_panics_at_the_last_release() {
    fresh(|| {
        let log = Log::new();
        let weak: Weak<Bomb<crate::support::Probe>>;
        {
            let object = Ref::new(Bomb {
                id: 1,
                log: log.clone(),
                _cargo: log.probe(2),
            });
            weak = Ref::downgrade(&object);
            assert_eq!(panic_of(|| drop(object)), "bomb 1");
        }
        assert_eq!(
            log.ids(),
            [1, 2],
            "as with `Arc`, fields are dropped nevertheless"
        );
        assert!(weak.upgrade().is_none());
    });
}

#[test]
fn destructor_panics_in_a_slice_and_the_other_elements_die() {
    fresh(|| {
        let log = Log::new();
        let slice: Ref<[Option<Bomb>]> = Ref::from([None, Some(bomb(&log, 1)), None]);
        assert_eq!(panic_of(|| drop(slice)), "bomb 1");
        let probes: Ref<[(crate::support::Probe, Option<Bomb>)]> = (0..5)
            .map(|i| (log.probe(i), (i == 2).then(|| bomb(&log, 10))))
            .collect();
        assert_eq!(panic_of(|| drop(probes)), "bomb 10");
        let mut ids = log.ids();
        ids.sort_unstable();
        assert_eq!(ids, [0, 1, 1, 2, 3, 4, 10]);
    });
}

#[test]
fn ref_dropped_during_unwinding_dies_as_an_arc_does() {
    fresh(|| {
        let log = Log::new();
        let message = panic_of(|| {
            let _object = Ref::new((log.probe(0), Ref::new(log.probe(1))));
            panic!("away");
        });
        assert_eq!(message, "away");
        assert_eq!(log.ids(), [0, 1]);
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn ref_dropped_during_unwinding_whose_destructor_panics_aborts_as_an_arc_does() {
    let child = child!(|| {
        let _object = Ref::new(on_drop(|| panic!("second")));
        panic!("first");
    });
    child.assert_aborted_saying(&["first", "second"]);
}

#[test]
fn closures_that_panic_do_not_keep_others_from_running() {
    fresh(|| {
        let log = Log::new();
        let manager = PoolManager::global();
        let me = manager.current_thread().unwrap();
        for id in 0..4 {
            let log = log.clone();
            me.post(move || {
                log.note(id);
                assert!(id % 2 == 0, "closure {id}");
            })
            .unwrap();
        }
        me.release(Ref::new(bomb(&log, 10)));
        assert_eq!(panic_of(|| manager.run_inbox()), "bomb 10");
        assert_eq!(log.ids(), [10, 0, 1, 2, 3]);
        assert_eq!(reported(), ["closure 1", "closure 3"]);
        assert_eq!(manager.run_inbox(), 0);
    });
}

#[test]
fn released_by_another_thread_and_panicking_in_the_drain() {
    fresh(|| {
        let log = Log::new();
        let me = PoolManager::global().current_thread().unwrap();
        me.release(Ref::new(bomb(&log, 1)));
        me.release(Ref::new(log.probe(2)));
        let mut pool = AutoreleasePool::new();
        pool.create(log.probe(0));
        assert_eq!(panic_of(|| pool.drain()), "bomb 1");
        assert_eq!(log.ids(), [0, 1, 2]);
    });
}

#[test]
fn destructor_panics_at_thread_exit_and_is_reported() {
    let log = Log::new();
    let inner_log = log.clone();
    let id = crate::support::fresh_to_the_end(move || {
        let manager = PoolManager::global();
        autorelease(Ref::new(inner_log.probe(0)));
        autorelease(Ref::new(bomb(&inner_log, 1)));
        let _left = manager.push();
        autorelease(Ref::new(bomb(&inner_log, 2)));
        autorelease(Ref::new(inner_log.probe(3)));
        manager
            .current_thread()
            .unwrap()
            .release(Ref::new(bomb(&inner_log, 4)));
        std::thread::current().id()
    });
    let mut ids = log.ids();
    ids.sort_unstable();
    assert_eq!(ids, [0, 1, 2, 3, 4]);
    let reports = crate::support::events_of(id);
    let mut reports: Vec<_> = reports
        .into_iter()
        .filter_map(|event| event.message)
        .collect();
    reports.sort();
    assert_eq!(reports, ["bomb 1", "bomb 2", "bomb 4"]);
}

#[test]
fn messages_of_panics_are_found() {
    assert_eq!(
        message_of(&*(Box::new("a") as Box<dyn std::any::Any + Send>)),
        "a"
    );
    assert_eq!(panic_of(|| panic_any(7)), "(no message)");
}
