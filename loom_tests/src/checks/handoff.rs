//! Pools that another thread drains.

use super::model::Model;
use super::probe::{Probe, Seen, Watched, me, spawn, take_deaths};
use releasepool::{AutoreleasePool, Budget, HandoffPool, PoolManager, Ref, model};
use std::time::Duration;

pub const MODELS: &[Model] = &[
    Model::new(
        "handoff_chain",
        "a pool of two pages is handed to a thread that drains: it gets all entries, or none yet",
        &["in the first drain", "in the second"],
        handoff_chain,
    ),
    Model::new(
        "handoff_exit",
        "a pool is handed to an exiting thread: released there, or as an orphan",
        &["by the leaver", "by a drain of the sender"],
        handoff_exit,
    ),
    Model::new(
        "orphans_by_parts",
        "a budgeted drain claims orphans and leaves some, while another thread drains",
        &["0 here", "1 here"],
        orphans_by_parts,
    )
    // Three threads enter the registry, one after the other.
    .bounded(6),
];

/// More entries than a page has in model builds.
const MANY: usize = 6;

fn handoff_chain() -> String {
    let to = PoolManager::global().current_thread().unwrap();
    let seen = Seen::new();
    let mut pool = AutoreleasePool::new();
    let sender = spawn(move || {
        let mut handoff = HandoffPool::new();
        handoff.autorelease(Ref::new((Probe::new(), Watched(seen))));
        for _ in 1..MANY {
            handoff.autorelease(Ref::new(Probe::new()));
        }
        assert_eq!(handoff.drain_on(&to), MANY);
    });
    // So that loom also explores the executions in which the sender goes first.
    loom::thread::yield_now();
    pool.drain();
    let first = take_deaths();
    sender.join().unwrap();
    pool.drain();
    let second = take_deaths();
    let (outcome, deaths) = match (first.len(), second.len()) {
        (MANY, 0) => ("in the first drain", first),
        (0, MANY) => ("in the second", second),
        other => panic!("{other:?}"),
    };
    assert!(deaths.iter().all(|thread| *thread == me()));
    outcome.to_owned()
}

fn handoff_exit() -> String {
    let manager = PoolManager::global();
    let leaver = manager.current_thread().unwrap();
    drop(AutoreleasePool::new());
    let sender = spawn(move || {
        let mut handoff = HandoffPool::new();
        for _ in 0..MANY {
            handoff.autorelease(Ref::new(Probe::new()));
        }
        handoff.drain_on(&leaver);
        drop(AutoreleasePool::new());
        me()
    });
    model::thread_exit();
    let sender = sender.join().unwrap();
    assert!(manager.quiesce(Duration::ZERO));
    let deaths = take_deaths();
    assert_eq!(deaths.len(), MANY);
    assert!(deaths.iter().all(|thread| *thread == deaths[0]));
    match deaths[0] {
        thread if thread == me() => "by the leaver",
        thread if thread == sender => "by a drain of the sender",
        other => panic!("died on {other:?}"),
    }
    .to_owned()
}

fn orphans_by_parts() -> String {
    let manager = PoolManager::global();
    let gone = spawn(|| PoolManager::global().current_thread().unwrap());
    let gone = gone.join().unwrap();
    let sender = {
        let gone = gone.clone();
        spawn(move || {
            gone.release(Ref::new(Probe::new()));
            gone.release(Ref::new(Probe::new()));
            drop(AutoreleasePool::new());
        })
    };
    // So that loom also explores the executions in which the other thread goes first.
    loom::thread::yield_now();
    let drained = AutoreleasePool::new().drain_within(Budget::Count(1));
    let mut deaths = take_deaths();
    let here = deaths.iter().filter(|thread| **thread == me()).count();
    assert_eq!(here, drained.released);
    sender.join().unwrap();
    // Releases here the references that were claimed and not released, which count until then.
    assert!(manager.quiesce(Duration::ZERO));
    deaths.append(&mut take_deaths());
    assert_eq!(deaths.len(), 2);
    format!("{here} here")
}
