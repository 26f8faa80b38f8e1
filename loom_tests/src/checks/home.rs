//! `HomeRef`: the last reference is dropped elsewhere, while the home thread drains or exits.
//!
//! The main thread is the home.

use super::steps::*;
use releasepool::home::NotMade;
use releasepool::{HomeRef, Ref, model};

pub fn models() -> Vec<Model> {
    [
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
        model!(
            home_clone_drop,
            "two other threads clone and drop while the home drains",
            &["in the drain", "later"],
        ),
        model!(
            home_two_objects,
            "two other threads drop the last reference to an object each, while their home exits",
            &["both kept", "kept and died", "both died"],
        )
        // Unbounded: 931,950 executions.
        .bounded(3),
        model!(
            home_weak_upgrade,
            "another thread upgrades a weak reference, and drops both, while the home drops the value",
            &["by the home's drop", "sent home", "not upgraded"],
        ),
        model!(
            home_pending,
            "another thread asks the home for a value while the home runs its inbox and exits: made there, or an error",
            &["made", "made and kept", "home ended"],
        )
        // The request meets the inbox's run, its close, and the orphans' run: four preemptions put
        // the request among these, a fifth interrupts it. Unbounded: 49,414 executions in rmw mode.
        .bounded(5),
    ]
    .into()
}

fn against_exit(make: fn(Probe) -> HomeRef<Probe>) -> &'static str {
    let mine = make(Probe::new());
    let theirs = mine.clone();
    let other = spawn(move || {
        assert!(theirs.get().is_none());
        drop(theirs);
    });
    mine.get().unwrap().look();
    drop(mine);
    let at_once = take_deaths();
    model::thread_exit();
    let at_exit = take_deaths();
    let other = other.ended();
    let later = take_deaths();
    let home = [me()];
    match (&at_once[..], &at_exit[..], &later[..], model::free_kept()) {
        (died, [], [], 0) if died == home => "by the home's drop",
        ([], died, [], 0) if died == home => "sent home",
        // The other thread may destroy the value before the home's exit is complete.
        ([], [died], [], 0) | ([], [], [died], 0) if *died == other => "where it was dropped",
        ([], [], [], 1) => "kept",
        other => panic!("died {other:?}"),
    }
}

fn home_clone_drop() -> bool {
    let one = HomeRef::new(Probe::new());
    one.get().unwrap().look();
    let two = one.clone();
    let cloner = spawn(move || {
        let another = one.clone();
        drop(one);
        assert!(another.get().is_none());
    });
    let dropper = spawn(move || drop(two));
    let_others_go_first();
    drain();
    let mut deaths = take_deaths();
    let drained = !deaths.is_empty();
    cloner.join();
    dropper.join();
    assert_eq!(manager().drain_root(), 0);
    deaths.extend(take_deaths());
    assert_eq!(deaths, [me()]);
    drained
}

fn home_weak_upgrade() -> usize {
    let object = HomeRef::new(Probe::new());
    let weak = HomeRef::downgrade(&object);
    let other = spawn(move || weak.upgrade().is_some());
    object.get().unwrap().look();
    drop(object);
    let mut deaths = take_deaths();
    let at_once = !deaths.is_empty();
    let upgraded = other.join();
    drain();
    deaths.extend(take_deaths());
    assert_eq!(deaths, [me()]);
    match (upgraded, at_once) {
        (true, true) => 0,
        (true, false) => 1,
        (false, true) => 2,
        (false, false) => panic!("neither thread has dropped it"),
    }
}

fn home_pending() -> usize {
    drain();
    let here = this();
    let other = spawn(move || {
        let made = HomeRef::new_on(&here, Probe::new).wait();
        made.map(|value| assert!(value.get().is_none())).err()
    });
    let_others_go_first();
    manager().run_inbox();
    model::thread_exit();
    // Runs the request if it is an orphan: that makes no value, and wakes the other thread.
    quiesce();
    let why = other.join();
    assert!(quiesce());
    let deaths = take_deaths();
    match (why, &deaths[..], model::free_kept()) {
        (None, [home], 0) if *home == me() => 0,
        (None, [], 1) => 1,
        (Some(NotMade::HomeEnded), [], 0) => 2,
        other => panic!("(why not, died, kept): {other:?}"),
    }
}

fn home_two_objects() -> usize {
    let others = [(), ()].map(|()| {
        let object = HomeRef::new(Probe::new());
        spawn(move || drop(object))
    });
    model::thread_exit();
    join_all(others);
    let died = take_deaths();
    assert_eq!(died, vec![me(); died.len()]);
    assert_eq!(died.len() + model::free_kept(), 2);
    died.len()
}
