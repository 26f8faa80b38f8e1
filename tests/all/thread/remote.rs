//! Messages between threads count until they have run, in snapshots and for `shutdown`.
//!
//! Most tests run in processes of their own, because all threads of a process count.

use crate::frame::noting;
use crate::support::allocator::bytes;
use crate::support::teardown::push_work;
use crate::support::{
    LONG, Worker, alone, assert_says, counts, events, fresh, fresh_to_the_end, global, me, on_drop,
    only, send, sized, slot, wait_until,
};
use releasepool::event::EventKind;
use releasepool::{
    AutoreleasePool, Budget, HandoffPool, Looper, PoolManager, Ref, ThreadHandle, autorelease,
};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

const SOON: Duration = Duration::from_millis(5);

/// Starts a worker and returns its handle, too.
fn worker() -> (Worker, ThreadHandle) {
    let worker = Worker::new("worker");
    let handle = worker.run(me);
    (worker, handle)
}

/// Drains a new pool, and returns how many references that has released, and left.
fn drain_within(budget: Budget) -> (usize, usize) {
    counts(AutoreleasePool::new().drain_within(budget))
}

/// Asserts that a shutdown of any manager reports this many messages, and releases in the backlog,
/// of the worker.
fn held_by_the_worker(messages: usize, backlog: usize) {
    for manager in [global(), &PoolManager::new()] {
        let report = manager.shutdown(SOON).unwrap_err();
        let holder = only(&report.holders);
        assert_eq!(holder.name.as_deref(), Some("worker"));
        let held = (holder.inbox, holder.backlog);
        assert_eq!(held, (messages, backlog), "{report}");
        let say = match messages {
            1 => "holds 1 release or closure to run",
            n => &format!("holds {n} releases and closures to run"),
        };
        assert_says(&report, &[say]);
        assert_eq!(report.to_string().contains("backlog"), backlog > 0);
    }
}

#[test]
fn shutdown_waits_for_releases_sent_to_a_live_thread() {
    let log = alone!();
    let (worker, handle) = worker();
    handle.release(Ref::new(log.probe(0)));
    let mut pool = HandoffPool::new();
    pool.create(log.probe(1));
    pool.create(log.probe(2));
    pool.drain_on(&handle);
    held_by_the_worker(3, 0);
    assert_eq!(log.count(), 0);
    worker.run(|| drop(AutoreleasePool::new()));
    global().shutdown(SOON).unwrap();
    assert_eq!(log.count(), 3);
}

#[test]
fn shutdown_waits_for_closures_that_were_posted() {
    alone!();
    let (worker, handle) = worker();
    handle.post(|| ()).unwrap();
    held_by_the_worker(1, 0);
    worker.run(|| _ = global().run_inbox());
    global().shutdown(SOON).unwrap();
}

#[test]
fn shutdown_asks_for_remote_releases_that_a_budgeted_drain_has_left() {
    let log = alone!();
    let (worker, handle) = worker();
    send(&handle, &log, 0..10);
    worker.run(|| {
        assert_eq!(drain_within(Budget::Count(4)), (4, 6));
    });
    held_by_the_worker(6, 0);
    assert_eq!(log.count(), 4);
    // The worker was asked by `shutdown`.
    worker.run(|| drop(AutoreleasePool::new()));
    global().shutdown(SOON).unwrap();
    assert_eq!(log.ids(), Vec::from_iter(0..10));
}

#[test]
fn a_budgeted_drain_that_shutdown_has_asked_releases_all_that_it_has_claimed() {
    let log = alone!();
    let (worker, handle) = worker();
    worker.run(|| drop(AutoreleasePool::new()));
    send(&handle, &log, 0..100);
    global().shutdown(SOON).unwrap_err();
    let left = worker.run(|| drain_within(Budget::Count(1)));
    assert_eq!((left, log.count()), ((100, 0), 100));
    global().shutdown(SOON).unwrap();
    worker.run(|| drop(AutoreleasePool::new()));
    // What is sent after drains have claimed others is not asked for.
    send(&handle, &log, 0..1);
    worker.run(|| drain_within(Budget::Count(0)));
    send(&handle, &log, 0..1);
    global().shutdown(SOON).unwrap_err();
    let left = worker.run(|| drain_within(Budget::Count(0)));
    assert_eq!((left, log.count()), ((1, 1), 101));
}

