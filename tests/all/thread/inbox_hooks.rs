//! Hooks that wake a foreign event loop when something is sent to its thread.

use crate::frame::{Told, quick};
use crate::support::{LONG, Log, alone, events, global, listen, me, on_drop, panic_of};
use releasepool::event::EventKind;
use releasepool::pool::InboxHook;
use releasepool::{AutoreleasePool, Budget, HomeRef, Looper, Ref, autorelease, autoreleasepool};
use std::cell::Cell;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

fn told() -> (Arc<Told>, InboxHook) {
    let told = Arc::new(Told::default());
    let there = told.clone();
    let hook = global().set_inbox_hook(move || there.note());
    (told, hook)
}

/// Runs `f` on another thread, with a handle of this one.
fn elsewhere<R: Send>(f: impl FnOnce(&releasepool::ThreadHandle) -> R + Send) -> R {
    let here = me();
    thread::scope(|scope| scope.spawn(|| f(&here)).join().unwrap())
}

fn run_inbox() -> usize {
    global().run_inbox()
}

#[test]
fn the_first_message_of_each_kind_after_run_inbox_calls_the_hook() {
    let (told, hook) = told();
    assert_eq!(told.take(), 0, "nothing waits");
    assert!(
        format!("{hook:?}").starts_with("InboxHook { thread: \""),
        "{hook:?}"
    );
    let log = Log::new();
    for _ in 0..3 {
        let home = HomeRef::new(log.probe(0));
        elsewhere(|here| {
            drop(home);
            assert_eq!(told.take(), 1);
            here.release(Ref::new(log.probe(1)));
            assert_eq!(told.take(), 0, "the loop is awake already");
            here.post(|| ()).unwrap();
            assert!(told.take() <= 1);
        });
        assert_eq!((run_inbox(), told.take()), (1, 0));
        for _ in 0..2 {
            elsewhere(|here| here.post(|| panic!("posted")).unwrap());
            assert_eq!((panic_of(run_inbox), told.take()), ("posted".into(), 1));
        }
    }
    assert_eq!(log.ids(), [0, 1, 0, 1, 0, 1]);
}

#[test]
fn what_waits_when_the_hook_is_set_or_run_inbox_ends_calls_it_at_once() {
    elsewhere(|here| here.post(|| ()).unwrap());
    let (told, _hook) = told();
    assert_eq!(told.take(), 1);
    let here = me();
    elsewhere(|there| there.post(move || here.post(|| ()).unwrap()).unwrap());
    assert_eq!(run_inbox(), 2);
    assert!(told.take() >= 1, "a closure has posted another one");
    assert_eq!((run_inbox(), told.take()), (1, 0));
}

#[test]
fn a_drain_that_takes_the_message_loses_no_call() {
    let (told, _hook) = told();
    let log = Log::new();
    for id in 0..3 {
        elsewhere(|here| here.release(Ref::new(log.probe(id))));
        assert_eq!(told.take(), 1);
        autoreleasepool(|_| ());
        assert_eq!(log.count() as u32, id + 1);
        // The loop, which was woken, calls it.
        run_inbox();
    }
}

#[test]
fn run_inbox_in_a_destructor_leaves_the_messages_and_calls_the_hook_again() {
    let (told, _hook) = told();
    elsewhere(|here| here.post(|| ()).unwrap());
    assert_eq!(told.take(), 1);
    drop(Ref::new(on_drop(|| assert_eq!(run_inbox(), 0))));
    assert_eq!(told.take(), 1);
    assert_eq!((run_inbox(), told.take()), (1, 0));
}

#[test]
fn the_hook_that_was_set_last_is_called_and_then_the_one_before() {
    let (outer, _outer_hook) = told();
    let (inner, inner_hook) = told();
    elsewhere(|here| here.post(|| ()).unwrap());
    assert_eq!((outer.take(), inner.take()), (0, 1));
    drop(inner_hook);
    assert_eq!(outer.take(), 1, "something waits");
    run_inbox();
    // The wake hook of a frame loop takes its turn, too.
    let mut frames = quick();
    let of_loop = Arc::new(Told::default());
    let there = of_loop.clone();
    frames.set_wake_hook(move || there.note());
    elsewhere(|here| here.post(|| ()).unwrap());
    assert_eq!((outer.take(), of_loop.take()), (0, 1));
    frames.tick(|_| ());
    drop(frames);
    elsewhere(|here| here.post(|| ()).unwrap());
    assert_eq!(outer.take(), 1);
}

#[test]
fn hooks_are_removed_in_any_order() {
    let post = || elsewhere(|here| here.post(|| ()).unwrap());
    let (first, _first_hook) = told();
    let (second, second_hook) = told();
    let (third, third_hook) = told();
    drop(second_hook);
    post();
    assert_eq!((first.take(), second.take(), third.take()), (0, 0, 1));
    run_inbox();
    drop(third_hook);
    post();
    assert_eq!((first.take(), second.take(), third.take()), (1, 0, 0));
    run_inbox();
    // A wake hook that is replaced is set last.
    let mut frames = quick();
    frames.set_wake_hook(|| ());
    let (inner, inner_hook) = told();
    let there = third.clone();
    frames.set_wake_hook(move || there.note());
    post();
    assert_eq!((first.take(), inner.take(), third.take()), (0, 0, 1));
    frames.tick(|_| ());
    drop(frames);
    post();
    assert_eq!((first.take(), inner.take(), third.take()), (0, 1, 0));
    run_inbox();
    drop(inner_hook);
    post();
    assert_eq!((first.take(), inner.take()), (1, 0));
}

