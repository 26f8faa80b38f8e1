//! Drains within a budget, and what they leave for later.

use crate::support::{
    Log, Probe, events, events_of, fresh, fresh_to_the_end, on_drop, panic_of, wait_until,
};
use releasepool::event::EventKind;
use releasepool::{
    AutoreleasePool, Budget, PoolManager, Ref, ThreadHandle, autorelease, autoreleasepool,
};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

pub fn global() -> &'static PoolManager {
    PoolManager::global()
}

pub fn me() -> ThreadHandle {
    global().current_thread().unwrap()
}

pub fn filled(log: &Log, ids: std::ops::Range<u32>) -> AutoreleasePool {
    let pool = AutoreleasePool::new();
    for id in ids {
        pool.create(log.probe(id));
    }
    pool
}

/// A chain of probes: each is released by the destructor of the one before.
struct Link(
    #[expect(dead_code)] Probe,
    #[expect(dead_code)] Option<Ref<Link>>,
);

fn chain(log: &Log, ids: std::ops::Range<u32>) -> Ref<Link> {
    let link = |next, id| Some(Ref::new(Link(log.probe(id), next)));
    ids.rev().fold(None, link).unwrap()
}

#[test]
fn rest_is_left_to_later_calls_oldest_first() {
    fresh(|| {
        let log = Log::new();
        let mut pool = filled(&log, 0..4);
        let drained = pool.drain_within(Budget::Count(1));
        assert_eq!((drained.released, drained.remaining), (1, 3));
        assert!(pool.is_empty());
        pool.create(log.probe(10));
        // What was left first goes first, newest first as in every pool.
        let drained = pool.drain_within(Budget::Count(2));
        assert_eq!((drained.released, drained.remaining), (2, 2));
        let mut other = filled(&log, 20..21);
        let drained = other.drain_within(Budget::Count(0));
        assert_eq!((drained.released, drained.remaining), (0, 3));
        let drained = global().drain_backlog(Budget::All);
        assert_eq!((drained.released, drained.remaining), (3, 0));
        assert_eq!(log.ids(), [3, 2, 1, 0, 10, 20]);
    });
}

#[test]
fn nothing_else_touches_the_backlog() {
    fresh(|| {
        let log = Log::new();
        filled(&log, 0..3).drain_within(Budget::Count(0));
        autorelease(Ref::new(log.probe(3)));
        assert_eq!(global().drain_root(), 1);
        autoreleasepool(|pool| pool.drain());
        let token = global().push();
        global().pop(token).unwrap();
        global().run_inbox();
        global().quiesce(Duration::ZERO);
        assert_eq!(log.ids(), [3]);
        let snapshot = global().snapshot();
        assert_eq!(snapshot.thread(me().key()).unwrap().backlog, 3);
        assert!(snapshot.to_string().contains("backlog"));
        global().drain_backlog(Budget::All);
        let snapshot = global().snapshot();
        assert_eq!(snapshot.thread(me().key()).unwrap().backlog, 0);
    });
}

#[test]
fn each_manager_has_a_backlog_of_its_own() {
    fresh(|| {
        let log = Log::new();
        let manager = PoolManager::new();
        let mut pool = manager.pool();
        let kept = Ref::new(log.probe(1));
        pool.autorelease(kept.clone());
        pool.drain_within(Budget::Count(0));
        assert!(manager.contains(&kept));
        drop(kept);
        assert_eq!(global().drain_backlog(Budget::All).released, 0);
        assert_eq!(log.count(), 0);
        assert_eq!(manager.drain_backlog(Budget::All).released, 1);
    });
}

#[test]
fn duplicates_count_each() {
    fresh(|| {
        let r = Ref::new(());
        let mut pool = AutoreleasePool::new();
        for _ in 0..10 {
            pool.autorelease(r.clone());
        }
        assert_eq!(pool.drain_within(Budget::Count(4)).remaining, 6);
        assert_eq!(Ref::strong_count(&r), 7);
        assert_eq!(global().drain_backlog(Budget::Count(6)).remaining, 0);
        assert_eq!(Ref::strong_count(&r), 1);
    });
}

