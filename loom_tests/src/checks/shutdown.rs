//! `shutdown`: a thread that has waited for others sees what they did.

use super::model::Model;
use super::probe::{Probe, Seen, Watched, spawn, take_deaths};
use releasepool::{AutoreleasePool, Budget, PoolManager, Ref, autorelease};
use std::time::Duration;

pub const MODELS: &[Model] = &[
    Model::new(
        "shutdown_waits",
        "shutdown while another thread has a pool open: it sees what closing it did",
        &["closed in time", "still open"],
        shutdown_waits,
    )
    // The other thread goes through its whole exit. Unbounded: more than 95,000 executions.
    .bounded(4),
    Model::new(
        "shutdown_root",
        "shutdown while another thread drains its root pool: it sees what that did",
        &["drained in time", "still full"],
        shutdown_root,
    )
    // The other thread goes through its whole exit. Unbounded: more than 130,000 executions.
    .bounded(4),
    Model::new(
        "shutdown_asks",
        "shutdown asks another thread to drain its root pool, and sees that it did",
        &["drained in time", "drained later", "asked too late"],
        shutdown_asks,
    )
    // Unbounded: 758,672 executions.
    .bounded(3),
    Model::new(
        "shutdown_backlog",
        "shutdown asks a thread without pools to drain its backlog: it sees what that did",
        &["done in time", "done later", "asked too late"],
        shutdown_backlog,
    )
    // Unbounded: 2,113,769 executions.
    .bounded(3),
    Model::new(
        "shutdown_inbox",
        "shutdown while another thread runs what was sent to it: it sees what that did",
        &["run in time", "still waiting"],
        shutdown_inbox,
    ),
];

/// Shuts down; returns whether everything was released, and asserts that its effects are visible
/// then.
fn shut_down(seen: &Seen) -> bool {
    let done = PoolManager::global().shutdown(Duration::ZERO).is_ok();
    if done {
        assert!(seen.get(), "done too early");
    }
    done
}

fn shutdown_waits() -> String {
    let seen = Seen::new();
    let pool = AutoreleasePool::new();
    pool.create((Probe::new(), Watched(seen.clone())));
    let waiter = spawn(move || shut_down(&seen));
    drop(pool);
    let done = waiter.join().unwrap();
    take_deaths();
    if done { "closed in time" } else { "still open" }.to_owned()
}

fn shutdown_inbox() -> String {
    let seen = Seen::new();
    // Makes the thread known to the manager here, as loom does not see DashMap's locks.
    drop(AutoreleasePool::new());
    let me = PoolManager::global().current_thread().unwrap();
    me.release(Ref::new((Probe::new(), Watched(seen.clone()))));
    let waiter = spawn(move || shut_down(&seen));
    // Without a pool, as its end would order the two as well.
    PoolManager::global().run_inbox();
    let done = waiter.join().unwrap();
    take_deaths();
    if done { "run in time" } else { "still waiting" }.to_owned()
}

fn shutdown_root() -> String {
    let seen = Seen::new();
    autorelease(Ref::new((Probe::new(), Watched(seen.clone()))));
    let waiter = spawn(move || shut_down(&seen));
    assert_eq!(PoolManager::global().drain_root(), 1);
    let done = waiter.join().unwrap();
    take_deaths();
    if done {
        "drained in time"
    } else {
        "still full"
    }
    .to_owned()
}

fn shutdown_backlog() -> String {
    let seen = Seen::new();
    let mut pool = AutoreleasePool::new();
    pool.create((Probe::new(), Watched(seen.clone())));
    pool.drain_within(Budget::Count(0));
    drop(pool);
    // The first asks, at least.
    let waiter = spawn(move || shut_down(&seen) || shut_down(&seen));
    PoolManager::global().drain_root();
    let done = waiter.join().unwrap();
    let left = PoolManager::global().drain_backlog(Budget::All);
    assert_eq!(take_deaths().len(), 1);
    match (done, left.released) {
        (true, 0) => "done in time",
        (false, 0) => "done later",
        (false, 1) => "asked too late",
        other => panic!("{other:?}"),
    }
    .to_owned()
}

fn shutdown_asks() -> String {
    let seen = Seen::new();
    autorelease(Ref::new((Probe::new(), Watched(seen.clone()))));
    // The first asks, at least.
    let waiter = spawn(move || shut_down(&seen) || shut_down(&seen));
    drop(AutoreleasePool::new());
    let done = waiter.join().unwrap();
    let left = PoolManager::global().drain_root();
    assert_eq!(take_deaths().len(), 1);
    match (done, left) {
        (true, 0) => "drained in time",
        (false, 0) => "drained later",
        (false, 1) => "asked too late",
        other => panic!("{other:?}"),
    }
    .to_owned()
}
