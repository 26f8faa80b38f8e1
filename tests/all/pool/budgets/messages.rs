//! Budgeted drains of messages from other threads and of orphans.

use crate::frame::noting;
use crate::pool::budgets::filled;
use crate::support::{
    Log, alone, counts, fresh, fresh_to_the_end, global, me, on_drop, panic_of, send, wait_until,
};
use releasepool::frame::FrameConfig;
use releasepool::{
    AutoreleasePool, Budget, FrameLoop, HandoffPool, HomeRef, PoolManager, Ref, Slot, ThreadHandle,
    autoreleasepool,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

#[test]
fn handed_over_pools_are_released_within_budgets() {
    let log = Log::new();
    let home = me();
    fresh(|| {
        let mut pool = HandoffPool::new();
        (0..100).for_each(|id| _ = pool.create(log.probe(id)));
        pool.drain_on(&home);
        home.release(Ref::new(log.probe(100)));
    });
    let mut pool = filled(log, 200..201);
    let drained = pool.drain_within(Budget::Count(10));
    // The pool's own entries come first, because they were there first.
    assert_eq!((drained.released, drained.remaining), (10, 92));
    assert_eq!(log.ids()[..3], [200, 99, 98]);
    assert_eq!(counts(global().drain_backlog(Budget::All)), (92, 0));
    assert_eq!(log.ids().last(), Some(&100));
    let figures = global().snapshot().thread(me().key()).unwrap().totals;
    // The other objects were in no pool of this thread.
    assert_eq!(figures.released, 1);
}

#[test]
fn drains_of_one_take_turns_between_the_pool_and_messages() {
    let log = Log::new();
    let mut pool = AutoreleasePool::new();
    for round in 0..20 {
        pool.create(log.probe(0));
        pool.create(log.probe(0));
        me().release(Ref::new(log.probe(1)));
        let drained = pool.drain_within(Budget::Count(1));
        assert_eq!(drained.released, 1, "{round}");
    }
    let ids = log.ids();
    let of = |id| ids.iter().filter(|of| **of == id).count();
    assert!(of(0) >= 5 && of(1) >= 5, "{ids:?}");
}

#[test]
fn a_drain_begins_with_the_turn_after_the_one_that_spent_the_last_budget() {
    // This runs in a process of its own, so that the budget is not spent on other tests' orphans.
    let log = alone!();
    let mut pool = filled(log, 0..1);
    pool.drain_within(Budget::Count(1));
    let mut drain = |own, sent, budget| {
        me().release(Ref::new(log.probe(sent)));
        pool.create(log.probe(own));
        pool.drain_within(budget);
    };
    drain(1, 2, Budget::All);
    assert_eq!(log.ids(), [0, 1, 2], "without a budget, with its own");
    drain(4, 3, Budget::Count(1));
    assert_eq!(log.ids(), [0, 1, 2, 3]);
}

#[test]
fn messages_alone_use_up_a_budget() {
    let log = Log::new();
    send(&me(), &log, 0..100);
    // More than a turn.
    assert_eq!(
        counts(AutoreleasePool::new().drain_within(Budget::Count(40))),
        (40, 60)
    );
    assert_eq!(log.count(), 40);
}

#[test]
fn ordinary_drains_leave_messages_alone_that_a_budgeted_drain_has_claimed() {
    let log = Log::new();
    send(&me(), &log, 0..10);
    AutoreleasePool::new().drain_within(Budget::Count(4));
    me().release(Ref::new(log.probe(10)));
    drop(AutoreleasePool::new());
    assert_eq!(log.ids(), [0, 1, 2, 3, 10]);
    global().drain_backlog(Budget::All);
    assert_eq!(log.count(), 11);
}

#[test]
fn a_pool_that_is_filled_after_a_budgeted_drain_closes_like_any_other() {
    let log = Log::new();
    type Fill = fn(&AutoreleasePool);
    let fills: [(&str, Fill); 3] = [
        ("few objects without a destructor", |pool| {
            pool.create(1);
        }),
        ("many of them", |pool| {
            (0..10).for_each(|n| _ = pool.create(n));
        }),
        ("objects with a destructor", |pool| {
            pool.create(String::from("object"));
        }),
    ];
    for (made, (what, fill)) in fills.into_iter().enumerate() {
        let mut pool = AutoreleasePool::new();
        pool.drain_within(Budget::All);
        me().release(Ref::new(log.probe(0)));
        fill(&pool);
        drop(pool);
        assert_eq!(log.count(), made + 1, "{what}");
    }
}

#[test]
fn sent_references_are_found_while_they_wait() {
    let (single, pooled, other) = (Ref::new(1), Ref::new(2), Ref::new(3));
    let singles = [(); 3].map(|()| Ref::new(0));
    singles.iter().cloned().for_each(|r| me().release(r));
    // A value that waits for its destructor hides nothing.
    let at_home = HomeRef::new(0);
    thread::spawn(move || drop(at_home)).join().unwrap();
    me().release(single.clone());
    let mut pool = HandoffPool::new();
    pool.autorelease(pooled.clone());
    pool.drain_on(&me());
    AutoreleasePool::new().drain_within(Budget::Count(0));
    let known = [&single, &pooled, &other].map(|r| global().contains(r));
    assert_eq!(known, [true, true, false]);
    assert!(singles.iter().all(|r| global().contains(r)));
    AutoreleasePool::new().drain_within(Budget::Count(1));
    assert!(!global().contains(&singles[0]), "the oldest");
    assert!(singles[1..].iter().all(|r| global().contains(r)));
    global().drain_backlog(Budget::All);
    assert!(!global().contains(&single) && !global().contains(&pooled));
    // Beside what waits in the backlog.
    me().release(other.clone());
    let mut pool = AutoreleasePool::new();
    pool.autorelease(pooled.clone());
    pool.drain_within(Budget::Count(0));
    let known = [&single, &pooled, &other].map(|r| global().contains(r));
    assert_eq!(known, [false, true, true]);
    global().drain_backlog(Budget::All);
}

#[test]
fn closures_are_kept_for_run_inbox() {
    let log = Log::new();
    me().post(move || log.note(7)).unwrap();
    me().release(Ref::new(log.probe(1)));
    AutoreleasePool::new().drain_within(Budget::All);
    assert_eq!(log.ids(), [1]);
    assert_eq!(global().run_inbox(), 1);
    assert_eq!(log.ids(), [1, 7]);
}

#[test]
fn run_inbox_within_limits_releases_and_closures() {
    // This runs in a process of its own, so that the budget is not spent on other tests' orphans.
    let log = alone!();
    let calls = Log::new();
    let run = |budget| counts(global().run_inbox_within(budget));
    send(&me(), &log, 0..3);
    (3..6).for_each(|id| me().post(noting(&log, id)).unwrap());
    assert_eq!(run(Budget::Count(0)), (0, 6));
    drop(Ref::new(on_drop(move || {
        assert_eq!(run(Budget::All), (0, 6))
    })));
    assert_eq!(run(Budget::Count(2)), (4, 2));
    let _hook = global().set_inbox_hook(move || calls.note(0));
    assert_eq!(run(Budget::Time(Duration::ZERO)), (2, 0), "one of each");
    assert_eq!((log.ids(), calls.count()), (vec![0, 1, 3, 4, 2, 5], 1));
    // The hook is called at once if something is left.
    (6..8).for_each(|id| me().post(noting(&log, id)).unwrap());
    assert_eq!((run(Budget::Count(1)), calls.count()), ((1, 1), 3));
    let mut pool = filled(log, 8..11);
    pool.drain_within(Budget::Count(1));
    assert_eq!(run(Budget::All), (3, 0), "the closure, and the backlog");
    let time = Duration::from_millis(5);
    me().post(move || thread::sleep(time)).unwrap();
    assert!(global().run_inbox_within(Budget::All).elapsed >= time);
    me().post(|| panic!("in a closure")).unwrap();
    assert_eq!(panic_of(|| run(Budget::All)), "in a closure");
}

/// Makes 100 orphans, of which a budgeted drain releases 10.
fn orphans_that_a_drain_has_left() -> (Log, ThreadHandle, AutoreleasePool) {
    let log = Log::new();
    let gone = fresh_to_the_end(me);
    send(&gone, &log, 0..100);
    let mut pool = AutoreleasePool::new();
    assert_eq!(counts(pool.drain_within(Budget::Count(10))), (10, 90));
    (log, gone, pool)
}

#[test]
fn orphans_are_released_within_budgets_and_counted_until_then() {
    alone!();
    let (log, gone, mut pool) = orphans_that_a_drain_has_left();
    assert_eq!(log.count(), 10);
    assert_eq!(global().snapshot().orphans, 90);
    // The drain has given back the orphans that it did not release: other threads can release
    // them.
    fresh(|| {
        let drained = AutoreleasePool::new().drain_within(Budget::Count(10));
        assert_eq!(drained.released, 10);
    });
    assert_eq!(pool.drain_within(Budget::Count(10)).released, 10);
    fresh(|| assert!(global().quiesce(Duration::ZERO)));
    assert_eq!(log.count(), 100);
    send(&gone, &log, 0..100);
    fresh_to_the_end(|| {
        AutoreleasePool::new().drain_within(Budget::Count(10));
    });
    assert_eq!(global().snapshot().orphans, 90);
    drop(pool);
    assert_eq!(log.count(), 110, "closing the pool releases no more");
    autoreleasepool(|_| ());
    assert_eq!((global().snapshot().orphans, log.count()), (0, 200));
}

#[test]
fn orphans_that_a_drain_has_left_go_with_the_next_one() {
    alone!();
    let (log, gone, mut pool) = orphans_that_a_drain_has_left();
    FrameLoop::new(FrameConfig::new().unlimited()).tick(|_| {
        drop(AutoreleasePool::new());
        // Inside a frame, sixteen at a time.
        assert!((11..=26).contains(&log.count()));
    });
    pool.drain();
    assert_eq!((global().snapshot().orphans, log.count()), (0, 100));
    // Orphans that arrive later do not replace them.
    send(&gone, &log, 0..100);
    assert_eq!(pool.drain_within(Budget::Count(10)).released, 10);
    send(&gone, &log, 100..200);
    assert_eq!(pool.drain_within(Budget::Count(10)).released, 10);
    assert_eq!(global().snapshot().orphans, 180);
    global().drain_backlog(Budget::All);
    pool.drain();
    assert_eq!((global().snapshot().orphans, log.count()), (0, 300));
}

#[test]
fn orphaned_pools_are_released_within_budgets() {
    alone!();
    let log = Log::new();
    let gone = fresh_to_the_end(me);
    let mut handoff = HandoffPool::new();
    (0..100).for_each(|id| _ = handoff.create(log.probe(id)));
    handoff.drain_on(&gone);
    assert_eq!(
        counts(AutoreleasePool::new().drain_within(Budget::Count(10))),
        (10, 90)
    );
    assert_eq!(log.count(), 10);
    assert_eq!(global().snapshot().orphans, 90);
    global().drain_backlog(Budget::All);
    assert_eq!((global().snapshot().orphans, log.count()), (0, 100));
}

#[test]
fn retired_objects_are_part_of_the_budget() {
    alone!();
    let log = Log::new();
    let slot = Slot::new(Ref::new(log.probe(0)));
    for id in 1..50 {
        slot.store(Ref::new(log.probe(id)));
    }
    drop(slot);
    let mut pool = AutoreleasePool::new();
    wait_until(|| {
        let before = log.count();
        let drained = pool.drain_within(Budget::Count(3));
        assert!(drained.released <= 3);
        assert_eq!(log.count() - before, drained.released);
        log.count() == 50
    });
}

#[test]
fn remote_releases_are_part_of_all_managers_budgets() {
    alone!();
    let log = Log::new();
    let manager = PoolManager::new();
    let mut pool = manager.pool();
    send(&me(), &log, 0..10);
    assert_eq!(counts(pool.drain_within(Budget::Count(1))), (1, 9));
    drop((manager, pool));
    assert_eq!(log.count(), 1, "closing the pool releases no more");
    // They are in no backlog of the abandoned manager.
    assert_eq!(
        counts(AutoreleasePool::new().drain_within(Budget::Count(4))),
        (4, 5)
    );
    assert_eq!(global().drain_backlog(Budget::All).released, 5);
    assert_eq!(log.ids(), Vec::from_iter(0..10), "oldest first");
}

/// An orphan with a destructor that makes another one.
struct Again {
    gone: ThreadHandle,
    generations: Arc<AtomicUsize>,
}

impl Drop for Again {
    fn drop(&mut self) {
        // Limited, so that a failing test ends.
        if self.generations.fetch_add(1, Ordering::Relaxed) < 10_000 {
            let (gone, generations) = (self.gone.clone(), self.generations.clone());
            self.gone.release(Ref::new(Again { gone, generations }));
        }
    }
}

#[test]
fn orphans_that_arrive_during_a_drain_wait_for_the_next() {
    alone!();
    let gone = fresh_to_the_end(me);
    let generations = Arc::new(AtomicUsize::new(0));
    let first = Again {
        gone: gone.clone(),
        generations: generations.clone(),
    };
    gone.release(Ref::new(first));
    for done in 1..4 {
        AutoreleasePool::new().drain_within(Budget::All);
        assert_eq!(generations.load(Ordering::Relaxed), done);
    }
}

#[test]
fn orphans_take_turns_with_the_threads_own_releases() {
    alone!();
    let log = Log::new();
    let gone = fresh_to_the_end(me);
    send(&gone, &log, 0..50);
    let mut pool = filled(log, 100..300);
    pool.drain_within(Budget::Count(100));
    let orphans = log.ids().iter().filter(|&&id| id < 100).count();
    assert!(orphans > 1 && orphans < 50, "{orphans}");
    let drained = global().drain_backlog(Budget::All);
    assert_eq!((drained.remaining, log.count()), (0, 250));
}

#[test]
fn all_references_of_a_handoff_pool_are_found_while_they_wait() {
    let kept = [1, 2].map(Ref::new);
    let mut pool = HandoffPool::new();
    kept.iter().cloned().for_each(|r| _ = pool.autorelease(r));
    pool.drain_on(&me());
    AutoreleasePool::new().drain_within(Budget::Count(0));
    assert!(kept.iter().all(|r| global().contains(r)));
    global().drain_backlog(Budget::All);
    assert!(!kept.iter().any(|r| global().contains(r)));
}

#[test]
fn orphans_that_a_drain_has_claimed_do_not_wait_for_another_drain() {
    let log = alone!();
    let gone = fresh_to_the_end(me);
    send(&gone, &log, 0..40);
    // The first that is released retires an object, which the drain then claims, too.
    let slot = Slot::new(Ref::new(log.probe(100)));
    gone.release(Ref::new(on_drop(move || drop(slot))));
    let drained = AutoreleasePool::new().drain_within(Budget::Count(1_000));
    assert_eq!((counts(drained), log.count()), ((42, 0), 41));
    assert_eq!(global().snapshot().orphans, 0);
}
