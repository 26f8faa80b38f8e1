//! The table of hot objects and the books: rows that are used again, two threads that take the same
//! row or book at once, and how many objects are dead and not released.

use super::hot::{assert_all_over, drain, drop_two_last, found_in_time, hot, make};
use super::model::Model;
use super::probe::{Overlap, Probe, Seen, Watched, me, spawn, take_deaths};
use releasepool::model::parts::{hot_book, hot_ended, hot_row, hot_unreleased};
use releasepool::{AutoreleasePool, Budget, Hot, HotRef, PoolManager, Ref};
use std::sync::Arc;
use std::time::Duration;

pub const MODELS: &[Model] = &[
    Model::new(
        "hot_index_again",
        "a row is used for another object, while a thread has still noted the first one",
        Overlap::ANY,
        index_again,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_noted_before",
        "two threads drop the last two references, one of them to a row that it has noted in an earlier life",
        &["died on 0", "died on 1"],
        noted_before,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_noted_already",
        "two threads drop the last two references, one of them to a row that it has noted and looked at",
        &["died on 0", "died on 1"],
        noted_already,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_scan_across_lives",
        "a row is used for another object while a thread scans it",
        &["0 found", "1 found"],
        scan_across_lives,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_scan_in_parts",
        "a new thread makes a reference, and an old one drops that from which it was made, while drains without a budget scan on and on",
        &["after 5", "after 6", "after 7"],
        scan_in_parts,
    )
    // Three threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_dropped_between_parts",
        "two threads drop the last two references, one of them between two parts of its scan",
        &["died on 0", "died on 1"],
        dropped_between_parts,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_claim_first",
        "two threads make the first objects hot at once",
        &["0 and 1", "1 and 0"],
        claim_first,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_claim_last",
        "two threads make an object hot at once, and there is room for one, as another one is dead",
        &["first", "second"],
        claim_last,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_adopt",
        "two threads use hot objects for the first time at once, and there is one book without an owner",
        &["first", "one after the other", "second"],
        adopt,
    )
    // Three threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_unreleased",
        "a thread releases a dead object while another one counts those that are not released",
        &["0", "1", "2"],
        unreleased,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_two_releases",
        "two threads release an object each, at once: none of the releases stays in progress",
        Overlap::ANY,
        two_releases,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_unreleased_orphan",
        "a thread that needs room makes a dead object an orphan, while another one counts",
        &["an orphan", "both", "not released"],
        unreleased_orphan,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_ended",
        "a destructor drops the last reference to an object that a thread that counts has found alive",
        &["all released", "changed", "not released"],
        ended,
    )
    // Two threads enter the registry.
    .bounded(3),
];

fn index_again() -> String {
    let first = hot();
    let (mine, theirs) = (first.get(), first.get());
    drop(first);
    let overlap = Overlap::default();
    let noting = overlap.clone();
    let other = spawn(move || {
        theirs.look();
        noting.during(|| {
            drop(theirs);
            // Another thread may find the object dead first, and use its row again.
            drain();
        });
    });
    drop(mine);
    let reference = overlap.during(|| {
        Hot::review();
        hot().get()
    });
    reference.look();
    other.join().unwrap();
    reference.look();
    drop(reference);
    Hot::review();
    assert_eq!(take_deaths().len(), 2);
    overlap.outcome()
}

fn noted_before() -> String {
    drop(hot());
    // The drain looks at the row, which stays noted.
    let drained = AutoreleasePool::new().drain_within(Budget::Count(0));
    assert_eq!((drained.released, drained.remaining), (0, 1));
    let again = spawn(|| {
        Hot::review();
        let hot = hot();
        [hot.get(), hot.get()]
    });
    let last = again.join().unwrap();
    assert_eq!(take_deaths().len(), 1);
    drop_two_last(last)
}

fn noted_already() -> String {
    let hot = hot();
    let last = [hot.get(), hot.get()];
    drop(hot);
    // The drain looks at the row, which stays noted.
    AutoreleasePool::new().drain_within(Budget::Count(0));
    drop_two_last(last)
}

fn scan_across_lives() -> String {
    let first = hot();
    let last = first.get();
    drop(first);
    drop(last);
    let reviewer = spawn(Hot::review);
    // So that loom also explores the executions in which the other thread goes first.
    loom::thread::yield_now();
    let mut found = Hot::review();
    let second = hot();
    let reference = second.get();
    drop(second);
    reference.look();
    let theirs = reviewer.join().unwrap();
    reference.look();
    found += theirs;
    assert_eq!(found, 1);
    assert_eq!(take_deaths().len(), 1);
    drop(reference);
    drain();
    assert_eq!(take_deaths().len(), 1);
    assert_all_over();
    format!("{theirs} found")
}

