//! Hot objects: each dies once, after all uses, and no later than it must.
//!
//! A review finds an object dead by adding up what all threads have counted. Every payload is a
//! probe, so a model fails if one dies while a reference is in use.

use super::model::Model;
use super::probe::{Overlap, Probe, died_on, me, spawn, take_deaths};
use releasepool::model::parts::{hot_releasing_here, hot_unreleased};
use releasepool::{AutoreleasePool, Budget, Hot, HotRef, Ref, model};
use std::sync::Arc;

pub const MODELS: &[Model] = &[
    Model::new(
        "hot_send_and_drop",
        "a reference is sent to a thread that uses and drops it, while another reviews all",
        &["died on 0", "died on 1"],
        send_and_drop,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_two_last",
        "two threads drop the last two references, and then drain: one of the drains finds the object dead",
        &["died on 0", "died on 1"],
        two_last,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_hopping",
        "references are made and dropped on different threads, so that each counts as many as the other",
        &["alive", "dead"],
        hopping,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_review_while_it_moves",
        "one reference makes the next, on two threads in turns, while another thread reviews all",
        &["0 found", "1 found"],
        review_while_it_moves,
    )
    // Three threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_new_book_in_scan",
        "a thread uses hot objects for the first time during a scan",
        &["0 found", "1 found"],
        new_book_in_scan,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_one_list_trap",
        "a new thread makes a reference, and an old one drops that from which it was made, during a scan",
        Overlap::ANY,
        one_list_trap,
    )
    // Three threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_exit_and_adoption",
        "a thread exits while another one uses hot objects for the first time, and may take over its book",
        &["died on 0", "died on 1"],
        exit_and_adoption,
    )
    // Two threads enter the registry, and one leaves it. With 3: 80,000 executions in each mode.
    .bounded(2),
    Model::new(
        "hot_exit_births_only",
        "a thread makes references and exits; others drop them",
        &["died on 0", "died on 1"],
        exit_births_only,
    )
    // Two threads enter the registry, and one leaves it.
    .bounded(3),
    Model::new(
        "hot_after_exit",
        "a reference is dropped on a thread that has exited, while another thread drops the last but one",
        &["an orphan", "in the drain"],
        after_exit,
    )
    // Two threads enter the registry.
    .bounded(3)
    // A death after the exit that is not ordered is noticed with five only.
    .plain_bounded(5),
    Model::new(
        "hot_two_after_exit",
        "two threads that have exited make and drop references at once",
        Overlap::ANY,
        two_after_exit,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_birth_after_exit",
        "a thread that has exited makes a reference, and another thread drops it, during a scan",
        Overlap::ANY,
        birth_after_exit,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_owner_and_last",
        "the owner lets go while another thread drops the last reference",
        &["died on 0", "died on 1"],
        owner_and_last,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_get_and_let_go",
        "a thread gets a reference from the owner, which is let go by whoever drops it last",
        &["died on 0", "died on 1"],
        get_and_let_go,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_let_go_after_exit",
        "the owner is let go by a thread that has exited, while another one drops the last reference",
        &["an orphan", "in the drain"],
        let_go_after_exit,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_budgeted",
        "a budgeted drain and an ordinary one find the same object dead",
        &["died on 0", "died on 1"],
        budgeted,
    )
    // Two threads enter the registry.
    .bounded(3),
    Model::new(
        "hot_destructor",
        "the destructor of a hot object drops the last reference to another one, on either thread",
        &["0 and 0", "1 and 0", "1 and 1"],
        destructor,
    )
    .plain(&["0 and 0", "1 and 1"])
    // Two threads enter the registry.
    .bounded(3),
];

pub fn hot() -> Hot<Probe> {
    make(Probe::new())
}

pub fn make<T: Send + Sync>(value: T) -> Hot<T> {
    Hot::try_new(Ref::new(value)).expect("there is a free row")
}

/// Drains a pool.
pub fn drain() {
    drop(AutoreleasePool::new());
}

/// Asserts that no release is in progress, on this thread or another.
pub fn assert_all_over() {
    assert_eq!((hot_unreleased(), hot_releasing_here()), (0, 0));
}

/// Returns where the only probe has died, which a last review must not have been needed for.
pub fn found_in_time(threads: &[loom::thread::ThreadId]) -> String {
    let outcome = died_on(threads);
    assert_eq!(Hot::review(), 0);
    assert_all_over();
    outcome
}