#[test]
fn a_hook_that_is_removed_while_it_runs_does_not_come_back() {
    let (calls, called) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let hook = move || {
        calls.send(()).unwrap();
        // The first call waits.
        _ = wait.try_lock().map(|wait| wait.recv());
    };
    let removed = global().set_inbox_hook(hook);
    let here = me();
    thread::scope(|scope| {
        scope.spawn(|| here.post(|| ()).unwrap());
        called.recv().unwrap();
        let (_told, next) = told();
        drop(removed);
        drop(next);
        drop(go);
    });
    run_inbox();
    elsewhere(|here| here.post(|| ()).unwrap());
    assert!(called.recv().is_err(), "called, or kept");
    run_inbox();
}

#[test]
fn a_removed_hook_is_dropped_and_not_called() {
    let (told, hook) = told();
    drop(hook);
    assert_eq!(Arc::strong_count(&told), 1);
    elsewhere(|here| here.post(|| ()).unwrap());
    assert_eq!((told.take(), run_inbox()), (0, 1));
}

#[test]
fn a_hook_that_panics_is_reported_to_the_sender_as_an_event() {
    listen();
    let _hook = global().set_inbox_hook(|| panic!("hook"));
    let seen = elsewhere(|here| {
        here.post(|| ()).unwrap();
        events(EventKind::Panic).len()
    });
    assert_eq!((seen, run_inbox()), (1, 1));
}

#[test]
fn a_backlog_does_not_call_the_hook_again_and_again() {
    // Another test's shutdown would ask for the backlog, and call the hook.
    alone!();
    let log = Log::new();
    let mut pool = AutoreleasePool::new();
    for id in 0..3 {
        pool.autorelease(Ref::new(log.probe(id)));
    }
    assert_eq!(pool.drain_within(Budget::Count(1)).remaining, 2);
    let (told, _hook) = told();
    assert_eq!((told.take(), run_inbox(), told.take()), (0, 0, 0));
    // What is sent calls it all the same.
    elsewhere(|here| here.post(|| ()).unwrap());
    assert_eq!((told.take(), run_inbox(), told.take()), (1, 1, 0));
    global().drain_backlog(Budget::All);
    assert_eq!(log.count(), 3);
}

#[test]
fn what_run_inbox_leaves_to_others_does_not_call_the_hook_again() {
    alone!();
    let (told, _hook) = told();
    elsewhere(|here| here.release(Ref::new(0)));
    assert_eq!(told.take(), 1);
    AutoreleasePool::new().drain_within(Budget::Count(0));
    // A call in a destructor could not make the release that a budget has left.
    drop(Ref::new(on_drop(|| assert_eq!(run_inbox(), 0))));
    assert_eq!((told.take(), run_inbox(), told.take()), (0, 0, 0));
    // Nor does any call empty the root pool, for which `shutdown` has asked.
    autorelease(Ref::new(1));
    elsewhere(|_| _ = global().shutdown(Duration::ZERO).unwrap_err());
    told.take();
    assert_eq!((run_inbox(), told.take()), (0, 0));
    assert_eq!(global().drain_root(), 1);
}

#[test]
fn a_loop_that_sleeps_is_awake_while_its_hook_runs() {
    thread_local! {
        static HOOK: Cell<Option<InboxHook>> = const { Cell::new(None) };
    }
    let (ran, has_run) = mpsc::channel();
    let (tell, told) = mpsc::channel();
    let first = Arc::new(Mutex::new(None));
    let tester = thread::current().id();
    let there = first.clone();
    let hook = move || {
        // Called where it is set if other tests have left orphans: the loop cannot wait for itself.
        if thread::current().id() != tester {
            return;
        }
        let first: Option<mpsc::Receiver<()>> = there.lock().unwrap().take();
        if let Some(has_run) = first {
            tell.send(has_run.recv_timeout(LONG).is_ok()).unwrap();
        }
    };
    let looper = Looper::spawn("wakes up first").unwrap();
    let set = move || HOOK.set(Some(global().set_inbox_hook(hook)));
    // This call wakes the loop, too, and its own hook may be set by the time that it looks for one.
    looper.call(set).unwrap();
    *first.lock().unwrap() = Some(has_run);
    let has_run = loop {
        // Gives the loop time to fall asleep. No hook is called for a loop that is awake.
        thread::sleep(Duration::from_millis(20));
        let ran = ran.clone();
        looper.post(move || _ = ran.send(())).unwrap();
        if let Ok(has_run) = told.try_recv() {
            break has_run;
        }
    };
    assert!(has_run, "the closure waits for the hook");
    looper.call(|| HOOK.set(None)).unwrap();
}
