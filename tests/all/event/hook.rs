//! The event hook, the default output, and the messages of events.

use crate::event::all_events;
use crate::support::teardown::push_work;
use crate::support::{Bomb, alone, assert_says, child, global, panic_of};
use releasepool::event::{self, Event, EventKind};
use releasepool::{AutoreleasePool, PoolManager, Ref, autorelease};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

#[test]
fn events_go_to_standard_error_one_line_each() {
    if cfg!(feature = "tracing") {
        return;
    }
    let child = child!(|| {
        struct Stray;
        (0..2).for_each(|_| autorelease(Ref::new(Stray)));
        std::mem::forget(AutoreleasePool::new());
    });
    child.assert_success();
    let lines: Vec<_> = child
        .stderr
        .lines()
        .filter(|line| line.starts_with("releasepool: "))
        .collect();
    assert_says(&lines[0], &["Stray autoreleased without a pool"]);
    assert!(lines[1].contains("1 guard pool open"), "{}", child.stderr);
    assert_eq!(lines.len(), 2, "{}", child.stderr);
}

#[test]
fn hook_is_set_replaced_and_removed() {
    static FIRST: AtomicU32 = AtomicU32::new(0);
    static SECOND: AtomicU32 = AtomicU32::new(0);
    fn first(event: &Event) {
        assert_eq!(event.kind, EventKind::NoPool);
        FIRST.fetch_add(1, Ordering::Relaxed);
    }
    fn second(_: &Event) {
        SECOND.fetch_add(1, Ordering::Relaxed);
        // The hook may set another one while it runs.
        assert!(event::set_hook(Some(Box::new(first))).is_some());
    }
    let stray = || PoolManager::new().autorelease(Ref::new(0));
    let child = child!(|| {
        assert!(event::set_hook(Some(Box::new(first))).is_none());
        stray();
        let before = event::set_hook(Some(Box::new(second))).unwrap();
        stray();
        stray();
        assert_eq!(FIRST.load(Ordering::Relaxed), 2);
        assert_eq!(SECOND.load(Ordering::Relaxed), 1);
        assert!(event::set_hook(Some(before)).is_some());
        stray();
        assert_eq!(FIRST.load(Ordering::Relaxed), 3);
        assert!(event::set_hook(None).is_some());
        assert!(event::set_hook(None).is_none());
        eprintln!("default sink from here");
        stray();
    });
    child.assert_success();
    let (before, after) = child.stderr.split_once("default sink from here").unwrap();
    assert!(!before.contains("releasepool: "), "{before}");
    assert!(
        cfg!(feature = "tracing") || after.contains("releasepool: "),
        "{after}"
    );
}

#[test]
fn hook_may_cause_events_and_set_hooks() {
    alone!();
    let told = Arc::new(Mutex::new(Vec::new()));
    let inner = told.clone();
    let last = told.clone();
    struct Outer;
    struct Inner;
    struct Last;
    let last = move |event: &Event| last.lock().unwrap().push(event.type_name.unwrap());
    let last = Mutex::new(Some(last));
    event::set_hook(Some(Box::new(move |event| {
        inner.lock().unwrap().push(event.type_name.unwrap());
        autorelease(Ref::new(Inner));
        if let Some(last) = last.lock().unwrap().take() {
            drop(event::set_hook(Some(Box::new(last))));
        }
    })));
    autorelease(Ref::new(Outer));
    autorelease(Ref::new(Last));
    let told = told.lock().unwrap();
    let names: Vec<_> = told.iter().map(|name| name.rsplit("::").next()).collect();
    assert_eq!(names, [Some("Outer"), Some("Inner"), Some("Last")]);
}

#[test]
fn hook_removed_while_a_thread_runs_it_finishes_and_its_panics_are_swallowed() {
    struct Loud(Arc<AtomicU32>);
    impl Drop for Loud {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            panic!("on purpose, by the destructor");
        }
    }
    alone!();
    let (step, dropped) = (Barrier::new(2), Arc::new(AtomicU32::new(0)));
    let step = Arc::new(step);
    let (inner, loud) = (step.clone(), Loud(dropped.clone()));
    event::set_hook(Some(Box::new(move |_| {
        inner.wait(); // runs
        inner.wait(); // has been removed
        assert_eq!(loud.0.load(Ordering::Relaxed), 0);
        panic!("on purpose, by the hook");
    })));
    let runner = thread::spawn(|| {
        struct Slow;
        autorelease(Ref::new(Slow));
        global().drain_root()
    });
    step.wait();
    drop(event::set_hook(None));
    assert_eq!(
        dropped.load(Ordering::Relaxed),
        0,
        "the other thread still runs it"
    );
    step.wait();
    assert_eq!(runner.join().unwrap(), 1, "no panic escapes");
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
}

#[test]
fn hook_returned_while_a_thread_runs_it_can_be_set_again() {
    alone!();
    let step = Arc::new(Barrier::new(2));
    let calls = Arc::new(AtomicU32::new(0));
    let (inner, counter) = (step.clone(), calls.clone());
    event::set_hook(Some(Box::new(move |_| {
        if counter.fetch_add(1, Ordering::Relaxed) == 0 {
            inner.wait(); // runs
            inner.wait(); // has been set again
        }
    })));
    let stray = || PoolManager::new().autorelease(Ref::new(0));
    let runner = thread::spawn(stray);
    step.wait();
    let running = event::set_hook(None).unwrap();
    event::set_hook(Some(running));
    stray();
    step.wait();
    runner.join().unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    drop(event::set_hook(None));
    assert_eq!(Arc::strong_count(&calls), 1);
}

#[test]
fn ended_threads_are_distinguished_by_their_keys() {
    alone!();
    std::panic::set_hook(Box::new(|_| ()));
    let told = all_events(|| {
        for _ in 0..3 {
            let thread = thread::spawn(|| {
                // This work is done after the crate's thread-locals are destroyed, as the list
                // of such work is initialized before them.
                push_work(|| ());
                let pool = AutoreleasePool::new();
                pool.create(Bomb("reported"));
                pool.create(Bomb("resumed"));
                push_work(|| assert_eq!(panic_of(|| drop(pool)), "resumed"));
            });
            thread.join().unwrap();
        }
    });
    let panics = told.iter().filter(|event| event.kind == EventKind::Panic);
    let threads: HashSet<_> = panics.map(|event| event.thread.clone()).collect();
    assert_eq!(threads.len(), 3, "{threads:?}");
    let are_keys = threads.iter().all(|name| name.starts_with('#'));
    assert!(are_keys, "{threads:?}");
}
