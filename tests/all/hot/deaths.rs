//! Where and when hot objects die, also in the teardown of threads.

use super::handles::hot;
use crate::support::teardown::When::{AfterOurExit, BeforeOurExit, FirstUse};
use crate::support::teardown::at_teardown;
use crate::support::{
    Chain, DRAINS, LONG, Log, Probe, Worker, aborts, alone, deep_down, events, fresh,
    fresh_to_the_end, global, listen, on_drop, panic_of,
};
use releasepool::event::EventKind;
use releasepool::{AutoreleasePool, Hot, HotRef, Ref, autoreleasepool};
use std::mem::ManuallyDrop;
use std::thread;
use std::time::Duration;

#[test]
fn it_dies_in_the_next_outermost_drain_and_not_in_a_drop() {
    let log = alone!();
    let owner = hot(log.probe(1));
    let reference = owner.get();
    drop(AutoreleasePool::new());
    drop(reference);
    drop(AutoreleasePool::new());
    assert_eq!(log.count(), 0, "the owner is there");
    let reference = owner.get();
    drop(owner);
    drop(AutoreleasePool::new());
    assert_eq!(log.count(), 0, "a reference is there");
    drop(reference);
    assert_eq!(log.count(), 0, "not in the drop");
    drop(AutoreleasePool::new());
    assert_eq!(log.ids(), [1]);
    assert_eq!(global().snapshot().hot_objects, 0);
}

#[test]
fn one_quiesce_releases_those_that_others_hold_whichever_comes_first_in_the_table() {
    struct Holder(
        #[expect(dead_code)] Probe,
        #[expect(dead_code)] Option<HotRef<Holder>>,
    );
    let log = alone!();
    let other = Worker::new("does not drain");
    // In a new table, the rows have the order of these lines.
    other.run(move || {
        let first = hot(Holder(log.probe(1), None));
        let second = hot(Holder(log.probe(2), Some(first.get())));
        let third = hot(Holder(log.probe(3), Some(second.get())));
        drop((first, second, third));
    });
    assert!(global().quiesce(Duration::ZERO));
    assert_eq!(log.ids(), [3, 2, 1]);
    other.join();
}

#[test]
fn every_kind_of_outermost_drain_releases_it() {
    let others: [(&str, fn()); 2] = [
        ("review", || assert_eq!(Hot::review(), 1)),
        ("shutdown", || _ = global().shutdown(LONG).unwrap()),
    ];
    let log = alone!();
    let dead = |id| drop(hot(log.probe(id)));
    for (id, (what, drain)) in (1..).zip(DRAINS.into_iter().chain(others)) {
        dead(id);
        drain();
        assert_eq!(log.count(), id as usize, "{what}");
    }
    log.clear();
    let mut pool = AutoreleasePool::new();
    dead(1);
    pool.create(log.probe(2));
    pool.drain();
    assert_eq!(log.ids(), [2, 1], "after the entries");
}

#[test]
fn it_dies_on_the_thread_that_dropped_last() {
    let log = alone!();
    let owner = hot(log.probe(1));
    let (first, second) = (Worker::new("first"), Worker::new("second"));
    for worker in [&first, &second] {
        let reference = owner.get();
        worker.run(move || drop(reference.clone()));
    }
    let last = owner.get();
    drop(owner);
    drop(AutoreleasePool::new());
    first.run(|| drop(AutoreleasePool::new()));
    second.run(move || drop(last));
    drop(AutoreleasePool::new());
    first.run(|| drop(AutoreleasePool::new()));
    assert_eq!(log.count(), 0, "only the second thread knows");
    second.run(|| drop(AutoreleasePool::new()));
    assert_eq!(log.threads(), [second.id()]);
}

/// This thread lets both objects go, and makes no reference to either.
#[test]
fn the_references_of_others_also_count_for_a_later_object_in_the_same_place() {
    let log = alone!();
    let worker = Worker::new("has references");
    for id in 0..2 {
        let owner = hot(log.probe(id));
        let (reference, owner) = worker.run(move || (owner.get(), owner));
        drop(owner);
        drop(AutoreleasePool::new());
        assert_eq!(log.count(), id as usize, "there is a reference");
        worker.run(move || drop(reference));
        worker.run(|| drop(AutoreleasePool::new()));
        assert_eq!(log.count(), id as usize + 1);
    }
    worker.join();
}