#[test]
fn nested_releases_count() {
    fresh(|| {
        let log = Log::new();
        let mut pool = AutoreleasePool::new();
        pool.create(log.probe(100));
        pool.autorelease(chain(&log, 0..50));
        let drained = pool.drain_within(Budget::Count(20));
        assert_eq!((drained.released, drained.remaining), (20, 2));
        assert_eq!(log.ids(), (0..20).collect::<Vec<_>>());
        // The dead one goes on before what is older.
        let drained = global().drain_backlog(Budget::Count(30));
        assert_eq!((drained.released, drained.remaining), (30, 1));
        assert_eq!(log.ids(), (0..50).collect::<Vec<_>>());
        assert_eq!(global().drain_backlog(Budget::All).released, 1);
    });
}

#[test]
fn dead_objects_that_wait_cannot_be_had_again() {
    fresh(|| {
        let log = Log::new();
        let inner = Ref::new(log.probe(1));
        let weak = Ref::downgrade(&inner);
        let mut pool = AutoreleasePool::new();
        pool.create(inner);
        assert_eq!(pool.drain_within(Budget::Count(1)).remaining, 1);
        assert!(weak.upgrade().is_none());
        assert_eq!(log.count(), 0, "its destructor is still to run");
        global().drain_backlog(Budget::Count(1));
        assert_eq!(log.count(), 1);
    });
}

#[test]
fn time_that_is_over_stops_it_but_not_before_one_release() {
    fresh(|| {
        let log = Log::new();
        let mut pool = filled(&log, 0..100);
        let drained = pool.drain_within(Budget::Time(Duration::ZERO));
        assert_eq!((drained.released, drained.remaining), (1, 99));
        let drained = global().drain_backlog(Budget::Time(Duration::from_secs(3_600)));
        assert_eq!((drained.released, drained.remaining), (99, 0));
        assert_eq!(log.count(), 100);
    });
}

#[test]
fn time_is_looked_at_even_where_nothing_has_a_destructor() {
    fresh(|| {
        let mut pool = AutoreleasePool::new();
        for n in 0..1_000u32 {
            pool.create(n);
        }
        let drained = pool.drain_within(Budget::Time(Duration::from_nanos(1)));
        assert!(drained.released < 100, "{drained:?}");
        assert_eq!(drained.released + drained.remaining, 1_000);
        global().drain_backlog(Budget::All);
    });
}

