//! `shutdown` during the end of a thread, and during another `shutdown`.
//!
//! The thread that ends is the main thread.

use super::model::Model;
use super::probe::{Probe, Seen, Watched, me, spawn, take_deaths};

use releasepool::{
    AutoreleasePool, Budget, PoolManager, Ref, ShutdownReport, ThreadHandle, autorelease, model,
};
use std::sync::Arc;
use std::time::Duration;

pub const MODELS: &[Model] = &[
    Model::new(
        "shutdown_exit_pools",
        "a thread with a token pool and root entries ends: shutdown waits until both are released",
        &["1 pool", "1 pool, 1 root", "1 root", "done"],
        || against_exit(fill_pools),
    )
    // Unbounded: 305,268 executions in the plain mode alone.
    .bounded(3),
    Model::new(
        "shutdown_exit_backlog",
        "a thread with a backlog and claimed releases ends: shutdown waits for both",
        &["1 backlog", "1 backlog, 1 inbox", "1 inbox", "done"],
        || against_exit(fill_backlog),
    )
    // Unbounded: 311,237 executions in the plain mode alone.
    .bounded(3),
    Model::new(
        "shutdown_exit_inbox",
        "a thread with a release and a closure in its inboxes ends; the closure becomes an orphan",
        &[
            "1 inbox",
            "1 inbox, 1 orphans",
            "1 orphans",
            "2 inbox",
            "2 inbox, 1 orphans",
            "done",
        ],
        || against_exit(fill_inbox),
    )
    // Unbounded: 124,106 executions in the plain mode alone.
    .bounded(3),
    Model::new(
        "shutdown_exit_unpooled",
        "a thread without pools, with a release and a closure in its inboxes, ends: both become orphans",
        &[
            "1 inbox",
            "1 inbox, 1 orphans",
            "1 inbox, 2 orphans",
            "1 orphans",
            "2 inbox",
            "2 inbox, 1 orphans",
            "2 inbox, 2 orphans",
            "2 orphans",
            "done",
        ],
        || against_exit(fill_unpooled),
    )
    // Unbounded: too many executions, as for the model before.
    .bounded(3),
    Model::new(
        "shutdown_exit_feeds",
        "a thread ends with releases that feed its root pool: one left by a budgeted drain, one sent",
        &[
            "1 backlog, 1 inbox",
            "1 inbox",
            "1 root",
            "1 root, 1 backlog, 1 inbox",
            "1 root, 1 inbox",
            "done",
        ],
        || against_exit(fill_feeding),
    )
    // Unbounded: too many executions, as for the model before.
    .bounded(2),
    Model::new(
        "shutdown_sent_back",
        "a destructor on another thread sends a release to the thread that shuts down",
        &["1 inbox", "1 inbox, 1 inbox", "done"],
        shutdown_sent_back,
    )
    // Unbounded: more than 25 s in the plain mode.
    .bounded(4),
    Model::new(
        "shutdown_twice",
        "two threads shut down at once, each with an entry in its root pool",
        // Each drains before it checks, so the later one finds nothing.
        &["both", "one"],
        shutdown_twice,
    )
    // With 3: 87,947 executions in the rmw mode.
    .bounded(2),
    Model::new(
        "shutdown_asked_twice",
        "two threads shut down at once and ask a third one, which drains",
        &["one", "none"],
        shutdown_asked_twice,
    )
    // Three threads check each other; with 2 more than 25 s in the plain mode.
    .bounded(1),
];

/// An object with a destructor that sets `Seen`.
fn watched(seen: &[Arc<Seen>], n: usize) -> (Probe, Watched) {
    (Probe::new(), Watched(seen[n].clone()))
}

fn fill_pools(seen: &[Arc<Seen>]) {
    autorelease(Ref::new(watched(seen, 0)));
    let _never_popped = PoolManager::global().push();
    autorelease(Ref::new(watched(seen, 1)));
}

fn fill_backlog(seen: &[Arc<Seen>]) {
    let this = PoolManager::global().current_thread().unwrap();
    this.release(Ref::new(watched(seen, 0)));
    let mut pool = AutoreleasePool::new();
    pool.create(watched(seen, 1));
    let drained = pool.drain_within(Budget::Count(0));
    assert_eq!(drained.remaining, 2);
}

fn fill_inbox(seen: &[Arc<Seen>]) {
    drop(AutoreleasePool::new());
    let this = PoolManager::global().current_thread().unwrap();
    this.release(Ref::new(watched(seen, 0)));
    let object = watched(seen, 1);
    this.post(move || drop(object)).unwrap();
}

/// Autoreleases what it holds when it is dropped.
struct Feeds(Option<Ref<(Probe, Watched)>>);

impl Drop for Feeds {
    fn drop(&mut self) {
        autorelease(self.0.take().unwrap());
    }
}

fn fill_feeding(seen: &[Arc<Seen>]) {
    let feeds = |n| Feeds(Some(Ref::new(watched(seen, n))));
    let mut pool = AutoreleasePool::new();
    pool.create(feeds(0));
    pool.drain_within(Budget::Count(0));
    drop(pool);
    let this = PoolManager::global().current_thread().unwrap();
    this.release(Ref::new(feeds(1)));
}