/// Drops the last two references on two threads, which drain then; returns where the only probe has died.
pub fn drop_two_last([mine, theirs]: [HotRef<Probe>; 2]) -> String {
    let other = spawn(move || {
        theirs.look();
        drop(theirs);
        drain();
        me()
    });
    mine.look();
    drop(mine);
    drain();
    let other = other.join().unwrap();
    found_in_time(&[me(), other])
}

fn send_and_drop() -> String {
    let hot = hot();
    let sent = hot.get();
    drop(hot);
    let other = spawn(move || {
        sent.look();
        drop(sent);
        me()
    });
    // So that loom also explores the executions in which the other thread goes first.
    loom::thread::yield_now();
    Hot::review();
    let other = other.join().unwrap();
    found_in_time(&[me(), other])
}

fn two_last() -> String {
    let hot = hot();
    let last = [hot.get(), hot.get()];
    drop(hot);
    drop_two_last(last)
}

fn hopping() -> String {
    let hot = hot();
    let first = hot.get();
    drop(hot);
    // The other thread counts one birth and one death, and so does this one, while the clone lives.
    let other = spawn(move || {
        let clone = first.clone();
        drop(first);
        clone
    });
    // So that loom also explores the executions in which the other thread goes first.
    loom::thread::yield_now();
    let early = Hot::review();
    assert_eq!(early, 0, "there is a reference");
    let clone = other.join().unwrap();
    assert_eq!(Hot::review(), 0, "there is a reference");
    clone.look();
    let last = spawn(move || {
        clone.look();
        drop(clone);
    });
    let dead = Hot::review() == 1;
    last.join().unwrap();
    assert_eq!(take_deaths().len(), 1);
    if dead { "dead" } else { "alive" }.to_owned()
}

fn review_while_it_moves() -> String {
    let hot = hot();
    let first = hot.get();
    drop(hot);
    let reviewer = spawn(Hot::review);
    let second = {
        let other = spawn(move || {
            let second = first.clone();
            drop(first);
            second
        });
        other.join().unwrap()
    };
    second.look();
    let third = second.clone();
    drop(second);
    third.look();
    drop(third);
    let found = reviewer.join().unwrap();
    drain();
    assert_eq!(take_deaths().len(), 1);
    assert_eq!(Hot::review(), 0);
    format!("{found} found")
}

fn new_book_in_scan() -> String {
    let hot = hot();
    let sent = hot.get();
    drop(hot);
    let other = spawn(move || {
        let clone = sent.clone();
        drop(sent);
        clone.look();
        drop(clone);
    });
    // So that loom also explores the executions in which the other thread goes first.
    loom::thread::yield_now();
    let found = Hot::review();
    other.join().unwrap();
    assert_eq!(take_deaths().len(), 1);
    format!("{found} found")
}

fn one_list_trap() -> String {
    let hot = hot();
    let first = Arc::new(hot.get());
    drop(hot);
    let overlap = Overlap::default();
    let reviewing = overlap.clone();
    let reviewer = spawn(move || reviewing.during(Hot::review));
    let clone = overlap.during(|| {
        let from = first.clone();
        let maker = spawn(move || HotRef::clone(&from));
        let clone = maker.join().unwrap();
        drop(Arc::into_inner(first).unwrap());
        clone
    });
    clone.look();
    assert_eq!(reviewer.join().unwrap(), 0, "there is a reference");
    clone.look();
    drop(clone);
    drain();
    assert_eq!(take_deaths(), [me()]);
    overlap.outcome()
}

fn exit_and_adoption() -> String {
    let hot = hot();
    let (first, second) = (hot.get(), hot.get());
    drop(hot);
    let leaver = spawn(move || {
        drop(first.clone());
        first.look();
        drop(first);
        me()
    });
    // Its book may be the leaver's.
    let successor = spawn(move || {
        drop(second.clone());
        second.look();
        drop(second);
        me()
    });
    let threads = [leaver, successor].map(|thread| thread.join().unwrap());
    found_in_time(&threads)
}

fn exit_births_only() -> String {
    let hot = Arc::new(hot());
    let owner = hot.clone();
    let maker = spawn(move || [owner.get(), owner.get()]);
    let [mine, theirs] = maker.join().unwrap();
    drop(hot);
    let other = spawn(move || {
        theirs.look();
        drop(theirs);
        me()
    });
    mine.look();
    drop(mine);
    drain();
    let other = other.join().unwrap();
    found_in_time(&[me(), other])
}

/// Returns whether the only probe has died as an orphan, which the main thread releases only now, or
/// in a drain of the other thread.
fn orphan_or(other: loom::thread::ThreadId) -> String {
    let outcome = match &take_deaths()[..] {
        [] => {
            drain();
            assert_eq!(take_deaths(), [me()]);
            "an orphan"
        }
        [thread] if *thread == other => "in the drain",
        other => panic!("died on {other:?}"),
    };
    assert_eq!(Hot::review(), 0);
    outcome.to_owned()
}

