//! `shutdown`. Most tests run in processes of their own, because orphans belong to the whole
//! process.

mod deep;

use crate::manager::thread_that_runs_an_orphan;
use crate::support::allocator::{allocations, with_foreign};
use crate::support::worker::Worker;
use crate::support::{
    LONG, Log, alone, assert_says, fresh, fresh_to_the_end, global, me, on_drop, on_threads, only,
    panic_of, wait_until,
};
use releasepool::report::ShutdownReport;
use releasepool::{AutoreleasePool, Budget, PoolManager, Ref, autorelease};
use std::cell::Cell;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A manager, a log, and a worker that uses both.
struct Scene {
    manager: PoolManager,
    log: Log,
    worker: Worker,
}

impl Scene {
    /// Makes a scene and runs `first` on its worker.
    fn new(first: impl FnOnce(&PoolManager, Log) + Send + 'static) -> Self {
        let scene = Self {
            manager: PoolManager::new(),
            log: Log::new(),
            worker: Worker::new("worker"),
        };
        scene.work(first);
        scene
    }

    /// Runs `f` on the worker.
    fn work(&self, f: impl FnOnce(&PoolManager, Log) + Send + 'static) {
        let (manager, log) = (self.manager.clone(), self.log);
        self.worker.run(move || f(&manager, log));
    }

    /// Has the worker open and close a pool of the manager, which is when it does what `shutdown`
    /// has asked it for.
    fn answer(&self) {
        self.work(|manager, _| drop(manager.pool()));
    }

    /// Starts a shutdown of the manager on a thread of its own.
    fn shutdown(&self) -> JoinHandle<Result<ShutdownReport, ShutdownReport>> {
        let manager = self.manager.clone();
        thread::spawn(move || manager.shutdown(LONG))
    }
}

#[test]
fn shutdown_with_nothing_held() {
    alone!();
    let log = Log::new();
    let manager = PoolManager::new();
    assert_eq!(manager.shutdown(Duration::ZERO).unwrap().released, 0);
    manager.autorelease(Ref::new(log.probe(0)));
    manager.autorelease(Ref::new(log.probe(1)));
    let report = manager.shutdown(Duration::ZERO).unwrap();
    let holders = report.holders.len();
    assert_eq!((report.released, holders, report.orphans), (2, 0, 0));
    assert_eq!(log.ids(), [1, 0]);
    assert_says(&report, &["2 entries released"]);
    // The manager can be used as before.
    manager.autorelease(Ref::new(log.probe(2)));
    assert_eq!(manager.drain_root(), 1);
}

#[test]
fn shutdown_with_live_threads_never_drains_their_pools_and_reports_what_each_holds() {
    alone!();
    // The first thread of a report.
    let _this = global().current_thread();
    let scene = Scene::new(|manager, log| {
        manager.autorelease(Ref::new(log.probe(0)));
        let pool: &'static AutoreleasePool = Box::leak(Box::new(manager.pool()));
        let lent = pool.create(log.probe(1));
        let token = manager.push();
        manager.autorelease(Ref::new(log.probe(2)));
        assert_eq!((lent.id, pool.len()), (1, 1));
        let _ = token;
    });
    let limit = Duration::from_millis(20);
    let report = scene.manager.shutdown(limit).unwrap_err();
    assert_eq!(scene.log.count(), 0);
    let holder = only(&report.holders);
    assert_eq!(holder.name.as_deref(), Some("worker"));
    assert_eq!((holder.open_pools, holder.root_entries), (2, 1));
    assert_says(&report, &["worker", "2 open pools, 1 root entry"]);
    let _: &dyn std::error::Error = &report;
    assert!(report.elapsed >= limit);
    // It waits for the other thread, though this one holds something, too.
    let pool = scene.manager.pool();
    let start = Instant::now();
    let report = scene.manager.shutdown(limit).unwrap_err();
    assert_eq!(report.holders.len(), 2, "{report}");
    assert!((limit..=start.elapsed()).contains(&report.elapsed));
    drop(pool);
    scene.worker.join();
    // Released by the thread itself, at its end; the leaked pool is not.
    assert_eq!(scene.log.ids(), [2, 0]);
}