#[test]
fn it_dies_in_the_exit_of_a_thread_that_never_drains() {
    let log = alone!();
    let owner = hot(log.probe(1));
    let reference = owner.get();
    drop(owner);
    let exit = fresh_to_the_end(move || {
        drop(reference);
        thread::current().id()
    });
    assert_eq!(log.threads(), [exit]);
}

#[test]
fn it_dies_in_the_exit_whose_last_panic_holds_it() {
    #[expect(dead_code)]
    struct Panics(Option<Hot<Self>>, Probe);
    impl Drop for Panics {
        fn drop(&mut self) {
            std::panic::panic_any(self.0.take());
        }
    }
    alone!();
    let log = Log::new();
    let chain = move || (0..9).fold(None, |next, id| Some(hot(Panics(next, log.probe(id)))));
    fresh_to_the_end(move || drop(chain()));
    assert_eq!(log.count(), 9);
}

#[test]
fn it_does_not_die_in_drains_inside_destructors() {
    let log = alone!();
    let mut pool = AutoreleasePool::new();
    pool.create(on_drop(move || {
        drop(hot(log.probe(1)));
        autoreleasepool(|pool| _ = pool.create(7));
        let mut pool = AutoreleasePool::new();
        pool.create(log.probe(2));
        pool.drain();
        assert_eq!(log.ids(), [2]);
    }));
    pool.drain();
    assert_eq!(log.ids(), [2, 1], "but in the drain around them");
}

#[test]
fn a_review_deep_inside_destructors_leaves_it_alone() {
    let log = alone!();
    drop(Ref::new(on_drop(move || {
        drop(hot(log.probe(1)));
        assert_eq!((deep_down(64, Hot::review), log.count()), (0, 0));
    })));
    assert_eq!((Hot::review(), log.count()), (1, 1));
}

#[test]
fn a_review_resumes_the_first_panic_and_reports_those_of_what_it_queued() {
    alone!();
    listen();
    let chain = Chain::ending_in(|| panic!("the last"));
    let owner = hot((chain, on_drop(|| panic!("the first"))));
    let worker = Worker::new("idle");
    worker.run(move || drop(owner));
    assert_eq!(panic_of(|| _ = Hot::review()), "the first");
    let all = events(EventKind::Panic);
    assert_eq!(all.len(), 1);
    assert!(all[0].to_string().contains("the last"));
}

struct Link {
    _probe: crate::support::Probe,
    _next: Option<HotRef<Link>>,
}

/// As many as the table has rows.
const LINKS: u32 = 1_024;

fn chain(log: &Log) -> Option<HotRef<Link>> {
    (0..LINKS).fold(None, |_next, id| {
        let _probe = log.probe(id);
        Some(hot(Link { _probe, _next }).get())
    })
}

#[test]
fn a_chain_of_hot_objects_dies_in_one_drain_or_review() {
    let kills: [fn(); 2] = [
        || drop(AutoreleasePool::new()),
        || assert_eq!(Hot::review(), LINKS as usize),
    ];
    alone!();
    for kill in kills {
        let log = Log::new();
        let first = chain(&log);
        drop(AutoreleasePool::new());
        assert_eq!(log.count(), 0);
        drop(first);
        kill();
        assert!(log.ids().into_iter().eq((0..LINKS).rev()));
    }
}

#[test]
fn the_first_panic_is_resumed_when_all_are_released() {
    alone!();
    listen();
    let log = Log::new();
    let dead = || {
        for id in 0..3 {
            let probe = log.probe(id);
            drop(hot(on_drop(move || {
                let id = probe.id;
                drop(probe);
                assert_ne!(id, 1, "one");
                assert_ne!(id, 2, "two");
            })));
        }
    };
    dead();
    let message = panic_of(|| drop(AutoreleasePool::new()));
    assert!(message.contains("one"), "{message}");
    assert_eq!(events(EventKind::Panic).len(), 1);
    dead();
    let message = panic_of(Hot::review);
    let reversed = log.ids()[3..] == [2, 1, 0];
    let is_first = ["one", "two"].map(|word| message.contains(word));
    assert_eq!(is_first, [!reversed, reversed], "{message}");
    assert_eq!((log.count(), events(EventKind::Panic).len()), (6, 1));
    assert_eq!(global().snapshot().hot_objects, 0);
}

