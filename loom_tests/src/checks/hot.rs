//! Hot objects: each dies once, after all uses, and no later than it must.
//!
//! A review finds an object dead by adding up what all threads have counted. Every payload is a
//! probe, so a model fails if one dies while a reference is in use.

use super::steps::*;
use releasepool::model::parts::{hot_releasing_here, hot_unreleased};
use releasepool::{AutoreleasePool, Budget, Hot, HotRef, Ref, model};
use std::sync::Arc;

pub fn models() -> Vec<Model> {
    [
        model!(
            hot_send_and_drop,
            "a reference is sent to a thread that uses and drops it, while another reviews all",
            DIED,
        ),
        Model::new(
            "hot_two_last",
            "two threads drop the last two references, and then drain: one of the drains finds the object dead",
            DIED,
            || drop_two_last(references()),
        ),
        model!(
            hot_hopping,
            "references are made and dropped on different threads, so that each counts as many as the other",
            &["dead", "alive"],
        ),
        model!(
            hot_review_while_it_moves,
            "one reference makes the next, on two threads in turns, while another thread reviews all",
            &["0 found", "1 found"],
        ),
        model!(
            hot_new_book_in_scan,
            "a thread uses hot objects for the first time during a scan",
            &["0 found", "1 found"],
        ),
        model!(
            hot_one_list_trap,
            "a new thread makes a reference, and an old one drops that from which it was made, during a scan",
            OVERLAP,
        ),
        model!(
            hot_exit_and_adoption,
            "a thread exits while another one uses hot objects for the first time, and may take over its book",
            DIED,
        )
        // With 3: 80,000 executions in each mode.
        .bounded(2),
        model!(
            hot_exit_births_only,
            "a thread makes references and exits; others drop them",
            DIED,
        ),
        model!(
            hot_after_exit,
            "a reference is dropped on a thread that has exited, while another thread drops the last but one",
            &["an orphan", "in the drain"],
        )
        // With fewer preemptions, each death after the exit is ordered by something else, so no
        // execution shows a wrong ordering.
        .plain_bounded(5),
        model!(
            hot_two_after_exit,
            "two threads that have exited make and drop references at once",
            OVERLAP,
        ),
        model!(
            hot_birth_after_exit,
            "a thread that has exited makes a reference, and another thread drops it, during a scan",
            OVERLAP,
        ),
        model!(
            hot_owner_and_last,
            "the owner lets go while another thread drops the last reference",
            DIED,
        ),
        model!(
            hot_get_and_let_go,
            "a thread gets a reference from the owner, which is let go by whoever drops it last",
            DIED,
        ),
        model!(
            hot_let_go_after_exit,
            "the owner is let go by a thread that has exited, while another one drops the last reference",
            &["an orphan", "in the drain"],
        ),
        model!(
            hot_budgeted,
            "a budgeted drain and an ordinary one find the same object dead",
            DIED,
        ),
        model!(
            hot_destructor,
            "the destructor of a hot object drops the last reference to another one, on either thread",
            &["0 and 0", "1 and 0", "1 and 1"],
        )
        .plain(&["0 and 0", "1 and 1"]),
    ]
    .map(|model| model.else_bounded(3))
    .into()
}

pub fn hot() -> Hot<Probe> {
    make(Probe::new())
}

pub fn make<T: Send + Sync>(value: T) -> Hot<T> {
    Hot::new(Ref::new(value))
}

/// Makes references to an object whose owner is then dropped.
pub fn references<const N: usize>() -> [HotRef<Probe>; N] {
    let hot = hot();
    [(); N].map(|()| hot.get())
}

/// Drops a reference, and then drains.
pub fn drop_and_drain<T: Send + Sync>(reference: HotRef<T>) {
    drop(reference);
    drain();
}

/// Does what [`drop_and_drain`] does, on another thread, after a use.
pub fn drop_on_thread(reference: HotRef<Probe>) -> Thread<()> {
    spawn(move || {
        reference.look();
        drop_and_drain(reference);
    })
}

