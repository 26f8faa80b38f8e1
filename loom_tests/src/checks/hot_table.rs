//! The table of hot objects and the books: rows that are used again, two threads that take the same
//! row or book at once, and how many objects are dead and not released.

use super::hot::{
    assert_all_over, drop_and_drain, drop_on_thread, drop_two_last, found_in_time, hot, make,
    references,
};
use super::steps::*;
use releasepool::model::parts::{hot_book, hot_ended, hot_row, hot_unreleased};
use releasepool::{AutoreleasePool, Budget, Hot, HotRef, Ref};
use std::sync::Arc;
use std::time::Duration;

pub fn models() -> Vec<Model> {
    [
        model!(
            hot_index_again,
            "a row is used for another object, while a thread has still noted the first one",
            OVERLAP,
        ),
        model!(
            hot_noted_before,
            "two threads drop the last two references, one of them to a row that it has noted in an earlier life",
            DIED,
        ),
        model!(
            hot_noted_already,
            "two threads drop the last two references, one of them to a row that it has noted and looked at",
            DIED,
        ),
        model!(
            hot_scan_across_lives,
            "a row is used for another object while a thread scans it",
            &["0 found", "1 found"],
        ),
        model!(
            hot_scan_in_parts,
            "a new thread makes a reference, and an old one drops that from which it was made, while drains without a budget scan on and on",
            &["after 5", "after 6", "after 7"],
        ),
        model!(
            hot_dropped_between_parts,
            "two threads drop the last two references, one of them between two parts of its scan",
            DIED,
        ),
        model!(
            hot_claim_first,
            "two threads make the first objects hot at once",
            &["0 and 1", "1 and 0"],
        ),
        model!(
            hot_claim_last,
            "two threads make an object hot at once, and there is room for one, as another one is dead",
            &["first", "second"],
        ),
        model!(
            hot_adopt,
            "two threads use hot objects for the first time at once, and there is one book without an owner",
            &["first", "one after the other", "second"],
        )
        // Each of the two threads gets a book under one lock: one preemption runs the other thread
        // before or after that, a second one returns. With 3: 28,290 executions in the rmw mode.
        .bounded(2),
        Model::new(
            "hot_unreleased",
            "a thread releases a dead object while another one counts those that are not released",
            &["0", "1", "2"],
            unreleased,
        ),
        model!(
            hot_two_releases,
            "two threads release an object each, at once: none of the releases stays in progress",
            OVERLAP,
        ),
        model!(
            hot_unreleased_orphan,
            "a thread that needs room makes a dead object an orphan, while another one counts",
            &["an orphan", "both", "not released"],
        ),
        Model::new(
            "hot_ended",
            "a destructor drops the last reference to an object that a thread that counts has found alive",
            &["all released", "changed", "not released"],
            ended,
        ),
    ]
    .map(|model| model.else_bounded(3))
    .into()
}

/// Drains a pool within a budget; returns how many objects are left.
fn left_within(budget: Budget) -> usize {
    AutoreleasePool::new().drain_within(budget).remaining
}

fn hot_index_again() -> bool {
    let [mine, theirs] = references();
    let overlap = Overlap::default();
    let other = spawn_with(&overlap, |overlap| {
        theirs.look();
        // Another thread may find the object dead first, and use its row again.
        overlap.during(|| drop_and_drain(theirs));
    });
    drop(mine);
    let reference = overlap.during(|| {
        Hot::review();
        hot().get()
    });
    reference.look();
    other.join();
    last_look(reference);
    Hot::review();
    assert_eq!(take_deaths().len(), 2);
    overlap.at_once()
}

fn hot_noted_before() -> usize {
    drop(hot());
    // The drain looks at the row, which stays noted.
    let drained = AutoreleasePool::new().drain_within(Budget::Count(0));
    assert_eq!((drained.released, drained.remaining), (0, 1));
    let again = spawn(|| {
        Hot::review();
        references()
    });
    let last = again.join();
    assert_eq!(take_deaths().len(), 1);
    drop_two_last(last)
}

fn hot_noted_already() -> usize {
    let last = references();
    // The drain looks at the row, which stays noted.
    left_within(Budget::Count(0));
    drop_two_last(last)
}

fn hot_scan_across_lives() -> usize {
    let [last] = references();
    drop(last);
    let reviewer = spawn(Hot::review);
    let_others_go_first();
    let mine = Hot::review();
    let [reference] = references();
    reference.look();
    let theirs = reviewer.join();
    reference.look();
    assert_eq!(mine + theirs, 1);
    assert_eq!(take_deaths().len(), 1);
    drop_and_drain(reference);
    assert_eq!(take_deaths().len(), 1);
    assert_all_over();
    theirs
}

