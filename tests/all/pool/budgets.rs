//! Budgeted drains and the backlog that they leave.

mod messages;

use crate::support::teardown::{When, at_teardown, push_work, thread_to_the_end};
use crate::support::{
    Log, Probe, alone, assert_says, counts, deep_down, figures, fresh_to_the_end, global, here, me,
    on_drop, panic_of, totals, with_log,
};
use releasepool::{
    AutoreleasePool, Budget, Drained, PoolManager, Ref, autorelease, autoreleasepool,
    callback_scope,
};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

pub fn filled(log: Log, ids: std::ops::Range<u32>) -> AutoreleasePool {
    let pool = AutoreleasePool::new();
    for id in ids {
        pool.create(log.probe(id));
    }
    pool
}

/// A chain of probes, each of which releases the next when it is dropped.
struct Link(
    #[expect(dead_code)] Probe,
    #[expect(dead_code)] Option<Ref<Link>>,
);

fn chain(log: Log, ids: std::ops::Range<u32>) -> Ref<Link> {
    let link = |next, id| Some(Ref::new(Link(log.probe(id), next)));
    ids.rev().fold(None, link).unwrap()
}

#[test]
fn later_calls_release_the_rest_oldest_first() {
    let log = Log::new();
    let mut pool = filled(log, 0..4);
    assert_eq!(counts(pool.drain_within(Budget::Count(1))), (1, 3));
    assert!(pool.is_empty());
    pool.create(log.probe(10));
    // The oldest part of the backlog is released first; within a part, the newest entry.
    assert_eq!(counts(pool.drain_within(Budget::Count(2))), (2, 2));
    let mut other = filled(log, 20..21);
    assert_eq!(counts(other.drain_within(Budget::Count(0))), (0, 3));
    assert_eq!(counts(global().drain_backlog(Budget::All)), (3, 0));
    assert_eq!(log.ids(), [3, 2, 1, 0, 10, 20]);
}

#[test]
fn ordinary_operations_leave_the_backlog_alone() {
    let log = Log::new();
    filled(log, 0..3).drain_within(Budget::Count(0));
    autorelease(Ref::new(log.probe(3)));
    assert_eq!(global().drain_root(), 1);
    autoreleasepool(|pool| pool.drain());
    let token = global().push();
    global().pop(token).unwrap();
    global().run_inbox();
    global().quiesce(Duration::ZERO);
    assert_eq!(log.ids(), [3]);
    assert_eq!(figures(global()).backlog, 3);
    assert_says(&global().snapshot(), &["backlog"]);
    global().drain_backlog(Budget::All);
    assert_eq!(figures(global()).backlog, 0);
}

#[test]
fn a_backlog_counts_until_the_destructors_of_its_entries_have_run() {
    let mut pool = AutoreleasePool::new();
    pool.create(on_drop(|| {
        assert_eq!(global().drain_backlog(Budget::All).released, 0);
        assert_eq!(figures(global()).backlog, 1, "`shutdown` waits for it");
    }));
    pool.drain_within(Budget::Count(0));
    global().drain_backlog(Budget::All);
    assert_eq!(figures(global()).backlog, 0);
}

#[test]
fn each_manager_has_a_backlog_of_its_own() {
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
}

#[test]
fn each_duplicate_entry_counts() {
    let r = Ref::new(());
    let mut pool = AutoreleasePool::new();
    (0..10).for_each(|_| _ = pool.autorelease(r.clone()));
    assert_eq!(pool.drain_within(Budget::Count(4)).remaining, 6);
    assert_eq!(Ref::strong_count(&r), 7);
    assert_eq!(global().drain_backlog(Budget::Count(6)).remaining, 0);
    assert_eq!(Ref::strong_count(&r), 1);
}