/// Clones `reference`, drops it, and uses the clone.
fn hop(reference: HotRef<Probe>) -> HotRef<Probe> {
    let clone = reference.clone();
    drop(reference);
    clone.look();
    clone
}

/// Asserts that no release is in progress, on this thread or another.
pub fn assert_all_over() {
    assert_eq!((hot_unreleased(), hot_releasing_here()), (0, 0));
}

/// Returns where the only probe has died; asserts that a last review finds nothing more.
pub fn found_in_time(threads: &[ThreadId]) -> usize {
    let outcome = died_on(threads);
    assert_eq!(Hot::review(), 0);
    assert_all_over();
    outcome
}

/// Drops the last two references, each on a thread that then drains; returns where the probe died.
pub fn drop_two_last([mine, theirs]: [HotRef<Probe>; 2]) -> usize {
    let other = drop_on_thread(theirs);
    mine.look();
    drop_and_drain(mine);
    found_in_time(&[me(), other.ended()])
}

fn hot_send_and_drop() -> usize {
    let [sent] = references();
    let other = spawn(move || last_look(sent));
    let_others_go_first();
    Hot::review();
    found_in_time(&[me(), other.ended()])
}

fn hot_hopping() -> bool {
    let [first] = references();
    // This thread counts one birth; the other one counts a birth and a death.
    let other = spawn(move || {
        let clone = first.clone();
        drop(first);
        clone
    });
    let_others_go_first();
    assert_eq!(Hot::review(), 0, "there is a reference");
    let clone = other.join();
    assert_eq!(Hot::review(), 0, "there is a reference");
    clone.look();
    let last = spawn(move || last_look(clone));
    let dead = Hot::review() == 1;
    last.join();
    assert_eq!(take_deaths().len(), 1);
    dead
}

fn hot_review_while_it_moves() -> usize {
    let [first] = references();
    let reviewer = spawn(Hot::review);
    let other = spawn(move || {
        let second = first.clone();
        drop(first);
        second
    });
    let second = other.join();
    second.look();
    drop(hop(second));
    let found = reviewer.join();
    drain();
    assert_eq!(take_deaths().len(), 1);
    assert_eq!(Hot::review(), 0);
    found
}

fn hot_new_book_in_scan() -> usize {
    let [sent] = references();
    let other = spawn(move || drop(hop(sent)));
    let_others_go_first();
    let found = Hot::review();
    other.join();
    assert_eq!(take_deaths().len(), 1);
    found
}

fn hot_one_list_trap() -> bool {
    during_review(|first| {
        let from = first.clone();
        let clone = spawn(move || HotRef::clone(&from)).join();
        drop(Arc::into_inner(first).unwrap());
        clone
    })
}

fn hot_birth_after_exit() -> bool {
    during_review(|first| {
        let from = first.clone();
        let maker = spawn_without_exit(move || {
            model::thread_exit();
            HotRef::clone(&from)
        });
        // The birth is counted in the row, and the death in the book of this thread.
        drop(maker.join());
        Arc::into_inner(first).unwrap()
    })
}

/// Turns the only reference into another one by `f`, while another thread reviews, which must not
/// find the object dead.
fn during_review(f: impl FnOnce(Arc<HotRef<Probe>>) -> HotRef<Probe>) -> bool {
    let [first] = references().map(Arc::new);
    let overlap = Overlap::default();
    let reviewer = spawn_with(&overlap, |overlap| overlap.during(Hot::review));
    let last = overlap.during(|| f(first));
    last.look();
    assert_eq!(reviewer.join(), 0, "there is a reference");
    last.look();
    drop_and_drain(last);
    assert_eq!(take_deaths(), [me()]);
    overlap.at_once()
}