fn hot_scan_in_parts() -> String {
    let hot = hot();
    let first = Arc::new(hot.get());
    let reviewer = spawn(move || {
        drop(hot);
        let mut pool = AutoreleasePool::new();
        // Each drain reads one account.
        let mut drains = 1;
        while pool.drain_within(Budget::Time(Duration::ZERO)).remaining > 0 {
            drains += 1;
        }
        drains
    });
    let maker = spawn_with(&first, |first| HotRef::clone(&first));
    let clone = maker.join();
    drop(Arc::into_inner(first).unwrap());
    clone.look();
    let drains = reviewer.join();
    clone.look();
    drop_and_drain(clone);
    assert_eq!(take_deaths(), [me()]);
    format!("after {drains}")
}

fn hot_dropped_between_parts() -> usize {
    let [mine, theirs] = references();
    let other = drop_on_thread(theirs);
    // This drain reads one account.
    left_within(Budget::Time(Duration::ZERO));
    drop_and_drain(mine);
    found_in_time(&[me(), other.ended()])
}

fn hot_claim_first() -> String {
    let claim = || {
        let hot = hot();
        hot.look();
        let row = hot_row(&hot);
        (hot, row)
    };
    let other = spawn(claim);
    let (mine, first) = claim();
    let (theirs, second) = other.join();
    assert!(Hot::try_new(Ref::new(1)).is_err(), "models have two rows");
    drop((mine, theirs));
    drain();
    assert_eq!(take_deaths().len(), 2);
    format!("{first} and {second}")
}

fn hot_claim_last() -> bool {
    let first = hot();
    drop(hot());
    let claim = || Hot::try_new(Ref::new(Probe::new())).ok();
    let other = spawn(claim);
    let mine = claim();
    let theirs = other.join();
    first.look();
    let is_mine = mine.is_some();
    assert!(is_mine != theirs.is_some(), "one of them has got it");
    let last = mine.or(theirs).unwrap();
    last.look();
    assert_eq!((hot_row(&first), hot_row(&last)), (0, 1));
    drop((first, last));
    drain();
    assert_eq!(take_deaths().len(), 4);
    is_mine
}

fn hot_adopt() -> usize {
    let use_it = |reference: HotRef<Probe>| {
        drop(reference.clone());
        last_look(reference);
        hot_book().unwrap()
    };
    let [first, second, third] = references();
    let idle = spawn(move || use_it(first)).join();
    let threads = [second, third].map(|reference| spawn(move || use_it(reference)));
    let ids = threads.each_ref().map(|thread| thread.id);
    let [first, second] = threads.map(Thread::join);
    found_in_time(&ids);
    match idle {
        _ if first == second => 1,
        _ if idle == first => 0,
        _ if idle == second => 2,
        _ => panic!("one of them adopts it"),
    }
}

fn unreleased() -> usize {
    let seen = Seen::new();
    drop(make(Watched(seen.clone())));
    let other = spawn(Hot::review);
    let_others_go_first();
    let n = hot_unreleased();
    assert!(n > 0 || seen.get(), "its destructor has run");
    other.join();
    assert_eq!(hot_unreleased(), 0);
    n
}

fn hot_two_releases() -> bool {
    let release = |hot: Hot<Probe>| {
        drop(hot);
        drain();
    };
    let (mine, theirs) = (hot(), hot());
    let ((), (), at_once) = overlap(move || release(theirs), || release(mine));
    assert_eq!(take_deaths().len(), 2);
    assert_eq!(hot_unreleased(), 0);
    // Both rows are free again.
    drop((hot(), hot()));
    drain();
    assert_eq!(take_deaths().len(), 2);
    at_once
}

fn hot_unreleased_orphan() -> &'static str {
    let first = hot();
    drop(hot());
    // The spawned thread gets a free row by making the dead object an orphan.
    let other = spawn(hot);
    let_others_go_first();
    let dead = hot_unreleased();
    let orphans = manager().snapshot().orphans;
    let outcome = match (dead, orphans) {
        (0, 0) => panic!("it is dead, and nothing has released it"),
        (_, 0) => "not released",
        (0, _) => "an orphan",
        _ => "both",
    };
    drop((first, other.join()));
    drain();
    assert_eq!(take_deaths(), [me(); 3]);
    outcome
}

/// Keeps another hot object alive.
struct Outer {
    _inner: HotRef<Watched>,
    _seen: Watched,
}

fn ended() -> &'static str {
    let seen = [Seen::new(), Seen::new()];
    // The inner object has the first row, so a review looks at it first.
    let inner = make(Watched(seen[0].clone()));
    let outer = make(Outer {
        _inner: inner.get(),
        _seen: Watched(seen[1].clone()),
    });
    drop(inner);
    drop(outer);
    let other = spawn(Hot::review);
    let before = hot_ended();
    let n = hot_unreleased();
    let outcome = if n > 0 {
        "not released"
    } else if hot_ended() != before {
        "changed"
    } else {
        assert!(seen.iter().all(|seen| seen.get()), "all are released");
        "all released"
    };
    other.join();
    outcome
}
