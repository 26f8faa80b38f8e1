//! Scopes: the objects of one thread, and of those that enter.

use super::only_group;
use crate::support::{Worker, alone, assert_says, panic_of};
use releasepool::{Ref, leaks};
use std::thread;

#[test]
fn a_scope_has_what_its_thread_has_created_since_it_began() {
    let before = Ref::new(0);
    let outer = leaks::scope();
    let first = Ref::new(1);
    let inner = leaks::scope();
    let second = Ref::new(2);
    assert_eq!(outer.report().objects(), 2);
    assert_eq!(inner.report().objects(), 1);
    drop(second);
    inner.assert_none();
    assert_eq!(outer.report().objects(), 1);
    drop(first);
    outer.assert_none();
    drop(before);
}

#[test]
fn other_threads_are_not_in_a_scope() {
    let scope = leaks::scope();
    let other = Worker::new("other");
    let (own, object) = other.run(|| (leaks::scope(), Ref::new(1)));
    scope.assert_none();
    assert_eq!(own.report().objects(), 1);
    drop(object);
    own.assert_none();
    other.join();
}

#[test]
fn a_thread_that_enters_is_in_the_scope_until_it_leaves() {
    let scope = leaks::scope();
    let handle = scope.handle();
    let thread = thread::spawn(move || {
        let make = || Ref::new(0);
        let before = make();
        let entry = handle.enter();
        let within = make();
        drop(entry);
        let after = make();
        let _entry = handle.enter();
        (before, within, after, make())
    });
    let made = thread.join().unwrap();
    let report = scope.report();
    assert_eq!(report.objects(), 2, "{report}");
    let group = only_group(&report);
    let (by, n) = group.threads().next().unwrap();
    assert!(by.contains(", ended") && n == 2, "{report}");
    drop(made);
    scope.assert_none();
}

#[test]
fn the_names_of_the_last_threads_are_kept_up_to_a_limit() {
    alone!();
    let scope = leaks::scope();
    let made = (0..4_200).map(|_| {
        let handle = scope.handle();
        let named = thread::Builder::new().name("short-lived".to_owned());
        let make = move || {
            let _entry = handle.enter();
            Ref::new(1)
        };
        named.spawn(make).unwrap().join().unwrap()
    });
    let _made: Vec<_> = made.collect();
    let report = scope.report();
    let threads = only_group(&report).threads();
    let named = threads
        .filter(|(by, _)| by.starts_with("short-lived"))
        .count();
    assert_eq!(named, 4_096);
}

#[test]
fn an_object_counts_where_it_was_created_wherever_it_dies() {
    let scope = leaks::scope();
    let object = Ref::new(String::from("sent"));
    thread::spawn(move || drop(object)).join().unwrap();
    scope.assert_none();
}

#[test]
fn assert_none_and_check_and_guards_panic_with_the_report() {
    struct Texture;
    let scope = leaks::scope();
    let texture = Ref::new(Texture);
    let line = line!() - 1;
    let message = panic_of(|| scope.assert_none());
    let site = format!("scopes.rs:{line}:");
    assert_says(
        &message,
        &["1 object is alive, 16 bytes", "::Texture", &site],
    );
    assert_eq!(leaks::check(|| Ref::strong_count(&texture)), 1);
    let message = panic_of(|| leaks::check(|| Ref::new(Texture)));
    assert_says(&message, &["1 object is alive", "::Texture"]);
    let guarded = |panics: bool| {
        let mut kept = None;
        panic_of(|| {
            let _guard = leaks::scope().assert_none_on_drop();
            drop(leaks::scope().assert_none_on_drop());
            kept = Some(Ref::new(Texture));
            assert!(!panics, "first");
        })
    };
    assert_says(&guarded(false), &["1 object is alive"]);
    assert_eq!(guarded(true), "first");
}