fn fill_unpooled(seen: &[Arc<Seen>]) {
    // Creating an object enters the thread, and makes no pools.
    let first = Ref::new(watched(seen, 0));
    let this = only_thread();
    this.release(first);
    let object = watched(seen, 1);
    this.post(move || drop(object)).unwrap();
}

/// Returns the calling thread, the only one that has been entered, without making pools.
fn only_thread() -> ThreadHandle {
    let [this] = PoolManager::global().threads().try_into().unwrap();
    this
}

/// Runs `shutdown` during the exit of a thread that `fill` gave two objects: each is destroyed
/// once, and before `shutdown` returns that everything is released.
fn against_exit(fill: fn(&[Arc<Seen>])) -> String {
    let seen = vec![Seen::new(), Seen::new()];
    fill(&seen);
    let leaver = only_thread().key();
    let waiter = spawn(
        move || match PoolManager::global().shutdown(Duration::ZERO) {
            Ok(_) => {
                assert!(seen.iter().all(|seen| seen.get()), "done too early");
                "done".to_owned()
            }
            Err(report) => {
                assert!(report.holders.iter().all(|thread| thread.key == leaver));
                what_is_held(&report)
            }
        },
    );
    model::thread_exit();
    let outcome = waiter.join().unwrap();
    assert!(PoolManager::global().shutdown(Duration::ZERO).is_ok());
    assert_eq!(take_deaths().len(), 2);
    outcome
}

/// Sends what it holds to a thread when it is dropped.
struct Sends(ThreadHandle, Option<Ref<(Probe, Watched)>>);

impl Drop for Sends {
    fn drop(&mut self) {
        self.0.release(self.1.take().unwrap());
    }
}

/// The thread that shuts down checks its own inbox before that of the other thread, which is empty
/// by then.
fn shutdown_sent_back() -> String {
    let manager = PoolManager::global();
    let this = manager.current_thread().unwrap();
    let seen = vec![Seen::new()];
    let object = Ref::new(Sends(this, Some(Ref::new(watched(&seen, 0)))));
    let (go, wait) = loom::sync::mpsc::channel();
    let other = spawn(move || {
        let this = PoolManager::global().current_thread().unwrap();
        this.release(object);
        go.send(()).unwrap();
        PoolManager::global().run_inbox();
    });
    wait.recv().unwrap();
    let outcome = match manager.shutdown(Duration::ZERO) {
        Ok(_) => {
            assert!(seen[0].get(), "done too early");
            "done".to_owned()
        }
        Err(report) => what_is_held(&report),
    };
    other.join().unwrap();
    assert!(manager.shutdown(Duration::ZERO).is_ok());
    assert_eq!(take_deaths().len(), 1);
    outcome
}

/// Returns what the report names; asserts that it names something, and no more than there was.
fn what_is_held(report: &ShutdownReport) -> String {
    let mut held = Vec::new();
    for thread in &report.holders {
        let figures = [
            (thread.open_pools, "pool"),
            (thread.root_entries, "root"),
            (thread.backlog, "backlog"),
            (thread.inbox, "inbox"),
        ];
        for (n, what) in figures {
            assert!(n <= 2, "{n} in the {what}");
            if n > 0 {
                held.push(format!("{n} {what}"));
            }
        }
    }
    if report.orphans > 0 {
        held.push(format!("{} orphans", report.orphans));
    }
    assert!(
        !held.is_empty(),
        "shutdown failed, but its report names nothing"
    );
    held.join(", ")
}

/// Shuts down; returns whether everything was released, and asserts that its effects are visible
/// then.
fn shut_down(seen: &[Arc<Seen>]) -> bool {
    let done = PoolManager::global().shutdown(Duration::ZERO).is_ok();
    if done {
        assert!(seen.iter().all(|seen| seen.get()), "done too early");
    }
    done
}

fn both_or_none(one: bool, two: bool) -> String {
    ["none", "one", "both"][usize::from(one) + usize::from(two)].to_owned()
}

fn shutdown_twice() -> String {
    let seen = vec![Seen::new(), Seen::new()];
    autorelease(Ref::new(watched(&seen, 0)));
    let (go, wait) = loom::sync::mpsc::channel();
    let other = {
        let seen = seen.clone();
        spawn(move || {
            autorelease(Ref::new(watched(&seen, 1)));
            go.send(()).unwrap();
            shut_down(&seen)
        })
    };
    wait.recv().unwrap();
    let one = shut_down(&seen);
    let two = other.join().unwrap();
    assert_eq!(take_deaths().len(), 2);
    both_or_none(one, two)
}

fn shutdown_asked_twice() -> String {
    let seen = vec![Seen::new()];
    autorelease(Ref::new(watched(&seen, 0)));
    let waiters = [(); 2].map(|()| {
        let seen = seen.clone();
        spawn(move || shut_down(&seen))
    });
    drop(AutoreleasePool::new());
    let [one, two] = waiters.map(|waiter| waiter.join().unwrap());
    // Both have asked by now: a request that was not answered yet is answered here.
    drop(AutoreleasePool::new());
    assert_eq!(
        PoolManager::global().drain_root(),
        0,
        "a request was not answered"
    );
    assert_eq!(take_deaths(), [me()]);
    both_or_none(one, two)
}
