//! `shutdown` and `quiesce`. Orphans are the whole process's, so what these two report
//! is looked at in processes of their own.

use crate::support::{Child, Log, child, fresh, fresh_to_the_end, on_drop, panic_of, wait_until};
use releasepool::{AutoreleasePool, PoolManager, Ref, autorelease};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub const LONG: Duration = Duration::from_secs(60);

/// A thread that does what it is told, step by step.
pub struct Crew {
    orders: Sender<Box<dyn FnOnce() + Send>>,
    done: Receiver<()>,
    thread: JoinHandle<()>,
}

impl Crew {
    pub fn new(name: &str) -> Self {
        let (orders, todo) = channel::<Box<dyn FnOnce() + Send>>();
        let (tell, done) = channel();
        let thread = thread::Builder::new().name(name.into()).spawn(move || {
            for order in todo {
                order();
                tell.send(()).unwrap();
            }
        });
        Self {
            orders,
            done,
            thread: thread.unwrap(),
        }
    }

    /// Has it done, and waits for that.
    pub fn run(&self, order: impl FnOnce() + Send + 'static) {
        self.begin(order);
        self.finish();
    }

    /// Has it done, and does not wait.
    pub fn begin(&self, order: impl FnOnce() + Send + 'static) {
        self.orders.send(Box::new(order)).unwrap();
    }

    /// Waits until what was begun is done.
    pub fn finish(&self) {
        self.done.recv().unwrap();
    }

    pub fn dismiss(self) {
        drop(self.orders);
        self.thread.join().unwrap();
    }
}