#[test]
fn shutdown_with_live_threads_asks_them_and_waits() {
    alone!();
    let scene = Scene::new(|manager, log| {
        (0..3).for_each(|id| manager.autorelease(Ref::new(log.probe(id))));
    });
    let waiting = scene.shutdown();
    // The worker continues its work; sooner or later it finds that it was asked.
    wait_until(|| {
        scene.answer();
        scene.log.count() > 0
    });
    let report = waiting.join().unwrap().unwrap();
    assert!(report.holders.is_empty(), "{report}");
    assert_eq!(scene.log.ids(), [2, 1, 0]);
    let worker = scene.worker.id();
    assert_eq!(scene.log.threads(), [worker; 3]);
    scene.worker.join();
}

#[test]
fn shutdown_asks_every_thread() {
    alone!();
    let manager = PoolManager::new();
    let workers = [(); 3].map(|()| Worker::new("worker"));
    let on_each = |f: fn(&PoolManager)| {
        for worker in &workers {
            let manager = manager.clone();
            worker.run(move || f(&manager));
        }
    };
    on_each(|manager| manager.autorelease(Ref::new(0)));
    let same = manager.clone();
    let waiting = thread::spawn(move || same.shutdown(LONG));
    wait_until(|| {
        on_each(|manager| drop(manager.pool()));
        waiting.is_finished()
    });
    waiting.join().unwrap().unwrap();
}

#[test]
fn shutdown_reports_a_thread_that_holds_only_root_entries() {
    alone!();
    let scene = Scene::new(|manager, _| manager.autorelease(Ref::new(0)));
    let limit = Duration::from_millis(5);
    let report = scene.manager.shutdown(limit).unwrap_err();
    let holder = only(&report.holders);
    assert_eq!((holder.open_pools, holder.root_entries), (0, 1));
    let shown = report.to_string();
    assert!(shown.ends_with(" holds 1 root entry"), "{shown}");
    assert!(!shown.contains("orphans"), "{shown}");
    assert!(!shown.contains("backlog"), "{shown}");
    scene.worker.join();
}

#[test]
fn shutdown_reports_orphans_that_are_left() {
    alone!();
    let (tell, told) = channel();
    let busy = thread_that_runs_an_orphan(told);
    let report = PoolManager::new().shutdown(Duration::ZERO).unwrap_err();
    assert_eq!((report.orphans, report.holders.len()), (1, 0));
    assert!(report.to_string().contains("1 orphan left"), "{report}");
    tell.send(()).unwrap();
    assert!(busy.join().unwrap());
}

#[test]
fn shutdown_with_live_threads_is_done_when_they_end() {
    alone!();
    let scene = Scene::new(|manager, log| manager.autorelease(Ref::new(log.probe(0))));
    let waiting = scene.shutdown();
    scene.worker.join();
    waiting.join().unwrap().unwrap();
    assert_eq!(scene.log.ids(), [0]);
}

#[test]
fn shutdown_waits_for_the_orphans_of_threads_that_end_meanwhile() {
    alone!();
    let log = Log::new();
    let _slot = global().current_thread();
    let worker = Worker::new("worker");
    worker.run(move || {
        global().autorelease(Ref::new(log.probe(0)));
        // This stays open until the last step of the thread's exit.
        std::mem::forget(AutoreleasePool::new());
    });
    let waiting = thread::spawn(|| global().shutdown(LONG));
    worker.run(move || {
        // This waits until this thread is asked; by then `shutdown` has run the orphans for the
        // first time.
        wait_until(|| {
            drop(AutoreleasePool::new());
            log.count() == 1
        });
        me().post(move || log.note(1)).unwrap();
    });
    worker.join();
    waiting.join().unwrap().unwrap();
    assert_eq!((log.ids(), global().snapshot().orphans), (vec![0, 1], 0));
}