fn scan_in_parts() -> String {
    let hot = hot();
    let first = Arc::new(hot.get());
    let reviewer = spawn(move || {
        drop(hot);
        let mut pool = AutoreleasePool::new();
        // Each reads one account.
        let mut drains = 1;
        while pool.drain_within(Budget::Time(Duration::ZERO)).remaining > 0 {
            drains += 1;
        }
        drains
    });
    let from = first.clone();
    let maker = spawn(move || HotRef::clone(&from));
    let clone = maker.join().unwrap();
    drop(Arc::into_inner(first).unwrap());
    clone.look();
    let drains = reviewer.join().unwrap();
    clone.look();
    drop(clone);
    drain();
    assert_eq!(take_deaths(), [me()]);
    format!("after {drains}")
}

fn dropped_between_parts() -> String {
    let hot = hot();
    let (mine, theirs) = (hot.get(), hot.get());
    drop(hot);
    let other = spawn(move || {
        theirs.look();
        drop(theirs);
        drain();
        me()
    });
    // Reads one account.
    AutoreleasePool::new().drain_within(Budget::Time(Duration::ZERO));
    drop(mine);
    drain();
    found_in_time(&[me(), other.join().unwrap()])
}

fn claim_first() -> String {
    let claim = || {
        let hot = hot();
        hot.look();
        let row = hot_row(&hot);
        (hot, row)
    };
    let other = spawn(claim);
    let (mine, first) = claim();
    let (theirs, second) = other.join().unwrap();
    assert!(Hot::try_new(Ref::new(1)).is_err(), "models have two rows");
    drop((mine, theirs));
    drain();
    assert_eq!(take_deaths().len(), 2);
    format!("{first} and {second}")
}

fn claim_last() -> String {
    let first = hot();
    drop(hot());
    let claim = || Hot::try_new(Ref::new(Probe::new())).ok();
    let other = spawn(claim);
    let mine = claim();
    let theirs = other.join().unwrap();
    first.look();
    let outcome = match (&mine, &theirs) {
        (Some(last), None) | (None, Some(last)) => {
            last.look();
            assert_eq!((hot_row(&first), hot_row(last)), (0, 1));
            if mine.is_some() { "first" } else { "second" }
        }
        _ => panic!("one of them has got it"),
    };
    drop((first, mine, theirs));
    drain();
    assert_eq!(take_deaths().len(), 4);
    outcome.to_owned()
}

fn adopt() -> String {
    let hot = hot();
    let use_it = |reference: HotRef<Probe>| {
        drop(reference.clone());
        reference.look();
        drop(reference);
        hot_book().unwrap()
    };
    let [first, second, third] = [hot.get(), hot.get(), hot.get()];
    drop(hot);
    let idle = spawn(move || use_it(first)).join().unwrap();
    let threads = [second, third].map(|reference| spawn(move || (use_it(reference), me())));
    let [(first, a), (second, b)] = threads.map(|thread| thread.join().unwrap());
    found_in_time(&[a, b]);
    match idle {
        _ if first == second => "one after the other",
        _ if idle == first => "first",
        _ if idle == second => "second",
        _ => panic!("one of them adopts it"),
    }
    .to_owned()
}

fn unreleased() -> String {
    let seen = Seen::new();
    drop(make(Watched(seen.clone())));
    let other = spawn(Hot::review);
    // So that loom also explores the executions in which the other thread goes first.
    loom::thread::yield_now();
    let n = hot_unreleased();
    if n == 0 {
        assert!(seen.get(), "its destructor has run");
    }
    other.join().unwrap();
    assert_eq!(hot_unreleased(), 0);
    n.to_string()
}

fn two_releases() -> String {
    let (mine, theirs) = (hot(), hot());
    let overlap = Overlap::default();
    let release = |hot: Hot<Probe>, overlap: &Overlap| {
        overlap.during(|| {
            drop(hot);
            drain();
        });
    };
    let other = {
        let overlap = overlap.clone();
        spawn(move || release(theirs, &overlap))
    };
    release(mine, &overlap);
    other.join().unwrap();
    assert_eq!(take_deaths().len(), 2);
    assert_eq!(hot_unreleased(), 0);
    overlap.outcome()
}

fn unreleased_orphan() -> String {
    let first = hot();
    drop(hot());
    // Finds room by making the dead object an orphan.
    let other = spawn(hot);
    // So that loom also explores the executions in which the other thread goes first.
    loom::thread::yield_now();
    let dead = hot_unreleased();
    let orphans = PoolManager::global().snapshot().orphans;
    let outcome = match (dead, orphans) {
        (0, 0) => panic!("it is dead, and nothing has released it"),
        (_, 0) => "not released",
        (0, _) => "an orphan",
        _ => "both",
    };
    drop((first, other.join().unwrap()));
    drain();
    assert_eq!(take_deaths(), [me(); 3]);
    outcome.to_owned()
}

/// Keeps another one alive.
struct Outer {
    _inner: HotRef<Watched>,
    _seen: Watched,
}

fn ended() -> String {
    let [outer_seen, inner_seen] = [Seen::new(), Seen::new()];
    // In the first row, so it is looked at first.
    let inner = make(Watched(inner_seen.clone()));
    let outer = make(Outer {
        _inner: inner.get(),
        _seen: Watched(outer_seen.clone()),
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
        assert!(outer_seen.get() && inner_seen.get(), "all are released");
        "all released"
    };
    other.join().unwrap();
    outcome.to_owned()
}
