//! Objects that several threads retain by turns are reported, others are not.

use crate::support::{alone, events, listen};
use releasepool::Ref;
use releasepool::event::{Event, EventKind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

struct Settings;

/// Retains the object on two threads, so many times at a turn, until it is reported or `turns` are over.
/// Returns the reports.
fn by_turns(object: &Ref<Settings>, at_a_turn: usize, turns: u32) -> Vec<Event> {
    listen();
    let (turn, found) = (AtomicU32::new(0), Mutex::new(Vec::new()));
    let retain = |me: u32| {
        loop {
            let now = turn.load(Ordering::Acquire);
            if now == turns || !found.lock().unwrap().is_empty() {
                break;
            }
            if now % 2 == me {
                (0..at_a_turn).for_each(|_| drop(object.clone()));
                found.lock().unwrap().extend(contended());
                turn.store(now + 1, Ordering::Release);
            } else {
                thread::yield_now();
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| retain(1));
        retain(0);
    });
    found.into_inner().unwrap()
}

/// Returns the reports of the calling thread.
fn contended() -> Vec<Event> {
    events(EventKind::ContendedCount)
}

#[test]
fn an_object_that_two_threads_retain_by_turns_is_reported_with_its_sites() {
    alone!();
    let line = line!() + 1;
    let settings = Ref::new(Settings);
    // Far more turns than are needed, as it must happen within a second.
    let events = by_turns(&settings, 32, 50_000);
    let event = &events[0];
    assert!(event.type_name.unwrap().ends_with("Settings"));
    let (created_at, site) = (event.created_at.unwrap(), event.site.unwrap());
    assert_eq!((created_at.file(), created_at.line()), (file!(), line));
    assert_eq!(site.file(), file!());
    assert_ne!(site.line(), line);
    let message = event.to_string();
    assert!(message.contains("make it Hot"), "{message}");
}

#[test]
fn it_is_reported_after_32_turns_of_32_retains() {
    alone!();
    // Again if they have taken longer than a second.
    assert!((0..100).any(|_| by_turns(&Ref::new(Settings), 32, 33).len() == 1));
}

#[test]
fn an_object_that_goes_to_another_thread_now_and_then_is_not_reported() {
    alone!();
    let settings = Ref::new(Settings);
    assert_eq!(by_turns(&settings, 10_000, 20).len(), 0);
    // One of 32 retains is looked at.
    assert_eq!(by_turns(&Ref::new(Settings), 1, 500).len(), 0);
}

#[test]
fn objects_that_threads_do_not_share_are_not_reported() {
    alone!();
    listen();
    let retain = || {
        let own = Ref::new(Settings);
        (0..50_000).for_each(|_| drop(own.clone()));
        contended().len()
    };
    thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(retain)).collect();
        assert!(all.into_iter().all(|one| one.join().unwrap() == 0));
    });
}