fn hot_exit_and_adoption() -> usize {
    // The second thread may take over the first one's book.
    let threads = references::<2>().map(|reference| {
        spawn(move || {
            drop(reference.clone());
            last_look(reference);
        })
    });
    found_in_time(&threads.map(Thread::ended))
}

fn hot_exit_births_only() -> usize {
    let hot = Arc::new(hot());
    let maker = spawn_with(&hot, |hot| [hot.get(), hot.get()]);
    let [mine, theirs] = maker.join();
    drop(hot);
    let other = spawn(move || last_look(theirs));
    mine.look();
    drop_and_drain(mine);
    found_in_time(&[me(), other.ended()])
}

/// Returns true if the only probe is an orphan, which this thread now releases, and false if it
/// died in a drain of the other thread.
fn orphan_or(other: ThreadId) -> bool {
    let deaths = take_deaths();
    let orphan = deaths.is_empty();
    if orphan {
        drain();
        assert_eq!(take_deaths(), [me()]);
    } else {
        assert_eq!(deaths, [other]);
    }
    assert_eq!(Hot::review(), 0);
    orphan
}

fn hot_after_exit() -> bool {
    let [mine, theirs] = references();
    model::thread_exit();
    let other = drop_on_thread(theirs);
    drop(hop(mine));
    orphan_or(other.ended())
}

fn hot_two_after_exit() -> bool {
    let [mine, theirs] = references();
    let overlap = Overlap::default();
    let hops = |reference, overlap: &Overlap| {
        model::thread_exit();
        overlap.during(|| drop(hop(reference)));
    };
    let other = spawn_with(&overlap, move |overlap| hops(theirs, &overlap));
    hops(mine, &overlap);
    other.join();
    // Releases the dead object, if it is an orphan by now.
    drain();
    assert_eq!(take_deaths(), [me()]);
    assert_eq!(Hot::review(), 0);
    overlap.at_once()
}

fn hot_owner_and_last() -> usize {
    let hot = hot();
    let other = drop_on_thread(hot.get());
    hot.look();
    drop(hot);
    drain();
    found_in_time(&[me(), other.ended()])
}

fn hot_get_and_let_go() -> usize {
    let use_it = |hot: Ref<Hot<Probe>>| {
        let reference = hot.get();
        drop(hot);
        reference.look();
        drop_and_drain(reference);
    };
    // Shared by a `Ref`, not by std's `Arc`, whose orderings loom does not see.
    let hot = Ref::new(hot());
    let other = spawn_with(&hot, use_it);
    use_it(hot);
    found_in_time(&[me(), other.ended()])
}

fn hot_let_go_after_exit() -> bool {
    let hot = hot();
    let last = hot.get();
    model::thread_exit();
    let other = drop_on_thread(last);
    hot.look();
    drop(hot);
    orphan_or(other.ended())
}

fn hot_budgeted() -> usize {
    let [mine, theirs] = references();
    let other = spawn(move || drop_and_drain(theirs));
    let mut pool = AutoreleasePool::new();
    drop(mine);
    let none = pool.drain_within(Budget::Count(0));
    assert!(none.released == 0 && none.remaining <= 1);
    let one = pool.drain_within(Budget::Count(1));
    assert!(one.released <= 1 && one.remaining == 0);
    found_in_time(&[me(), other.ended()])
}

/// A hot object that holds another; its probe records the thread on which it died.
struct Outer {
    _inner: HotRef<Probe>,
    _probe: Probe,
}

fn hot_destructor() -> String {
    let [inner] = references();
    let outer = make(Outer {
        _inner: inner,
        _probe: Probe::new(),
    });
    let (mine, theirs) = (outer.get(), outer.get());
    drop(outer);
    let other = spawn(move || drop_and_drain(theirs));
    drop_and_drain(mine);
    let other = other.ended();
    let on = |thread: &_| usize::from(*thread == other);
    match &take_deaths()[..] {
        [outer, inner] => format!("{} and {}", on(outer), on(inner)),
        other => panic!("{other:?}"),
    }
}