/// A note about one object does not hide a note about another.
#[test]
fn each_of_several_objects_dies_after_its_own_last_reference() {
    const OBJECTS: u32 = 130;
    let log = alone!();
    let first = hot(log.probe(1_000)).get();
    let (owners, references): (Vec<_>, Vec<_>) = (0..OBJECTS)
        .map(|id| {
            let owner = hot(log.probe(id));
            let reference = owner.get();
            (owner, reference)
        })
        .unzip();
    drop(owners);
    drop(AutoreleasePool::new());
    assert_eq!(log.count(), 0);
    for (id, reference) in references.into_iter().enumerate() {
        drop(first.clone());
        drop(reference);
        drop(AutoreleasePool::new());
        assert_eq!(log.count(), id + 1, "object {id}");
    }
}

#[test]
fn a_reference_that_is_dropped_twice_aborts() {
    aborts!(["more HotRefs were dropped than made", "Texture"], || {
        struct Texture(#[expect(dead_code)] u32);
        let owner = hot(Texture(1));
        let reference = ManuallyDrop::new(owner.get());
        drop(owner);
        for _ in 0..2 {
            // SAFETY: the first is correct; the second is the misuse under test.
            drop(unsafe { std::ptr::read(&*reference) });
        }
        drop(AutoreleasePool::new());
    });
}

#[test]
fn a_weak_reference_can_be_upgraded_until_the_object_dies() {
    let log = alone!();
    let owner = hot(log.probe(1));
    let weak = Hot::downgrade(&owner);
    drop(owner);
    let kept = weak.upgrade().unwrap();
    assert_eq!(Hot::review(), 1, "the row has released its reference");
    assert_eq!((log.count(), Ref::strong_count(&kept)), (0, 1));
    drop(kept);
    assert_eq!(log.count(), 1);
    assert!(weak.upgrade().is_none());
}

#[test]
fn a_forgotten_handle_keeps_its_object() {
    let log = alone!();
    let owner = hot(log.probe(1));
    std::mem::forget(owner.get());
    drop(owner);
    std::mem::forget(hot(log.probe(2)));
    assert_eq!(Hot::review(), 0);
    fresh(|| drop(AutoreleasePool::new()));
    let snapshot = global().snapshot();
    assert_eq!((snapshot.hot_objects, snapshot.hot_let_go), (2, 1));
    assert_eq!(log.count(), 0);
}

#[test]
fn a_destructor_may_review() {
    let log = alone!();
    drop(hot(on_drop(move || {
        drop(hot(log.probe(1)));
        assert_eq!((Hot::review(), log.ids()), (1, vec![1]));
        drop(hot(log.probe(2)));
    })));
    assert_eq!(Hot::review(), 2, "the outer one, and what it left");
    assert_eq!(log.ids(), [1, 2]);
}

#[test]
fn a_review_ends_even_if_destructors_let_objects_go_for_ever() {
    /// Limited, so that a failing test ends.
    struct Next(u32);
    impl Drop for Next {
        fn drop(&mut self) {
            if self.0 > 0 {
                drop(hot(Next(self.0 - 1)));
            }
        }
    }
    alone!();
    let worker = Worker::new("does not drain");
    worker.run(|| drop([2_100, 0].map(|n| hot(Next(n)))));
    assert_eq!(Hot::review(), 2_049, "two in the first round, then one");
    worker.join();
}

#[test]
fn what_dies_before_the_exit_dies_in_it() {
    alone!();
    for when in [BeforeOurExit, FirstUse] {
        let log = Log::new();
        let owner = hot(log.probe(1));
        at_teardown(when, move || drop(owner));
        assert_eq!(log.count(), 1, "{when:?}");
    }
    assert_eq!(global().snapshot().hot_objects, 0);
}

#[test]
fn what_dies_after_the_exit_becomes_an_orphan() {
    let log = alone!();
    let owner = hot(log.probe(1));
    let reference = owner.get();
    drop(owner);
    let owner = hot(log.probe(2));
    at_teardown(AfterOurExit, move || drop((reference, owner)));
    assert_eq!(log.count(), 0, "not in the drop");
    let snapshot = global().snapshot();
    assert_eq!((snapshot.orphans, snapshot.hot_objects), (2, 0));
    drop(AutoreleasePool::new());
    assert_eq!(log.threads(), [std::thread::current().id(); 2]);
}