#[test]
fn the_drain_that_shutdown_has_asked_counts_what_messages_have_added_to_its_pool() {
    alone!();
    let (worker, handle) = worker();
    worker.run(|| drop(AutoreleasePool::new()));
    handle.release(Ref::new(on_drop(|| autorelease(Ref::new(0)))));
    global().shutdown(SOON).unwrap_err();
    assert_eq!(worker.run(|| global().drain_root()), 1);
    global().shutdown(SOON).unwrap();
}

#[test]
fn messages_that_the_caller_is_running_are_not_counted() {
    alone!();
    for shut_down in [
        || global().shutdown(Duration::MAX).is_ok(),
        || global().quiesce(Duration::MAX),
    ] {
        me().post(move || assert!(shut_down())).unwrap();
        assert_eq!(global().run_inbox(), 1);
    }
    // Closures posted to the caller that have not begun do count, and no other thread runs
    // them.
    me().post(|| ()).unwrap();
    let report = global().shutdown(Duration::MAX).unwrap_err();
    assert_eq!(report.holders[0].inbox, 1, "{report}");
    assert_eq!(global().run_inbox(), 1);
}

#[test]
fn shutdown_asks_threads_that_come_later_and_again() {
    let log = alone!();
    let (idle, handle) = worker();
    handle.release(Ref::new(log.probe(0)));
    let waiting = thread::spawn(|| global().shutdown(LONG));
    // `shutdown` sleeps by now, or soon, after it has asked the first worker.
    thread::sleep(Duration::from_millis(20));
    let (late, _) = worker();
    for id in 1..4 {
        let probe = log.probe(id);
        late.run(move || autorelease(Ref::new(probe)));
        wait_until(|| {
            late.run(|| drop(AutoreleasePool::new()));
            log.count() == id as usize
        });
    }
    idle.run(|| drop(AutoreleasePool::new()));
    waiting.join().unwrap().unwrap();
    assert_eq!(log.ids(), [1, 2, 3, 0]);
}

#[test]
fn a_budgeted_drain_keeps_no_orphans_to_itself() {
    let log = alone!();
    let gone = fresh_to_the_end(me);
    send(&gone, &log, 0..1_000);
    let mut pool = AutoreleasePool::new();
    assert_eq!(counts(pool.drain_within(Budget::Count(10))), (10, 990));
    // Several drains leave orphans, and others arrive in between.
    gone.release(Ref::new(log.probe(1_000)));
    assert_eq!(counts(pool.drain_within(Budget::Count(10))), (10, 981));
    fresh(|| drop(AutoreleasePool::new()));
    assert_eq!((log.count(), global().snapshot().orphans), (1_001, 0));
}

#[test]
fn orphans_that_drains_of_one_take_out_and_put_back_are_all_run() {
    let log = alone!();
    let gone = fresh_to_the_end(me);
    let mut pool = AutoreleasePool::new();
    // The first drain puts two orphans back as a batch, on top of what the newest one's destructor
    // has sent; the next drain puts back two lists, and the next one ends after the first of these.
    let (last, after) = (log.probe(2), gone.clone());
    send(&gone, &log, 0..2);
    gone.release(Ref::new(on_drop(move || after.release(Ref::new(last)))));
    for left in [3, 2, 1, 0] {
        let drained = pool.drain_within(Budget::Count(1));
        assert_eq!((drained.released, global().snapshot().orphans), (1, left));
    }
    assert_eq!(log.ids(), [1, 0, 2]);
}

#[test]
fn taking_messages_out_of_the_inbox_is_part_of_the_budget() {
    let log = alone!();
    send(&me(), &log, 0..100);
    let mut pool = AutoreleasePool::new();
    let drained = pool.drain_within(Budget::Time(Duration::ZERO));
    // The budget is spent before the first release.
    assert_eq!(counts(drained), (0, 100));
    let mut left = || pool.drain_within(Budget::Time(Duration::ZERO)).remaining;
    let drains = (1..).find(|_| left() == 0);
    assert!(drains > Some(100), "{drains:?}");
    assert_eq!(log.ids(), Vec::from_iter(0..100), "oldest first");
}