#[test]
fn shutdown_reports_the_callers_own_open_pools() {
    alone!();
    let manager = PoolManager::new();
    let pool = manager.pool();
    pool.create(0);
    let report = manager.shutdown(LONG).unwrap_err();
    let me = manager.current_thread().unwrap().key();
    assert_eq!((report.holders.len(), report.holders[0].key), (1, me));
    assert_eq!(pool.len(), 1);
    drop(pool);
    manager.shutdown(Duration::ZERO).unwrap();
}

#[test]
fn shutdown_ignores_other_managers() {
    alone!();
    let (manager, other) = (PoolManager::new(), PoolManager::new());
    let pool = other.pool();
    global().autorelease(Ref::new(0));
    manager.shutdown(Duration::ZERO).unwrap();
    other.shutdown(Duration::ZERO).unwrap_err();
    drop(pool);
    assert_eq!(global().drain_root(), 1);
}

#[test]
fn shutdown_runs_what_ended_threads_have_left() {
    alone!();
    let log = Log::new();
    let _this_thread_has_a_slot = global().current_thread();
    let gone = fresh_to_the_end(move || {
        let me = me();
        let autoreleased = Ref::new(log.probe(2));
        me.post(move || {
            log.note(0);
            autorelease(autoreleased);
        })
        .unwrap();
        me
    });
    gone.release(Ref::new(log.probe(1)));
    assert_eq!(global().snapshot().orphans, 2);
    // The object that the closure has autoreleased goes to the caller's root pool.
    let report = global().shutdown(LONG).unwrap();
    assert_eq!(report.released, 1);
    assert_eq!(log.sorted(), [0, 1, 2]);
    assert_eq!(global().snapshot().orphans, 0);
}

#[test]
fn shutdown_resumes_the_first_panic_after_everything_is_done() {
    alone!();
    let log = Log::new();
    let manager = PoolManager::new();
    manager.autorelease(Ref::new(log.probe(0)));
    manager.autorelease(Ref::new(on_drop(|| panic!("in the root"))));
    let gone = fresh_to_the_end(me);
    gone.release(Ref::new(on_drop(move || log.note(1))));
    assert_eq!(panic_of(|| manager.shutdown(LONG)), "in the root");
    assert_eq!(global().snapshot().orphans, 0);
    assert_eq!(log.sorted(), [0, 1]);
    manager.shutdown(Duration::ZERO).unwrap();
}

#[test]
fn shutdown_that_panics_has_asked_the_other_threads() {
    alone!();
    let scene = Scene::new(|manager, log| manager.autorelease(Ref::new(log.probe(0))));
    let bomb = Ref::new(on_drop(|| panic!("in the root")));
    scene.manager.autorelease(bomb);
    let shutdown = || scene.manager.shutdown(Duration::ZERO);
    assert_eq!(panic_of(shutdown), "in the root");
    scene.answer();
    assert_eq!(scene.log.ids(), [0], "the worker was asked all the same");
    scene.worker.join();
}

#[test]
fn shutdown_asks_once() {
    alone!();
    let scene = Scene::new(|manager, log| manager.autorelease(Ref::new(log.probe(0))));
    scene.manager.shutdown(Duration::ZERO).unwrap_err();
    scene.work(|manager, log| {
        drop(manager.pool());
        manager.autorelease(Ref::new(log.probe(1)));
        drop(manager.pool());
    });
    // A later object waits in the root pool.
    assert_eq!(scene.log.ids(), [0]);
    scene.worker.join();
}

#[test]
fn shutdown_that_a_destructor_waits_for_in_an_answer_is_answered_with_it() {
    fn ask(manager: PoolManager) {
        fresh(move || manager.shutdown(Duration::ZERO).unwrap_err());
    }
    alone!();
    let manager = PoolManager::new();
    let [asks, again] = [(); 2].map(|()| manager.clone());
    let mut pool = manager.pool();
    // It is released after the pool's entries, and before the answer.
    me().release(Ref::new(on_drop(move || {
        asks.autorelease(Ref::new(on_drop(move || ask(again))));
    })));
    ask(manager.clone());
    pool.create(());
    pool.drain();
    (0..2).for_each(|_| _ = pool.create(String::new()));
    assert_eq!(pool.drain_within(Budget::Count(1)).remaining, 1);
    // One that comes during the answer waits for the next drain, which has no budget then.
    drop(pool);
    let again = manager.clone();
    manager.autorelease(Ref::new(on_drop(move || ask(again))));
    let mut pool = manager.pool();
    ask(manager.clone());
    pool.drain();
    (0..2).for_each(|_| _ = pool.create(String::new()));
    assert_eq!(pool.drain_within(Budget::Count(1)).remaining, 0);
}