#[test]
fn nested_releases_count() {
    let log = Log::new();
    let mut pool = AutoreleasePool::new();
    pool.create(log.probe(100));
    pool.autorelease(chain(log, 0..50));
    assert_eq!(counts(pool.drain_within(Budget::Count(20))), (20, 2));
    assert_eq!(log.ids(), (0..20).collect::<Vec<_>>());
    // The destruction of the chain has begun, and continues before older entries.
    assert_eq!(counts(global().drain_backlog(Budget::Count(30))), (30, 1));
    assert_eq!(log.ids(), (0..50).collect::<Vec<_>>());
    assert_eq!(global().drain_backlog(Budget::All).released, 1);
    // However many one destructor makes.
    pool.create(Vec::from_iter((0..40).map(|id| Ref::new(log.probe(id)))));
    assert_eq!(counts(pool.drain_within(Budget::Count(1))), (1, 40));
    assert_eq!(global().drain_backlog(Budget::All).released, 40);
}

#[test]
fn a_budget_of_one_destroys_one_link_of_a_chain_at_a_time() {
    for is_sent in [false, true] {
        with_log(|log| {
            let mut pool = AutoreleasePool::new();
            let links = chain(log, 0..4);
            match is_sent {
                true => me().release(links),
                false => _ = pool.autorelease(links),
            }
            for n in 1..=4 {
                assert_eq!(pool.drain_within(Budget::Count(1)).released, 1);
                assert_eq!(log.count(), n);
            }
        });
    }
}

#[test]
fn what_a_budgeted_drain_has_released_is_counted() {
    let log = Log::new();
    let mut pool = filled(log, 0..10);
    let before = totals().released;
    pool.drain_within(Budget::Count(4));
    assert_eq!(totals().released - before, 4);
    pool.drain_within(Budget::All);
    assert_eq!(totals().released - before, 10);
}

#[test]
fn objects_waiting_for_their_destructor_cannot_be_upgraded() {
    let log = Log::new();
    let inner = Ref::new(log.probe(1));
    let weak = Ref::downgrade(&inner);
    let mut pool = AutoreleasePool::new();
    pool.create(inner);
    assert_eq!(pool.drain_within(Budget::Count(1)).remaining, 1);
    assert!(weak.upgrade().is_none());
    assert_eq!(log.count(), 0, "its destructor has not run yet");
    global().drain_backlog(Budget::Count(1));
    assert_eq!(log.count(), 1);
}

#[test]
fn an_expired_time_budget_allows_one_release() {
    let log = Log::new();
    let mut pool = filled(log, 0..100);
    assert_eq!(
        counts(pool.drain_within(Budget::Time(Duration::ZERO))),
        (1, 99)
    );
    assert_eq!(
        counts(global().drain_backlog(Budget::Time(Duration::from_secs(3_600)))),
        (99, 0)
    );
    assert_eq!(log.count(), 100);
}

#[test]
fn an_expired_time_budget_allows_the_release_of_one_message() {
    let log = Log::new();
    me().release(Ref::new(log.probe(0)));
    AutoreleasePool::new().drain_within(Budget::Time(Duration::ZERO));
    assert_eq!(log.count(), 1);
}

#[test]
fn the_figure_of_a_backlog_rises_while_a_release_of_it_runs() {
    let log = Log::new();
    let mut pool = AutoreleasePool::new();
    pool.create(on_drop(move || {
        filled(log, 0..10).drain_within(Budget::Count(0));
        assert_eq!(figures(global()).backlog, 10);
    }));
    pool.drain_within(Budget::All);
}

#[test]
fn time_budgets_apply_to_objects_without_destructors() {
    let mut pool = AutoreleasePool::new();
    (0..1_000u32).for_each(|n| _ = pool.create(n));
    let drained = pool.drain_within(Budget::Time(Duration::from_nanos(1)));
    assert!(drained.released < 100, "{drained:?}");
    assert_eq!(drained.released + drained.remaining, 1_000);
    // Inside a destructor, a drain makes no releases but those of the backlog.
    drop(Ref::new(on_drop(|| {
        let drained = global().drain_backlog(Budget::Time(Duration::from_nanos(1)));
        assert_eq!(drained.released % 16, 0, "the clock is read then");
    })));
    global().drain_backlog(Budget::All);
}