#[test]
#[cfg_attr(feature = "leak-detection", ignore = "the ledger allocates, too")]
fn queues_give_their_memory_back() {
    const MANY: usize = sized(1, 50_000, 200_000);
    const KEPT: isize = 64 * 1024;
    let ways: [fn(&ThreadHandle); 3] = [
        |me| {
            (0..MANY).for_each(|_| me.release(Ref::new(0)));
            drop(AutoreleasePool::new());
        },
        |me| {
            (0..MANY).for_each(|_| me.release(Ref::new(0)));
            while drain_within(Budget::Count(MANY / 10)).1 > 0 {}
        },
        |me| {
            (0..MANY).for_each(|_| me.post(|| ()).unwrap());
            assert_eq!(global().run_inbox(), MANY);
        },
    ];
    alone!();
    for way in ways {
        let me = me();
        let _ = AutoreleasePool::new().create(0);
        let before = bytes();
        way(&me);
        let kept = bytes() - before;
        assert!(kept < KEPT, "{kept} bytes");
    }
    // A looper runs its messages without being asked.
    let looper = Looper::spawn("looper").unwrap();
    looper.call(|| ()).unwrap();
    let before = bytes();
    looper.call(|| thread::sleep(SOON)).unwrap();
    (0..MANY).for_each(|_| looper.thread().release(Ref::new(0)));
    (0..MANY).for_each(|_| looper.post(|| ()).unwrap());
    wait_until(|| bytes() - before < KEPT);
    looper.shutdown().unwrap();
}

#[test]
fn closures_that_pile_up_are_reported() {
    alone!();
    crate::support::listen();
    for _ in 0..25_000 {
        me().post(|| ()).unwrap();
    }
    // The sender reports this, because the thread may have no loop.
    let all = events(EventKind::PostsWatermark);
    let counts: Vec<_> = all.iter().map(|event| event.count).collect();
    assert_eq!(counts, [10_000, 20_000]);
    assert!(all[1].to_string().contains("20,000 posted closures wait"));
    assert_eq!(global().run_inbox(), 25_000);
    // After the inbox has been emptied, reports start again.
    for _ in 0..10_000 {
        me().post(|| ()).unwrap();
    }
    assert_eq!(events(EventKind::PostsWatermark).len(), 3);
    // Or after fewer than half as many have waited.
    for (least, reports) in [(5_000, 3), (4_999, 4)] {
        global().run_inbox_within(Budget::Count(10_001 - least));
        for _ in least..=10_000 {
            me().post(|| ()).unwrap();
        }
        assert_eq!(events(EventKind::PostsWatermark).len(), reports);
    }
    global().run_inbox();
}

#[test]
fn a_thread_is_woken_before_the_sender_reports_that_closures_pile_up() {
    alone!();
    crate::support::listen();
    // Each closure runs the next one, so that all have begun and none has ended.
    let thread = thread::Builder::new().stack_size(256 << 20).spawn(|| {
        (1..9_999).for_each(|_| me().post(|| _ = global().run_inbox()).unwrap());
        let post = || me().post(|| ()).unwrap();
        let last = move || {
            let _hook = global().set_inbox_hook(post);
            post();
        };
        me().post(last).unwrap();
        global().run_inbox();
        only(&events(EventKind::PostsWatermark)).count
    });
    let count = thread.unwrap().join().unwrap();
    assert_eq!(count, 10_001, "with that of the hook");
}

#[test]
fn a_successor_runs_no_closures_of_its_predecessor_during_its_teardown() {
    let log = alone!();
    let closure = noting(&log, 0);
    let predecessor = fresh_to_the_end(move || {
        me().post(closure).unwrap();
        me().key()
    });
    let successor = fresh_to_the_end(move || {
        // This runs after the crate's thread-locals are destroyed, and before.
        push_work(move || {
            global().quiesce(Duration::ZERO);
            log.note(1);
        });
        me().key()
    });
    assert_eq!(slot(predecessor), slot(successor), "both had the same slot");
    assert_eq!(log.ids(), [1], "the closure does not run on the successor");
    // Threads that have never had that slot run these.
    let _slot = me();
    let _two = fresh(|| fresh(|| global().quiesce(SOON)));
    assert!(log.ids().len() <= 2);
}