#[test]
fn shutdown_is_not_answered_inside_a_destructor() {
    let log = Log::new();
    let manager = PoolManager::new();
    manager.autorelease(Ref::new(log.probe(0)));
    fresh(|| _ = manager.shutdown(Duration::ZERO).unwrap_err());
    let theirs = manager.clone();
    drop(Ref::new(on_drop(move || {
        theirs.autorelease(Ref::new(log.probe(1)));
        drop(theirs.pool());
        // The destructor may still use what it autoreleased.
        assert_eq!(log.count(), 0);
    })));
    drop(manager.pool());
    assert_eq!(log.ids(), [1, 0]);
}

#[test]
fn shutdown_does_not_ask_its_own_thread() {
    alone!();
    let log = Log::new();
    let manager = PoolManager::new();
    manager.shutdown(Duration::ZERO).unwrap();
    manager.autorelease(Ref::new(log.probe(0)));
    manager.shutdown(Duration::ZERO).unwrap();
    assert_eq!(log.ids(), [0]);
    manager.autorelease(Ref::new(log.probe(1)));
    drop(manager.pool());
    assert_eq!(log.ids(), [0], "a later object waits in the root pool");
}

/// A chain; the destructor of its last link panics.
struct Link(Option<Ref<Link>>);

impl Drop for Link {
    fn drop(&mut self) {
        assert!(self.0.is_some(), "the last link");
    }
}

#[test]
fn shutdown_asks_for_a_root_pool_with_a_panic_deep_down_and_the_pool_is_closed() {
    alone!();
    let scene = Scene::new(|manager, _| {
        let chain = (0..5_000).fold(None, |rest, _| Some(Ref::new(Link(rest))));
        manager.autorelease(chain.unwrap());
    });
    scene.manager.shutdown(Duration::ZERO).unwrap_err();
    scene.work(|manager, _| {
        assert_eq!(panic_of(|| drop(manager.pool())), "the last link");
    });
    scene.manager.shutdown(Duration::ZERO).unwrap();
    scene.worker.join();
}

#[test]
fn shutdown_by_several_threads_at_once() {
    alone!();
    let manager = PoolManager::new();
    on_threads(4, |i| {
        manager.autorelease(Ref::new(i));
        while manager.shutdown(Duration::from_millis(5)).is_err() {
            drop(manager.pool());
        }
    });
    manager.shutdown(Duration::ZERO).unwrap();
}

#[test]
#[cfg_attr(windows, ignore = "a sleep takes 16 milliseconds there")]
fn it_looks_every_two_milliseconds() {
    alone!();
    let scene = Scene::new(|manager, log| manager.autorelease(Ref::new(log.probe(0))));
    let look = |within| allocations(|| _ = scene.manager.shutdown(within).unwrap_err());
    let one = look(Duration::ZERO);
    // It looks up to 50 times, and up to 26 times if it naps twice as long. Allocations tell how
    // often, as each look makes about two thirds of those of a look with a report.
    assert!((0..100).any(|_| look(Duration::from_millis(100)) > 22 * one));
}

#[test]
fn it_looks_eight_times_while_figures_change_in_each_look() {
    alone!();
    thread_local! {
        static CALLS: Cell<usize> = const { Cell::new(0) };
    }
    fn count() {
        CALLS.set(CALLS.get() + 1);
    }
    fn act() {
        count();
        me().post(|| ()).unwrap();
        global().run_inbox();
    }
    let calls = |foreign: fn()| {
        _ = with_foreign(foreign, || global().shutdown(Duration::ZERO));
        CALLS.take()
    };
    calls(count);
    let of_one = calls(count);
    assert_eq!(calls(act) / of_one, 8);
}