#[test]
fn slowest_destructor_is_named_without_what_it_released() {
    struct Slow;
    impl Drop for Slow {
        fn drop(&mut self) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    #[expect(dead_code)]
    struct Holder(Ref<Slow>, Rc<Cell<u32>>);
    fresh(|| {
        let mut pool = AutoreleasePool::new();
        pool.create(Holder(Ref::new(Slow), Rc::default()));
        pool.create(vec![1]);
        let drained = pool.drain_within(Budget::All);
        let (name, time) = drained.slowest.unwrap();
        assert!(name.ends_with("Slow"), "{name}");
        assert!(time >= Duration::from_millis(20) && time <= drained.elapsed);
        assert!(drained.to_string().contains("slowest"));
        let nothing = pool.drain_within(Budget::All);
        assert_eq!((nothing.released, nothing.slowest), (0, None));
    });
}

#[test]
fn what_destructors_autorelease_is_of_the_same_drain() {
    fresh(|| {
        let log = Log::new();
        let mut pool = AutoreleasePool::new();
        for id in 0..3 {
            let after = log.probe(10 + id);
            pool.create(on_drop(move || autorelease(Ref::new(after))));
        }
        let drained = pool.drain_within(Budget::Count(4));
        assert_eq!((drained.released, drained.remaining), (4, 2));
        assert!(pool.is_empty());
        // And where there is no pool but that of the call.
        let after = log.probe(20);
        pool.create(on_drop(move || autorelease(Ref::new(after))));
        pool.drain_within(Budget::Count(0));
        assert_eq!(global().drain_backlog(Budget::All).remaining, 0);
        assert_eq!(log.count(), 4);
    });
}

#[test]
fn panic_comes_out_when_the_budget_is_spent_and_nothing_is_lost() {
    fresh(|| {
        let log = Log::new();
        let mut pool = filled(&log, 0..2);
        pool.create((log.probe(2), on_drop(|| panic!("later"))));
        pool.create(log.probe(3));
        pool.create((on_drop(|| panic!("first")), log.probe(4)));
        assert_eq!(panic_of(|| pool.drain_within(Budget::Count(4))), "first");
        assert_eq!(log.ids(), [4, 3, 2, 1]);
        assert_eq!(global().drain_backlog(Budget::All).released, 1);
        // What died in a destructor that panicked.
        let inner = chain(&log, 10..13);
        pool.create((on_drop(|| panic!("holder")), inner));
        assert_eq!(panic_of(|| pool.drain_within(Budget::Count(2))), "holder");
        assert_eq!(global().drain_backlog(Budget::All).released, 2);
        assert_eq!(log.count(), 8);
    });
}

#[test]
fn shutdown_counts_entries_of_the_backlog_and_not_what_was_sent() {
    fresh(|| {
        let log = Log::new();
        let manager = PoolManager::new();
        manager.pool().create(log.probe(0));
        let mut pool = manager.pool();
        pool.create(log.probe(1));
        pool.drain_within(Budget::Count(0));
        drop(pool);
        me().release(Ref::new(log.probe(2)));
        let report = manager.shutdown(Duration::from_secs(60)).unwrap();
        assert_eq!((report.released, log.count()), (1, 3));
    });
}

#[test]
fn inside_a_destructor_it_works_too() {
    fresh(|| {
        let log = Log::new();
        let inner = filled(&log, 0..10);
        let remaining = Rc::new(Cell::new(0));
        let seen = remaining.clone();
        autoreleasepool(|pool| {
            pool.create(on_drop(move || {
                let mut inner = inner;
                seen.set(inner.drain_within(Budget::Count(4)).remaining);
            }));
        });
        assert_eq!((remaining.get(), log.count()), (6, 4));
        // And inside a budgeted one.
        let inner = filled(&log, 10..20);
        let mut pool = AutoreleasePool::new();
        pool.create(on_drop(move || {
            let mut inner = inner;
            inner.drain_within(Budget::Count(2));
        }));
        pool.drain_within(Budget::All);
        assert_eq!(log.count(), 20);
    });
}

#[test]
fn thread_that_ends_does_all_of_it() {
    let log = Log::new();
    let kept = log.clone();
    let thread = fresh_to_the_end(move || {
        let log = kept;
        filled(&log, 0..300).drain_within(Budget::Count(1));
        let mut pool = AutoreleasePool::new();
        pool.autorelease(chain(&log, 300..400));
        pool.drain_within(Budget::Count(0));
        let own = PoolManager::new();
        let mut pool = own.pool();
        let again = log.probe(401);
        pool.create(on_drop(move || {
            let mut nested = AutoreleasePool::new();
            nested.create(again);
            nested.drain_within(Budget::Count(0));
        }));
        pool.create(log.probe(400));
        pool.drain_within(Budget::Count(0));
        std::thread::current().id()
    });
    assert_eq!(log.count(), 402);
    assert!(log.threads().iter().all(|&t| t == thread));
}

#[test]
fn thread_that_feeds_its_backlog_for_ever_is_cut_off() {
    struct Endless;
    impl Drop for Endless {
        fn drop(&mut self) {
            let mut pool = AutoreleasePool::new();
            pool.create(Endless);
            pool.drain_within(Budget::Count(0));
        }
    }
    let thread = fresh_to_the_end(|| {
        let mut pool = AutoreleasePool::new();
        pool.create(Endless);
        pool.drain_within(Budget::Count(1));
        std::thread::current().id()
    });
    let mut cut = events_of(thread);
    cut.retain(|event| event.kind == EventKind::CutOff);
    assert_eq!((cut.len(), cut[0].count), (1, 1));
    assert_eq!(cut[0].pool.as_deref(), Some("backlog"));
}

#[test]
fn manager_that_nobody_has_any_more_leaves_nothing_behind() {
    fresh(|| {
        let log = Log::new();
        let manager = PoolManager::new();
        let mut pool = manager.pool();
        pool.create(log.probe(1));
        pool.drain_within(Budget::Count(0));
        drop((pool, manager));
        assert_eq!(log.count(), 0);
        PoolManager::new().drain_root();
        assert_eq!(log.count(), 1);
    });
}

#[test]
fn shutdown_does_what_the_caller_and_others_have_left() {
    fresh(|| {
        let log = Log::new();
        let manager = PoolManager::new();
        let leave = |id| {
            let mut pool = manager.pool();
            pool.create(log.probe(id));
            pool.drain_within(Budget::Count(0));
        };
        leave(1);
        let report = manager.shutdown(Duration::from_secs(60)).unwrap();
        assert_eq!((report.released, log.count()), (1, 1));
        std::thread::scope(|scope| {
            let (ready, wait) = std::sync::mpsc::channel();
            let (go, gone_on) = std::sync::mpsc::channel::<()>();
            let (log, manager, leave) = (&log, &manager, &leave);
            scope.spawn(move || {
                leave(2);
                ready.send(()).unwrap();
                gone_on.recv().unwrap();
                // It may be asked at any time from now on; by a budgeted drain, too.
                wait_until(|| {
                    manager.pool().drain_within(Budget::Count(0));
                    log.count() == 2
                });
            });
            wait.recv().unwrap();
            let report = manager.shutdown(Duration::ZERO).unwrap_err();
            assert!(report.to_string().contains("backlog"), "{report}");
            go.send(()).unwrap();
            manager.shutdown(Duration::from_secs(60)).unwrap();
        });
        assert_eq!(log.ids(), [1, 2]);
    });
}

#[test]
fn pool_after_the_threads_exit_has_no_later() {
    thread_local! {
        static LATE: Cell<Option<Box<dyn FnOnce()>>> = const { Cell::new(None) };
    }
    struct Late(Log);
    impl Drop for Late {
        fn drop(&mut self) {
            let mut pool = AutoreleasePool::new();
            for id in 0..10 {
                pool.create(self.0.probe(id));
            }
            let drained = pool.drain_within(Budget::Count(3));
            assert_eq!((drained.released, drained.remaining), (10, 0));
        }
    }
    let log = Log::new();
    let kept = log.clone();
    fresh_to_the_end(move || {
        // Before the crate is used, so torn down after it.
        let late = Late(kept);
        LATE.set(Some(Box::new(move || drop(late))));
        autoreleasepool(|_| ());
    });
    assert_eq!(log.count(), 10);
}

/// The lengths in the events on backlogs of this thread.
fn backlog_marks() -> Vec<usize> {
    let events = events(EventKind::BacklogWatermark);
    events.iter().map(|event| event.count).collect()
}

/// Adds `n` entries to the pool's backlog.
fn leave(pool: &mut AutoreleasePool, n: u32) {
    for n in 0..n {
        pool.create(n);
    }
    pool.drain_within(Budget::Count(0));
}

#[test]
fn backlog_that_grows_is_worth_an_event() {
    fresh(|| {
        let manager = PoolManager::builder().backlog_watermark(10).build();
        let mut pool = manager.pool();
        leave(&mut pool, 9);
        leave(&mut pool, 1);
        assert_eq!(backlog_marks(), [], "noted, as it may be a batch");
        leave(&mut pool, 0);
        assert_eq!(backlog_marks(), [], "it does not grow");
        leave(&mut pool, 1);
        assert_eq!(backlog_marks(), [11]);
        leave(&mut pool, 5);
        leave(&mut pool, 5);
        assert_eq!(backlog_marks(), [11]);
        leave(&mut pool, 1);
        assert_eq!(backlog_marks(), [11, 22], "at each doubling");
        manager.drain_backlog(Budget::All);
        leave(&mut pool, 10);
        leave(&mut pool, 1);
        assert_eq!(
            backlog_marks(),
            [11, 22, 11],
            "begins anew when it has shrunk"
        );
    });
}

#[test]
fn backlog_that_shrinks_in_every_drain_is_no_reason_to_warn() {
    fresh(|| {
        let manager = PoolManager::builder().backlog_watermark(10).build();
        let mut pool = manager.pool();
        for n in 0..1_000 {
            pool.create(n);
        }
        for _ in 0..98 {
            pool.create(0);
            let drained = pool.drain_within(Budget::Count(10));
            assert!(drained.remaining > 10);
        }
        assert_eq!(backlog_marks(), []);
        // Another batch before the first is done with, but no more than that left.
        leave(&mut pool, 500);
        manager.drain_backlog(Budget::Count(100));
        assert_eq!(backlog_marks(), []);
    });
}

#[test]
fn backlog_that_grows_between_drains_that_work_at_it_is_worth_an_event() {
    fresh(|| {
        let manager = PoolManager::builder().backlog_watermark(100).build();
        let mut pool = manager.pool();
        // Half of what comes is worked off: 100, 50, 150, 100, 200, ...
        for _ in 0..3 {
            leave(&mut pool, 100);
            manager.drain_backlog(Budget::Count(50));
        }
        assert_eq!(backlog_marks(), [150]);
    });
}

#[test]
fn backlog_event_names_pool_length_and_types() {
    fresh(|| {
        let manager = PoolManager::builder()
            .name("textures")
            .backlog_watermark(1)
            .build();
        let mut pool = manager.named_pool("frame");
        leave(&mut pool, 1);
        pool.create(String::from("a"));
        pool.create(String::from("b"));
        leave(&mut pool, 1_200);
        let [event] = &events(EventKind::BacklogWatermark)[..] else {
            panic!("one event")
        };
        assert_eq!(event.pool.as_deref(), Some("frame"));
        assert_eq!(event.manager.as_deref(), Some("textures"));
        assert_eq!((event.count, event.sampled), (1_203, 1_203));
        assert_eq!(event.types, [("u32", 1_201), ("alloc::string::String", 2)]);
        let sentence = event.to_string();
        for words in [
            "thread fresh (#",
            "pool \"frame\" of manager \"textures\": 1,203 releases wait",
            "most of them u32 (1,201), alloc::string::String (2);",
        ] {
            assert!(sentence.contains(words), "{sentence}");
        }
    });
}

#[test]
fn backlog_watermark_is_set_at_any_time_by_any_thread() {
    fresh(|| {
        let manager = PoolManager::new();
        let mut pool = manager.pool();
        leave(&mut pool, 20);
        leave(&mut pool, 1);
        let other = manager.clone();
        fresh(move || other.set_backlog_watermark(10));
        assert_eq!(backlog_marks(), [], "not before the next drain");
        leave(&mut pool, 1);
        leave(&mut pool, 1);
        assert_eq!(backlog_marks(), [23]);
        manager.set_backlog_watermark(1_000);
        leave(&mut pool, 100);
        assert_eq!(backlog_marks(), [23]);
        manager.drain_backlog(Budget::All);
        manager.set_backlog_watermark(0);
        leave(&mut pool, 1);
        leave(&mut pool, 1);
        assert_eq!(backlog_marks(), [23, 2], "0 counts as 1");
    });
}

#[test]
fn endless_regeneration_is_reported() {
    struct Phoenix(u32);
    impl Drop for Phoenix {
        fn drop(&mut self) {
            if self.0 > 0 {
                autorelease(Ref::new(Phoenix(self.0 - 1)));
            }
        }
    }
    fresh(|| {
        let mut pool = AutoreleasePool::new();
        pool.create(Phoenix(2_000));
        assert_eq!(pool.drain_within(Budget::All).released, 2_001);
        assert_eq!(events(EventKind::EndlessDrain).len(), 1);
    });
}

/// Calls `f` with so many KiB of the stack used.
pub fn deep_down<R>(kib: u32, f: impl FnOnce() -> R) -> R {
    if kib == 0 {
        return f();
    }
    let space = std::hint::black_box([0u8; 1024]);
    let r = deep_down(kib - 1, f);
    std::hint::black_box(&space);
    r
}

#[test]
fn time_is_looked_at_deep_inside_a_destructor_too() {
    fresh(|| {
        let remaining = Rc::new(Cell::new(0));
        let inner = remaining.clone();
        drop(Ref::new(on_drop(move || {
            deep_down(64, || {
                let mut pool = AutoreleasePool::new();
                for n in 0..100 {
                    pool.create(Box::new(n));
                }
                let drained = pool.drain_within(Budget::Time(Duration::from_nanos(1)));
                inner.set(drained.remaining);
            });
        })));
        assert_eq!(remaining.get(), 84);
    });
}

#[test]
fn drain_deep_inside_a_destructor_leaves_all_destructors_to_the_outermost() {
    fresh(|| {
        let log = Log::new();
        let inner = log.clone();
        let (plain, seen) = (Ref::new(log.probe(1)), Ref::new(log.probe(2)));
        let weak = Ref::downgrade(&seen);
        drop(Ref::new(on_drop(move || {
            deep_down(64, || {
                let mut pool = AutoreleasePool::new();
                pool.autorelease(plain);
                pool.autorelease(seen);
                let drained = pool.drain_within(Budget::All);
                assert_eq!((drained.released, drained.remaining), (2, 0));
                assert_eq!(inner.count(), 0);
            });
        })));
        assert!(weak.upgrade().is_none());
        assert_eq!(log.count(), 2);
    });
}

#[test]
fn objects_with_weak_references_are_measured_and_may_panic_as_others() {
    fresh(|| {
        let log = Log::new();
        let mut pool = filled(&log, 0..2);
        let bomb = Ref::new((log.probe(2), on_drop(|| panic!("bomb"))));
        let weak = Ref::downgrade(&bomb);
        pool.autorelease(bomb);
        let drain = || pool.drain_within(Budget::Count(2));
        assert_eq!(panic_of(drain), "bomb");
        assert_eq!(log.ids(), [2, 1]);
        assert_eq!(global().drain_backlog(Budget::All).released, 1);
        assert!(weak.upgrade().is_none());
        let seen = Ref::new(log.probe(3));
        let weak = Ref::downgrade(&seen);
        let mut pool = AutoreleasePool::new();
        pool.autorelease(seen);
        let (name, _) = pool.drain_within(Budget::All).slowest.unwrap();
        assert!(name.ends_with("Probe"), "{name}");
        assert!(weak.upgrade().is_none());
    });
}

#[test]
fn what_has_no_destructor_is_not_measured() {
    fresh(|| {
        let mut pool = AutoreleasePool::new();
        for n in 0..100u32 {
            pool.create(n);
        }
        let drained = pool.drain_within(Budget::All);
        assert_eq!((drained.released, drained.slowest), (100, None));
    });
}

#[test]
fn callback_scope_releases_what_the_backlog_autoreleases() {
    fresh(|| {
        let log = Log::new();
        let mut pool = AutoreleasePool::new();
        for id in 0..3 {
            let inner = Ref::new(log.probe(id));
            pool.create(crate::support::on_drop(move || {
                releasepool::autorelease(inner)
            }));
        }
        pool.drain_within(Budget::Count(0));
        drop(pool);
        releasepool::callback_scope(|_| ());
        assert_eq!(log.count(), 3);
    });
}