#[test]
fn an_orphaned_destructor_that_quiesces_does_not_hang() {
    alone!();
    let gone = fresh_to_the_end(me);
    for _ in 0..3 {
        gone.release(Ref::new(on_drop(|| _ = global().quiesce(SOON))));
    }
    drop(AutoreleasePool::new());
    assert!(global().quiesce(LONG));
}

/// A release that sends the next one to the same thread.
struct Again(ThreadHandle, u32);

impl Drop for Again {
    fn drop(&mut self) {
        // The number is limited, so that a failing test ends.
        if self.1 > 0 {
            self.0.release(Ref::new(Again(self.0.clone(), self.1 - 1)));
        }
    }
}

#[test]
fn releases_sent_during_a_budgeted_drain_wait_for_the_next() {
    alone!();
    me().release(Ref::new(Again(me(), 1_000)));
    for _ in 0..3 {
        assert_eq!(drain_within(Budget::All), (1, 1));
    }
    assert_eq!(
        counts(PoolManager::new().pool().drain_within(Budget::All)),
        (1, 1)
    );
}

/// An object whose destructor autoreleases the next one, for ever.
struct Endless;

impl Drop for Endless {
    fn drop(&mut self) {
        autorelease(Ref::new(Endless));
    }
}

#[test]
fn a_drain_whose_answer_to_shutdown_is_cut_off_leaves_what_is_sent_meanwhile() {
    alone!();
    let (worker, handle) = worker();
    worker.run(|| autorelease(Ref::new(Endless)));
    handle.release(Ref::new(Again(handle.clone(), 1_000)));
    global().shutdown(SOON).unwrap_err();
    let left = worker.run(|| {
        drop(AutoreleasePool::new());
        global().snapshot().thread(me().key()).unwrap().inbox
    });
    assert_eq!(left, 1, "it made one release, which sent the next");
}

#[test]
fn drains_with_an_empty_budget_take_no_memory() {
    alone!();
    let gone = fresh_to_the_end(me);
    gone.release(Ref::new(0));
    let mut pool = AutoreleasePool::new();
    let mut drain = || (0..1_000).for_each(|_| _ = pool.drain_within(Budget::Count(0)));
    drain();
    let before = bytes();
    drain();
    assert!(bytes() - before < 1_000);
}

#[test]
fn the_rest_of_a_handed_over_pool_counts_while_an_entry_is_released() {
    alone!();
    let mut pool = HandoffPool::new();
    for _ in 0..10 {
        pool.create(0);
    }
    let (tell, told) = channel();
    pool.create(on_drop(move || {
        let report = global().shutdown(Duration::ZERO).unwrap_err();
        tell.send(report.holders[0].inbox).unwrap();
    }));
    pool.drain_on(&me());
    drop(AutoreleasePool::new());
    assert_eq!(told.recv().unwrap(), 10);
    global().shutdown(SOON).unwrap();
}

#[test]
fn shutdown_misses_nothing_that_a_closing_pool_sends_elsewhere() {
    let log = alone!();
    let (idle, handle) = worker();
    let (busy, _) = worker();
    for round in 1..2_000 {
        let handle = handle.clone();
        let (opened, wait) = channel();
        let order = move || {
            let pool = AutoreleasePool::new();
            pool.create(on_drop(move || handle.release(Ref::new(log.probe(0)))));
            opened.send(()).unwrap();
            drop(pool);
        };
        busy.begin(order);
        wait.recv().unwrap();
        // The pool was open before this call, and its destructor sends a release to an idle
        // thread.
        let done = global().shutdown(Duration::ZERO);
        assert!(done.is_err(), "round {round}: {done:?}");
        busy.finish();
        idle.run(|| drop(AutoreleasePool::new()));
        assert_eq!(log.count(), round);
    }
}
