//! `HomeRef`: the last reference is dropped elsewhere, while the home thread drains or exits.
//!
//! The main thread is the home.

use super::model::Model;
use super::probe::{Probe, me, spawn, take_deaths};
use releasepool::{AutoreleasePool, HomeRef, NotMade, PoolManager, Ref, model};
use std::time::Duration;

pub const MODELS: &[Model] = &[
    Model::new(
        "home_without_pools",
        "the home is a thread that has made an object and has no pools, and exits",
        &["by the home's drop", "sent home", "kept"],
        || {
            drop(Ref::new(()));
            against_exit(HomeRef::new)
        },
    ),
    Model::new(
        "home_exit",
        "a last drop on another thread while the home exits: destroyed at home, or kept",
        &["by the home's drop", "sent home", "kept"],
        || against_exit(HomeRef::new),
    ),
    Model::new(
        "home_exit_anywhere",
        "a last drop of a value that may be destroyed anywhere, while its home exits",
        &["by the home's drop", "sent home", "where it was dropped"],
        || against_exit(HomeRef::new_or_anywhere),
    ),
    Model::new(
        "home_clone_drop",
        "two other threads clone and drop while the home drains",
        &["in the drain", "later"],
        clone_drop,
    ),
    Model::new(
        "home_two_objects",
        "two other threads drop the last reference to an object each, while their home exits",
        &["both kept", "kept and died", "both died"],
        two_objects,
    )
    // Unbounded: 931,950 executions.
    .bounded(3),
    Model::new(
        "home_weak_upgrade",
        "another thread upgrades a weak reference, and drops both, while the home drops the value",
        &["by the home's drop", "sent home", "not upgraded"],
        weak_upgrade,
    ),
    Model::new(
        "home_pending",
        "another thread asks the home for a value while the home runs its inbox and exits: made there, or an error",
        &["made", "made and kept", "home ended"],
        pending,
    ),
];

fn against_exit(make: fn(Probe) -> HomeRef<Probe>) -> String {
    let mine = make(Probe::new());
    let theirs = mine.clone();
    let other = spawn(move || {
        assert!(theirs.get().is_none());
        drop(theirs);
        me()
    });
    mine.get().unwrap().look();
    drop(mine);
    let at_once = take_deaths();
    model::thread_exit();
    let at_exit = take_deaths();
    let other = other.join().unwrap();
    let later = take_deaths();
    let kept = model::free_kept();
    let home = [me()];
    match (&at_once[..], &at_exit[..], &later[..], kept) {
        (died, [], [], 0) if died == home => "by the home's drop",
        ([], died, [], 0) if died == home => "sent home",
        // It may have been destroyed before the home's exit was complete.
        ([], [died], [], 0) | ([], [], [died], 0) if *died == other => "where it was dropped",
        ([], [], [], 1) => "kept",
        other => panic!("died {other:?}"),
    }
    .to_owned()
}

fn clone_drop() -> String {
    let one = HomeRef::new(Probe::new());
    one.get().unwrap().look();
    let two = one.clone();
    let cloner = spawn(move || {
        let another = one.clone();
        drop(one);
        assert!(another.get().is_none());
    });
    let dropper = spawn(move || drop(two));
    // So that loom also explores the executions in which the others go first.
    loom::thread::yield_now();
    drop(AutoreleasePool::new());
    let drained = take_deaths();
    cloner.join().unwrap();
    dropper.join().unwrap();
    assert_eq!(PoolManager::global().drain_root(), 0);
    let later = take_deaths();
    match (&drained[..], &later[..]) {
        ([home], []) if *home == me() => "in the drain",
        ([], [home]) if *home == me() => "later",
        other => panic!("died {other:?}"),
    }
    .to_owned()
}

fn weak_upgrade() -> String {
    let object = HomeRef::new(Probe::new());
    let weak = HomeRef::downgrade(&object);
    let other = spawn(move || weak.upgrade().is_some());
    object.get().unwrap().look();
    drop(object);
    let at_once = take_deaths();
    let upgraded = other.join().unwrap();
    drop(AutoreleasePool::new());
    let later = take_deaths();
    let home = [me()];
    match (upgraded, &at_once[..], &later[..]) {
        (true, died, []) if died == home => "by the home's drop",
        (true, [], died) if died == home => "sent home",
        (false, died, []) if died == home => "not upgraded",
        other => panic!("{other:?}"),
    }
    .to_owned()
}

fn pending() -> String {
    drop(AutoreleasePool::new());
    let here = PoolManager::global().current_thread().unwrap();
    let other = spawn(move || {
        let made = HomeRef::new_on(&here, Probe::new).wait();
        if let Ok(value) = &made {
            assert!(value.get().is_none());
        }
        made.err()
    });
    // So that loom also explores the executions in which the other one goes first.
    loom::thread::yield_now();
    PoolManager::global().run_inbox();
    model::thread_exit();
    // Runs the closure if it is an orphan; it makes no value any more, and wakes the other thread.
    let manager = PoolManager::global();
    manager.quiesce(Duration::ZERO);
    let why = other.join().unwrap();
    assert!(manager.quiesce(Duration::ZERO));
    let deaths = take_deaths();
    let kept = model::free_kept();
    match (why, &deaths[..], kept) {
        (None, [home], 0) if *home == me() => "made",
        (None, [], 1) => "made and kept",
        (Some(NotMade::HomeEnded), [], 0) => "home ended",
        other => panic!("(why not, died, kept): {other:?}"),
    }
    .to_owned()
}

fn two_objects() -> String {
    let others = [(), ()].map(|()| {
        let object = HomeRef::new(Probe::new());
        spawn(move || drop(object))
    });
    model::thread_exit();
    others.into_iter().for_each(|other| other.join().unwrap());
    let deaths = take_deaths();
    assert!(deaths.iter().all(|thread| *thread == me()));
    match (deaths.len(), model::free_kept()) {
        (0, 2) => "both kept",
        (1, 1) => "kept and died",
        (2, 0) => "both died",
        other => panic!("(died, kept): {other:?}"),
    }
    .to_owned()
}