fn after_exit() -> String {
    let hot = hot();
    let (mine, theirs) = (hot.get(), hot.get());
    drop(hot);
    model::thread_exit();
    let other = spawn(move || {
        theirs.look();
        drop(theirs);
        drain();
        me()
    });
    let clone = mine.clone();
    drop(mine);
    clone.look();
    drop(clone);
    orphan_or(other.join().unwrap())
}

fn birth_after_exit() -> String {
    let hot = hot();
    let first = Arc::new(hot.get());
    drop(hot);
    let overlap = Overlap::default();
    let reviewing = overlap.clone();
    let reviewer = spawn(move || reviewing.during(Hot::review));
    overlap.during(|| {
        let from = first.clone();
        let maker = loom::thread::spawn(move || {
            model::thread_exit();
            HotRef::clone(&from)
        });
        // The birth is counted in the row, and the death in the book of this thread.
        drop(maker.join().unwrap());
    });
    first.look();
    assert_eq!(reviewer.join().unwrap(), 0, "there is a reference");
    first.look();
    drop(Arc::into_inner(first).unwrap());
    drain();
    assert_eq!(take_deaths(), [me()]);
    overlap.outcome()
}

fn two_after_exit() -> String {
    let hot = hot();
    let handles = [hot.get(), hot.get()];
    drop(hot);
    let overlap = Overlap::default();
    let hop = |handle: HotRef<Probe>, overlap: &Overlap| {
        model::thread_exit();
        overlap.during(|| {
            let clone = handle.clone();
            drop(handle);
            clone.look();
            drop(clone);
        });
    };
    let [mine, theirs] = handles;
    let other = {
        let overlap = overlap.clone();
        spawn(move || hop(theirs, &overlap))
    };
    hop(mine, &overlap);
    other.join().unwrap();
    // It is an orphan.
    drain();
    assert_eq!(take_deaths(), [me()]);
    assert_eq!(Hot::review(), 0);
    overlap.outcome()
}

fn owner_and_last() -> String {
    let hot = hot();
    let last = hot.get();
    let other = spawn(move || {
        last.look();
        drop(last);
        drain();
        me()
    });
    hot.look();
    drop(hot);
    drain();
    let other = other.join().unwrap();
    found_in_time(&[me(), other])
}

fn get_and_let_go() -> String {
    // Not an `Arc` of std's, whose orderings loom does not see.
    let hot = Ref::new(hot());
    let owner = hot.clone();
    let other = spawn(move || {
        let reference = owner.get();
        drop(owner);
        reference.look();
        drop(reference);
        drain();
        me()
    });
    let reference = hot.get();
    drop(hot);
    reference.look();
    drop(reference);
    drain();
    let other = other.join().unwrap();
    found_in_time(&[me(), other])
}

fn let_go_after_exit() -> String {
    let hot = hot();
    let last = hot.get();
    model::thread_exit();
    let other = spawn(move || {
        last.look();
        drop(last);
        drain();
        me()
    });
    hot.look();
    drop(hot);
    orphan_or(other.join().unwrap())
}

fn budgeted() -> String {
    let hot = hot();
    let (mine, theirs) = (hot.get(), hot.get());
    drop(hot);
    let other = spawn(move || {
        drop(theirs);
        drain();
        me()
    });
    let mut pool = AutoreleasePool::new();
    drop(mine);
    let none = pool.drain_within(Budget::Count(0));
    assert!(none.released == 0 && none.remaining <= 1);
    let one = pool.drain_within(Budget::Count(1));
    assert!(one.released <= 1 && one.remaining == 0);
    let other = other.join().unwrap();
    found_in_time(&[me(), other])
}

/// Says on which thread it died.
struct Outer {
    _inner: HotRef<Probe>,
    _probe: Probe,
}

fn destructor() -> String {
    let inner = hot();
    let outer = make(Outer {
        _inner: inner.get(),
        _probe: Probe::new(),
    });
    drop(inner);
    let (mine, theirs) = (outer.get(), outer.get());
    drop(outer);
    let other = spawn(move || {
        drop(theirs);
        drain();
        me()
    });
    drop(mine);
    drain();
    let other = other.join().unwrap();
    let on = |thread: &_| usize::from(*thread == other);
    match &take_deaths()[..] {
        [outer, inner] => format!("{} and {}", on(outer), on(inner)),
        other => panic!("{other:?}"),
    }
}
