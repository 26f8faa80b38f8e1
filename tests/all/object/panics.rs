//! Destructors that panic: operations go on to their end, nothing is lost or dropped twice, and the
//! first panic is resumed where that is possible.

mod deep;

use crate::support::{Log, child, events, global, here, me, on_drop, panic_of, react, with_log};
use releasepool::event::EventKind;
use releasepool::{AutoreleasePool, Ref, Weak, autorelease, autoreleasepool};
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

fn bomb(log: Log, id: u32) -> Bomb {
    Bomb {
        id,
        log,
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
    with_log(|log| {
        let mut pool = AutoreleasePool::new();
        for id in 0..10 {
            if id % 3 == 0 {
                pool.create(bomb(log, id));
            } else {
                pool.create(log.probe(id));
            }
        }
        assert_eq!(panic_of(|| pool.drain()), "bomb 9");
        assert!(log.ids().into_iter().eq((0..10).rev()));
        assert_eq!(reported(), ["bomb 6", "bomb 3", "bomb 0"]);
        assert_eq!(pool.drain(), 0);
        pool.create(log.probe(10));
        assert_eq!(pool.drain(), 1, "the pool works as before");
    });
}

#[test]
fn destructor_panics_in_each_kind_of_pool_and_the_pool_is_closed() {
    type Way = (&'static str, fn(&dyn Fn()));
    let ways: [Way; 5] = [
        ("guard", |fill| {
            let _pool = AutoreleasePool::new();
            fill();
        }),
        ("closure", |fill| autoreleasepool(|_| fill())),
        ("token", |fill| {
            let token = global().push();
            fill();
            _ = global().pop(token);
        }),
        ("inner token", |fill| {
            let outer = global().push();
            _ = global().push();
            fill();
            _ = global().pop(outer);
        }),
        ("root", |fill| {
            fill();
            global().drain_root();
        }),
    ];
    for (what, way) in ways {
        with_log(|log| {
            let fill = || {
                autorelease(Ref::new(log.probe(0)));
                autorelease(Ref::new(bomb(log, 1)));
                autorelease(Ref::new(bomb(log, 2)));
                autorelease(Ref::new(log.probe(3)));
            };
            assert_eq!(panic_of(|| way(&fill)), "bomb 2", "{what}");
            assert_eq!(log.ids(), [3, 2, 1, 0], "{what}");
            assert_eq!(reported(), ["bomb 1"], "{what}");
            autorelease(Ref::new(0));
            assert_eq!(global().drain_root(), 1, "{what}");
        });
    }
}

#[test]
fn destructor_panics_and_what_it_autoreleased_before_is_released() {
    with_log(|log| {
        let mut pool = AutoreleasePool::new();
        pool.create(log.probe(0));
        pool.create(on_drop(move || {
            autorelease(Ref::new(log.probe(1)));
            panic!("after the autorelease");
        }));
        assert_eq!(panic_of(|| pool.drain()), "after the autorelease");
        assert_eq!(log.ids(), [1, 0]);
        assert!(pool.is_empty());
    });
}

#[test]
fn destructor_panics_in_a_nested_drain_of_a_destructor() {
    with_log(|log| {
        let mut pool = AutoreleasePool::new();
        pool.create(log.probe(0));
        pool.create(on_drop(move || {
            autoreleasepool(|nested| {
                nested.create(log.probe(1));
                nested.create(bomb(log, 2));
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
    with_log(|log| {
        let message = panic_of(|| {
            let pool = AutoreleasePool::new();
            pool.create(log.probe(0));
            pool.create(bomb(log, 1));
            pool.create(bomb(log, 2));
            panic!("the one that gets out");
        });
        assert_eq!(message, "the one that gets out");
        assert_eq!(log.ids(), [2, 1, 0]);
        let mut all = reported();
        all.sort();
        assert_eq!(all, ["bomb 1", "bomb 2"]);
    });
}

#[test]
fn panic_out_of_autoreleasepool_drains_and_restores() {
    with_log(|log| {
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
    with_log(|log| {
        let mut pool = AutoreleasePool::new();
        pool.create(log.probe(0));
        for _ in 0..2 {
            let venom = Venom(log);
            pool.create(on_drop(move || panic_any(venom)));
        }
        pool.create(bomb(log, 1));
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
    with_log(|log| {
        let mut pool = AutoreleasePool::new();
        let venom = Venom(log);
        pool.create(on_drop(move || panic_any(venom)));
        let payload = catch_unwind(AssertUnwindSafe(|| pool.drain())).unwrap_err();
        assert_eq!(log.count(), 0);
        let venom = payload.downcast::<Venom>().ok().unwrap();
        std::mem::forget(venom);
    });
}

#[test]
fn panicking_event_hook_is_survived() {
    with_log(|log| {
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
    });
}

#[test]
fn destructor_panics_at_the_last_release() {
    with_log(|log| {
        let weak: Weak<Bomb<crate::support::Probe>>;
        {
            let object = Ref::new(Bomb {
                id: 1,
                log,
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
    with_log(|log| {
        let slice: Ref<[Option<Bomb>]> = Ref::from([None, Some(bomb(log, 1)), None]);
        assert_eq!(panic_of(|| drop(slice)), "bomb 1");
        let probes: Ref<[(crate::support::Probe, Option<Bomb>)]> = (0..5)
            .map(|i| (log.probe(i), (i == 2).then(|| bomb(log, 10))))
            .collect();
        assert_eq!(panic_of(|| drop(probes)), "bomb 10");
        assert_eq!(log.sorted(), [0, 1, 1, 2, 3, 4, 10]);
    });
}

#[test]
fn ref_dropped_during_unwinding_dies_as_an_arc_does() {
    with_log(|log| {
        let message = panic_of(|| {
            let _object = Ref::new((log.probe(0), Ref::new(log.probe(1))));
            panic!("away");
        });
        assert_eq!(message, "away");
        assert_eq!(log.ids(), [0, 1]);
    });
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
    with_log(|log| {
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
    });
}

#[test]
fn released_by_another_thread_and_panicking_in_the_drain() {
    with_log(|log| {
        me().release(Ref::new(bomb(log, 1)));
        me().release(Ref::new(log.probe(2)));
        let mut pool = AutoreleasePool::new();
        pool.create(log.probe(0));
        assert_eq!(panic_of(|| pool.drain()), "bomb 1");
        assert_eq!(log.ids(), [0, 1, 2]);
    });
}

#[test]
fn destructor_panics_at_thread_exit_and_is_reported() {
    let log = Log::new();
    let id = crate::support::fresh_to_the_end(move || {
        autorelease(Ref::new(log.probe(0)));
        autorelease(Ref::new(bomb(log, 1)));
        let _left = global().push();
        autorelease(Ref::new(bomb(log, 2)));
        autorelease(Ref::new(log.probe(3)));
        me().release(Ref::new(bomb(log, 4)));
        here()
    });
    assert_eq!(log.sorted(), [0, 1, 2, 3, 4]);
    let reports = crate::support::events_of(id);
    let mut reports: Vec<_> = reports
        .into_iter()
        .filter_map(|event| event.message)
        .collect();
    reports.sort();
    assert_eq!(reports, ["bomb 1", "bomb 2", "bomb 4"]);
}