#[test]
fn the_slowest_destructor_is_measured_without_nested_ones() {
    struct Slow;
    impl Drop for Slow {
        fn drop(&mut self) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    #[expect(dead_code)]
    struct Holder(Ref<Slow>, Rc<Cell<u32>>);
    let mut pool = AutoreleasePool::new();
    let mut drain = || {
        pool.create(Holder(Ref::new(Slow), Rc::default()));
        pool.create(vec![1]);
        pool.drain_within(Budget::All)
    };
    // On a busy machine, one of the others may be interrupted for longer.
    let is_slow = |drained: &Drained| drained.slowest.unwrap().0.ends_with("Slow");
    let drained = (0..100).map(|_| drain()).find(is_slow);
    let drained = drained.expect("the nested one is mostly the slowest");
    let (_, time) = drained.slowest.unwrap();
    assert!(time >= Duration::from_millis(20) && time <= drained.elapsed);
    assert!(drained.to_string().contains("slowest"));
    let nothing = pool.drain_within(Budget::All);
    assert_eq!((nothing.released, nothing.slowest), (0, None));
}

#[test]
fn time_budgets_apply_to_entries_of_one_object() {
    let object = Ref::new(());
    let mut pool = AutoreleasePool::new();
    (0..40).for_each(|_| _ = pool.autorelease(object.clone()));
    let drained = pool.drain_within(Budget::Time(Duration::ZERO));
    assert_eq!(counts(drained), (16, 24), "the clock is read then");
}

#[test]
fn objects_without_destructors_that_a_destructor_drains_belong_to_its_own_drain() {
    // With the ledger, they are destroyed one by one, as part of the outer drain.
    let many = if cfg!(feature = "leak-detection") {
        1
    } else {
        20
    };
    for entries in [1, many] {
        let mut pool = AutoreleasePool::new();
        pool.create(on_drop(move || {
            autoreleasepool(|inner| (0..entries).for_each(|n| _ = inner.create(n)));
        }));
        assert_eq!(counts(pool.drain_within(Budget::All)), (1, 0));
    }
    // So are many of two types by turns.
    let mut pool = AutoreleasePool::new();
    pool.create(on_drop(|| {
        autoreleasepool(|inner| {
            (0..10).for_each(|n| _ = (inner.create(n), inner.create('x')));
        });
    }));
    assert_eq!(counts(pool.drain_within(Budget::All)), (21, 0));
}

#[test]
fn objects_autoreleased_by_destructors_belong_to_the_same_drain() {
    let log = Log::new();
    let mut pool = AutoreleasePool::new();
    for id in 0..3 {
        let after = log.probe(10 + id);
        pool.create(on_drop(move || autorelease(Ref::new(after))));
    }
    assert_eq!(counts(pool.drain_within(Budget::Count(4))), (4, 2));
    assert!(pool.is_empty());
    assert_eq!(figures(global()).backlog, 2);
    // Only the pool of `drain_backlog` is open here.
    let after = log.probe(20);
    pool.create(on_drop(move || autorelease(Ref::new(after))));
    pool.drain_within(Budget::Count(0));
    assert_eq!(global().drain_backlog(Budget::All).remaining, 0);
    assert_eq!(log.count(), 4);
}

#[test]
fn a_panic_is_resumed_when_the_budget_is_spent_and_nothing_is_lost() {
    let log = Log::new();
    let mut pool = filled(log, 0..2);
    pool.create((log.probe(2), on_drop(|| panic!("later"))));
    pool.create(log.probe(3));
    pool.create((on_drop(|| panic!("first")), log.probe(4)));
    assert_eq!(panic_of(|| pool.drain_within(Budget::Count(4))), "first");
    assert_eq!(log.ids(), [4, 3, 2, 1]);
    assert_eq!(global().drain_backlog(Budget::All).released, 1);
    // Objects released by a destructor that panicked.
    let inner = chain(log, 10..13);
    pool.create((on_drop(|| panic!("holder")), inner));
    assert_eq!(panic_of(|| pool.drain_within(Budget::Count(2))), "holder");
    assert_eq!(global().drain_backlog(Budget::All).released, 2);
    assert_eq!(log.count(), 8);
}

#[test]
fn shutdown_counts_backlog_entries_but_not_remote_releases() {
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
}

#[test]
fn budgets_work_inside_a_destructor() {
    let log = Log::new();
    let inner = filled(log, 0..10);
    let remaining = Rc::new(Cell::new(0));
    let seen = remaining.clone();
    autoreleasepool(|pool| {
        pool.create(on_drop(move || {
            let mut inner = inner;
            seen.set(inner.drain_within(Budget::Count(4)).remaining);
        }));
    });
    assert_eq!((remaining.get(), log.count()), (6, 4));
    // Inside a destructor that a budgeted drain has called.
    let inner = filled(log, 10..20);
    let mut pool = AutoreleasePool::new();
    pool.create(on_drop(move || {
        let mut inner = inner;
        inner.drain_within(Budget::Count(2));
    }));
    pool.drain_within(Budget::All);
    assert_eq!(log.count(), 20);
}

#[test]
fn a_thread_that_ends_empties_its_backlogs() {
    let log = Log::new();
    let thread = fresh_to_the_end(move || {
        let log = log;
        filled(log, 0..300).drain_within(Budget::Count(1));
        let mut pool = AutoreleasePool::new();
        pool.autorelease(chain(log, 300..400));
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
        here()
    });
    assert_eq!(log.count(), 402);
    assert!(log.threads().iter().all(|&t| t == thread));
}

#[test]
fn the_backlog_of_an_abandoned_manager_is_released() {
    let log = Log::new();
    let manager = PoolManager::new();
    let mut pool = manager.pool();
    pool.create(log.probe(1));
    pool.drain_within(Budget::Count(0));
    drop((pool, manager));
    assert_eq!(log.count(), 0);
    PoolManager::new().drain_root();
    assert_eq!(log.count(), 1);
}

#[test]
fn a_pool_after_the_threads_exit_ignores_budgets() {
    let log = Log::new();
    at_teardown(When::AfterOurExit, move || {
        let mut pool = filled(log, 0..10);
        assert_eq!(counts(pool.drain_within(Budget::Count(3))), (10, 0));
    });
    assert_eq!(log.count(), 10);
}

#[test]
fn a_budgeted_drain_after_the_threads_exit_leaves_its_inbox_closed() {
    let log = alone!();
    let (tell, told) = std::sync::mpsc::channel();
    thread_to_the_end(move || {
        let place = Rc::new(Cell::new(None));
        let late = place.clone();
        push_work(move || {
            let mut pool: AutoreleasePool = late.take().unwrap();
            pool.drain_within(Budget::All);
        });
        tell.send(me()).unwrap();
        place.set(Some(AutoreleasePool::new()));
    });
    told.recv().unwrap().release(Ref::new(log.probe(0)));
    global().quiesce(Duration::from_secs(1));
    assert_eq!(log.count(), 1);
}

#[test]
fn objects_with_weak_references_are_measured_and_may_panic_as_others() {
    let log = Log::new();
    let mut pool = filled(log, 0..2);
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
}

#[test]
fn objects_without_destructors_are_not_measured() {
    let mut pool = AutoreleasePool::new();
    (0..100u32).for_each(|n| _ = pool.create(n));
    let drained = pool.drain_within(Budget::All);
    assert_eq!((drained.released, drained.slowest), (100, None));
}

#[test]
fn callback_scope_releases_what_the_backlog_autoreleases() {
    let log = Log::new();
    let mut pool = AutoreleasePool::new();
    for id in 0..3 {
        let inner = Ref::new(log.probe(id));
        pool.create(on_drop(move || autorelease(inner)));
    }
    pool.drain_within(Budget::Count(0));
    callback_scope(|_| ());
    assert_eq!(log.count(), 0, "another pool is open");
    drop(pool);
    callback_scope(|_| ());
    assert_eq!(log.count(), 3);
}

#[test]
fn callback_scope_releases_a_backlog_that_the_root_pool_leaves() {
    let log = Log::new();
    let inner = Ref::new(log.probe(1));
    autorelease(Ref::new(on_drop(move || {
        let mut pool = AutoreleasePool::new();
        pool.autorelease(inner.clone());
        pool.drain_within(Budget::Count(0));
    })));
    callback_scope(|_| ());
    assert_eq!(log.count(), 1);
}

#[test]
fn contains_sees_entries_beside_the_one_whose_destructor_runs() {
    let mut pool = AutoreleasePool::new();
    let [kept, other] = [1, 2].map(Ref::new);
    pool.autorelease(kept.clone());
    let contained = || [&kept, &other].map(|r| global().contains(r));
    pool.create(on_drop({
        let [kept, other] = [kept.clone(), other.clone()];
        move || assert!(global().contains(&kept) && global().contains(&other))
    }));
    assert_eq!(pool.drain_within(Budget::Count(0)).remaining, 2);
    pool.autorelease(other.clone());
    assert_eq!(pool.drain_within(Budget::Count(0)).remaining, 3);
    assert_eq!(contained(), [true; 2]);
    assert_eq!(pool.drain_within(Budget::All).remaining, 0);
    assert_eq!(contained(), [false; 2]);
}

#[test]
fn time_of_a_destructor_that_panics_is_not_that_of_the_next() {
    struct Next(Rc<Cell<Option<Instant>>>);
    impl Drop for Next {
        fn drop(&mut self) {
            assert!(self.0.get().is_some(), "it is the next");
        }
    }
    let panicked = Rc::new(Cell::new(None));
    let mut drained = None;
    let message = panic_of(|| {
        let mut pool = AutoreleasePool::new();
        pool.create(Next(panicked.clone()));
        let panicked = panicked.clone();
        pool.create(on_drop(move || {
            std::thread::sleep(Duration::from_millis(100));
            panicked.set(Some(Instant::now()));
            panic!("slow");
        }));
        // Only while the thread unwinds is the panic reported, and the result returned.
        let _drains = on_drop(|| drained = Some(pool.drain_within(Budget::Count(2))));
        panic!("outer");
    });
    let since = panicked.get().unwrap().elapsed();
    let (name, time) = drained.unwrap().slowest.unwrap();
    assert_eq!(message, "outer");
    assert!(
        name.ends_with("::Next") && time <= since,
        "{name}, {time:?}"
    );
}

#[test]
fn time_budgets_apply_deep_inside_a_destructor() {
    let remaining = Rc::new(Cell::new(0));
    let inner = remaining.clone();
    drop(Ref::new(on_drop(move || {
        deep_down(64, || {
            let mut pool = AutoreleasePool::new();
            (0..100).for_each(|n| _ = pool.create(Box::new(n)));
            let drained = pool.drain_within(Budget::Time(Duration::from_nanos(1)));
            inner.set(drained.remaining);
        });
    })));
    assert_eq!(remaining.get(), 84);
}

#[test]
fn drain_deep_inside_a_destructor_leaves_all_destructors_to_the_outermost() {
    let log = Log::new();
    let (plain, seen) = (Ref::new(log.probe(1)), Ref::new(log.probe(2)));
    let weak = Ref::downgrade(&seen);
    drop(Ref::new(on_drop(move || {
        deep_down(64, || {
            let mut pool = AutoreleasePool::new();
            pool.autorelease(plain);
            pool.autorelease(seen);
            assert_eq!(counts(pool.drain_within(Budget::All)), (2, 0));
            assert_eq!(log.count(), 0);
        });
    })));
    assert!(weak.upgrade().is_none());
    assert_eq!(log.count(), 2);
}

#[test]
fn contains_sees_all_entries_below_the_one_whose_destructor_runs() {
    let mut pool = AutoreleasePool::new();
    let kept = [1, 2].map(Ref::new);
    kept.iter().cloned().for_each(|r| _ = pool.autorelease(r));
    pool.create(on_drop(move || {
        let sees_all = move || assert!(kept.iter().all(|r| global().contains(r)));
        sees_all();
        // In a drain inside the first one, too.
        let mut inner = AutoreleasePool::new();
        inner.create(on_drop(sees_all));
        inner.drain_within(Budget::All);
    }));
    assert_eq!(pool.drain_within(Budget::All).released, 4);
}