pub fn passed(child: &Child) {
    child.assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_with_nothing_held() {
    passed(&child!(|| {
        let log = Log::new();
        let manager = PoolManager::new();
        assert_eq!(manager.shutdown(Duration::ZERO).unwrap().released, 0);
        manager.autorelease(Ref::new(log.probe(0)));
        manager.autorelease(Ref::new(log.probe(1)));
        let report = manager.shutdown(Duration::ZERO).unwrap();
        assert_eq!(
            (report.released, report.holders.len(), report.orphans),
            (2, 0, 0)
        );
        assert_eq!(log.ids(), [1, 0]);
        assert!(
            report.to_string().contains("2 entries released"),
            "{report}"
        );
        // It works as before.
        manager.autorelease(Ref::new(log.probe(2)));
        assert_eq!(manager.drain_root(), 1);
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_with_live_threads_never_drains_their_pools_and_reports_who_holds_what() {
    passed(&child!(|| {
        let log = Log::new();
        let manager = PoolManager::new();
        let worker = Crew::new("worker");
        let (theirs, inner_log) = (manager.clone(), log.clone());
        worker.run(move || {
            theirs.autorelease(Ref::new(inner_log.probe(0)));
            let pool: &'static AutoreleasePool = Box::leak(Box::new(theirs.pool()));
            let lent = pool.create(inner_log.probe(1));
            let token = theirs.push();
            theirs.autorelease(Ref::new(inner_log.probe(2)));
            assert_eq!((lent.id, pool.len()), (1, 1));
            let _ = token;
        });
        let report = manager.shutdown(Duration::from_millis(20)).unwrap_err();
        assert_eq!(log.count(), 0, "never a live thread's pools");
        let [holder] = &report.holders[..] else {
            panic!("one holder: {report}")
        };
        assert_eq!(holder.name.as_deref(), Some("worker"));
        assert_eq!((holder.open_pools, holder.root_entries), (2, 1));
        assert!(report.to_string().contains("worker"), "{report}");
        assert!(
            report.to_string().contains("2 open pools, 1 root entry"),
            "{report}"
        );
        let _: &dyn std::error::Error = &report;
        assert!(report.elapsed >= Duration::from_millis(20));
        worker.dismiss();
        assert_eq!(
            log.ids(),
            [2, 0],
            "by the thread itself, at its end; not the leaked one"
        );
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_with_live_threads_asks_them_and_waits() {
    passed(&child!(|| {
        let log = Log::new();
        let manager = PoolManager::new();
        let worker = Crew::new("worker");
        let (theirs, inner_log) = (manager.clone(), log.clone());
        worker.run(move || {
            for id in 0..3 {
                theirs.autorelease(Ref::new(inner_log.probe(id)));
            }
        });
        let waiting = thread::spawn({
            let manager = manager.clone();
            move || manager.shutdown(LONG)
        });
        // The thread goes on with its work; sooner or later it finds that it was asked.
        wait_until(|| {
            let theirs = manager.clone();
            worker.run(move || drop(theirs.pool()));
            log.count() > 0
        });
        let report = waiting.join().unwrap().unwrap();
        assert!(report.holders.is_empty(), "{report}");
        assert_eq!(log.ids(), [2, 1, 0]);
        let worked = worker.thread.thread().id();
        assert_eq!(log.threads(), [worked; 3], "by the thread that was asked");
        worker.dismiss();
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_reports_who_holds_nothing_but_root_entries() {
    passed(&child!(|| {
        let manager = PoolManager::new();
        let worker = Crew::new("worker");
        let theirs = manager.clone();
        worker.run(move || theirs.autorelease(Ref::new(0)));
        let report = manager.shutdown(Duration::from_millis(5)).unwrap_err();
        let [holder] = &report.holders[..] else {
            panic!("one holder: {report}")
        };
        assert_eq!((holder.open_pools, holder.root_entries), (0, 1));
        let shown = report.to_string();
        assert!(shown.ends_with(" holds 1 root entry"), "{shown}");
        assert!(!shown.contains("orphans"), "{shown}");
        assert!(!shown.contains("backlog"), "{shown}");
        worker.dismiss();
    }));
}

/// A thread that runs the process's orphans, among them one whose destructor goes on
/// until it is told to end.
fn busy_with_an_orphan(told: Receiver<()>) -> JoinHandle<bool> {
    let manager = PoolManager::global();
    let gone = fresh(|| manager.current_thread().unwrap());
    wait_until(|| !gone.is_alive());
    let (tell, begun) = channel();
    let told = std::sync::Mutex::new(told);
    gone.release(Ref::new(on_drop(move || {
        tell.send(()).unwrap();
        told.lock().unwrap().recv().unwrap();
    })));
    let busy = thread::spawn(|| PoolManager::global().quiesce(LONG));
    begun.recv().unwrap();
    busy
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn quiesce_waits_for_a_thread_that_is_in_the_middle_of_an_orphan() {
    passed(&child!(|| {
        let (tell, told) = channel();
        let busy = busy_with_an_orphan(told);
        let manager = PoolManager::global();
        let limit = Duration::from_millis(10);
        let start = std::time::Instant::now();
        assert!(!manager.quiesce(limit), "it is not done");
        assert!(start.elapsed() >= limit);
        let waiting = thread::spawn(|| PoolManager::global().quiesce(LONG));
        thread::sleep(limit);
        assert!(!waiting.is_finished(), "it waits");
        tell.send(()).unwrap();
        assert!(waiting.join().unwrap() && busy.join().unwrap());
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_reports_orphans_that_are_left() {
    passed(&child!(|| {
        let (tell, told) = channel();
        let busy = busy_with_an_orphan(told);
        let report = PoolManager::new().shutdown(Duration::ZERO).unwrap_err();
        assert_eq!((report.orphans, report.holders.len()), (1, 0));
        assert!(report.to_string().contains("1 orphan left"), "{report}");
        tell.send(()).unwrap();
        assert!(busy.join().unwrap());
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_with_live_threads_is_done_when_they_end() {
    passed(&child!(|| {
        let log = Log::new();
        let manager = PoolManager::new();
        let worker = Crew::new("worker");
        let (theirs, inner_log) = (manager.clone(), log.clone());
        worker.run(move || theirs.autorelease(Ref::new(inner_log.probe(0))));
        let waiting = thread::spawn({
            let manager = manager.clone();
            move || manager.shutdown(LONG)
        });
        worker.dismiss();
        waiting.join().unwrap().unwrap();
        assert_eq!(log.ids(), [0]);
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_waits_for_the_orphans_of_threads_that_end_meanwhile() {
    passed(&child!(|| {
        let log = Log::new();
        let manager = PoolManager::global();
        let _slot = manager.current_thread();
        let worker = Crew::new("worker");
        let inner_log = log.clone();
        worker.run(move || {
            manager.autorelease(Ref::new(inner_log.probe(0)));
            // Open to the thread's last step.
            std::mem::forget(AutoreleasePool::new());
        });
        let waiting = thread::spawn(|| manager.shutdown(LONG));
        let inner_log = log.clone();
        worker.run(move || {
            // Until it is asked; by then it has looked after the orphans for the first time.
            wait_until(|| {
                drop(AutoreleasePool::new());
                inner_log.count() == 1
            });
            let me = manager.current_thread().unwrap();
            me.post(move || inner_log.note(1)).unwrap();
        });
        worker.dismiss();
        waiting.join().unwrap().unwrap();
        assert_eq!((log.ids(), manager.snapshot().orphans), (vec![0, 1], 0));
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_reports_the_callers_own_open_pools() {
    passed(&child!(|| {
        let manager = PoolManager::new();
        let pool = manager.pool();
        pool.create(0);
        let report = manager.shutdown(LONG).unwrap_err();
        let me = manager.current_thread().unwrap().key();
        assert_eq!((report.holders.len(), report.holders[0].key), (1, me));
        assert_eq!(pool.len(), 1);
        drop(pool);
        manager.shutdown(Duration::ZERO).unwrap();
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_does_not_concern_itself_with_other_managers() {
    passed(&child!(|| {
        let (manager, other) = (PoolManager::new(), PoolManager::new());
        let pool = other.pool();
        PoolManager::global().autorelease(Ref::new(0));
        manager.shutdown(Duration::ZERO).unwrap();
        other.shutdown(Duration::ZERO).unwrap_err();
        drop(pool);
        assert_eq!(PoolManager::global().drain_root(), 1);
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_runs_what_dead_threads_left() {
    passed(&child!(|| {
        let log = Log::new();
        let _this_thread_has_a_slot = PoolManager::global().current_thread();
        let closures = log.clone();
        let gone = fresh_to_the_end(move || {
            let me = PoolManager::global().current_thread().unwrap();
            let autoreleased = Ref::new(closures.probe(2));
            me.post(move || {
                closures.note(0);
                autorelease(autoreleased);
            })
            .unwrap();
            me
        });
        gone.release(Ref::new(log.probe(1)));
        assert_eq!(PoolManager::global().snapshot().orphans, 2);
        // What the closure has autoreleased is of the caller's root pool.
        let report = PoolManager::global().shutdown(LONG).unwrap();
        assert_eq!(report.released, 1);
        let mut ids = log.ids();
        ids.sort_unstable();
        assert_eq!(ids, [0, 1, 2]);
        assert_eq!(PoolManager::global().snapshot().orphans, 0);
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_resumes_the_first_panic_after_everything_is_done() {
    passed(&child!(|| {
        let log = Log::new();
        let manager = PoolManager::new();
        manager.autorelease(Ref::new(log.probe(0)));
        manager.autorelease(Ref::new(on_drop(|| panic!("in the root"))));
        let inner_log = log.clone();
        let gone = fresh_to_the_end(|| PoolManager::global().current_thread().unwrap());
        gone.release(Ref::new(on_drop(move || inner_log.note(1))));
        assert_eq!(panic_of(|| manager.shutdown(LONG)), "in the root");
        assert_eq!(PoolManager::global().snapshot().orphans, 0);
        let mut ids = log.ids();
        ids.sort_unstable();
        assert_eq!(ids, [0, 1]);
        manager.shutdown(Duration::ZERO).unwrap();
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_that_panics_has_asked_the_other_threads() {
    passed(&child!(|| {
        let log = Log::new();
        let manager = PoolManager::new();
        let worker = Crew::new("worker");
        let (theirs, inner_log) = (manager.clone(), log.clone());
        worker.run(move || theirs.autorelease(Ref::new(inner_log.probe(0))));
        manager.autorelease(Ref::new(on_drop(|| panic!("in the root"))));
        assert_eq!(panic_of(|| manager.shutdown(Duration::ZERO)), "in the root");
        let theirs = manager.clone();
        worker.run(move || drop(theirs.pool()));
        assert_eq!(log.ids(), [0], "it was asked for its root all the same");
        worker.dismiss();
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_asks_once() {
    passed(&child!(|| {
        let log = Log::new();
        let manager = PoolManager::new();
        let worker = Crew::new("worker");
        let (theirs, inner_log) = (manager.clone(), log.clone());
        worker.run(move || theirs.autorelease(Ref::new(inner_log.probe(0))));
        manager.shutdown(Duration::ZERO).unwrap_err();
        let (theirs, inner_log) = (manager.clone(), log.clone());
        worker.run(move || {
            drop(theirs.pool());
            theirs.autorelease(Ref::new(inner_log.probe(1)));
            drop(theirs.pool());
        });
        assert_eq!(log.ids(), [0], "what came later waits in the root pool");
        worker.dismiss();
    }));
}

#[test]
fn shutdown_is_not_answered_in_the_middle_of_a_destructor() {
    fresh(|| {
        let log = Log::new();
        let manager = PoolManager::new();
        manager.autorelease(Ref::new(log.probe(0)));
        fresh(|| _ = manager.shutdown(Duration::ZERO).unwrap_err());
        let (theirs, inner_log) = (manager.clone(), log.clone());
        drop(Ref::new(on_drop(move || {
            theirs.autorelease(Ref::new(inner_log.probe(1)));
            drop(theirs.pool());
            assert_eq!(
                inner_log.count(),
                0,
                "it may still use what it autoreleased"
            );
        })));
        drop(manager.pool());
        assert_eq!(log.ids(), [1, 0]);
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_does_not_ask_its_own_thread() {
    passed(&child!(|| {
        let log = Log::new();
        let manager = PoolManager::new();
        manager.shutdown(Duration::ZERO).unwrap();
        manager.autorelease(Ref::new(log.probe(0)));
        manager.shutdown(Duration::ZERO).unwrap();
        assert_eq!(log.ids(), [0]);
        manager.autorelease(Ref::new(log.probe(1)));
        drop(manager.pool());
        assert_eq!(log.ids(), [0], "what came later waits in the root pool");
    }));
}

/// A chain whose last link panics.
struct Link(Option<Ref<Link>>);

impl Drop for Link {
    fn drop(&mut self) {
        assert!(self.0.is_some(), "the last link");
    }
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_asks_for_a_root_pool_with_a_panic_deep_down_and_the_pool_is_closed() {
    passed(&child!(|| {
        let manager = PoolManager::new();
        let worker = Crew::new("worker");
        let theirs = manager.clone();
        worker.run(move || {
            let chain = (0..5_000).fold(None, |rest, _| Some(Ref::new(Link(rest))));
            theirs.autorelease(chain.unwrap());
        });
        manager.shutdown(Duration::ZERO).unwrap_err();
        let theirs = manager.clone();
        worker.run(move || {
            assert_eq!(panic_of(|| drop(theirs.pool())), "the last link");
        });
        manager.shutdown(Duration::ZERO).unwrap();
        worker.dismiss();
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_by_several_threads_at_once() {
    passed(&child!(|| {
        let manager = PoolManager::new();
        let threads: Vec<_> = (0..4)
            .map(|i| {
                let manager = manager.clone();
                thread::spawn(move || {
                    manager.autorelease(Ref::new(i));
                    while manager.shutdown(Duration::from_millis(5)).is_err() {
                        drop(manager.pool());
                    }
                })
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        manager.shutdown(Duration::ZERO).unwrap();
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn quiesce_gets_everything_deferred_released() {
    passed(&child!(|| {
        let log = Log::new();
        let manager = PoolManager::global();
        assert!(manager.quiesce(Duration::ZERO));
        let me = manager.current_thread().unwrap();
        me.release(Ref::new(log.probe(0)));
        let closures = log.clone();
        me.post(move || closures.note(1)).unwrap();
        let gone = fresh(|| manager.current_thread().unwrap());
        wait_until(|| !gone.is_alive());
        gone.release(Ref::new(log.probe(2)));
        let pool = AutoreleasePool::new();
        pool.create(log.probe(3));
        assert!(manager.quiesce(LONG));
        let mut ids = log.ids();
        ids.sort_unstable();
        assert_eq!(
            ids,
            [0, 2],
            "not what is posted to the living, nor what pools hold"
        );
        drop(pool);
        assert_eq!(manager.run_inbox(), 1);
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn quiesce_resumes_the_first_panic_after_everything_is_done() {
    passed(&child!(|| {
        let log = Log::new();
        let manager = PoolManager::global();
        let _this_thread_has_a_slot = manager.current_thread();
        let closures = log.clone();
        fresh_to_the_end(move || {
            let me = manager.current_thread().unwrap();
            for id in 0..3 {
                let log = closures.clone();
                me.post(move || {
                    log.note(id);
                    panic!("closure {id}");
                })
                .unwrap();
            }
        });
        assert_eq!(panic_of(|| manager.quiesce(LONG)), "closure 0");
        assert_eq!(log.ids(), [0, 1, 2]);
        assert!(manager.quiesce(Duration::ZERO));
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn quiesce_called_by_an_orphaned_closure_does_not_hang() {
    passed(&child!(|| {
        let log = Log::new();
        let manager = PoolManager::global();
        let _this_thread_has_a_slot = manager.current_thread();
        let closures = log.clone();
        fresh_to_the_end(move || {
            let me = manager.current_thread().unwrap();
            for id in 0..2 {
                let log = closures.clone();
                me.post(move || {
                    // Neither its caller nor its siblings are in its way: these run in it.
                    assert!(manager.quiesce(LONG));
                    log.note(id);
                })
                .unwrap();
            }
        });
        assert!(manager.quiesce(LONG));
        assert_eq!(log.ids(), [1, 0]);
    }));
}
