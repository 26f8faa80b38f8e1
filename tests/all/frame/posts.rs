//! Posts, calls and delayed posts, and what happens to them when a loop is closed.

use crate::frame::{HOUR, log_and_loop, noting, panics, quick};
use crate::support::{
    Log, events, fresh, fresh_to_the_end, named_to_the_end, on_drop, panic_of, wait_until,
};
use releasepool::event::EventKind;
use releasepool::frame::LoopProxy;
use releasepool::thread::Closed;
use releasepool::{Looper, PoolManager, Ref, autorelease};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn post_to_a_closed_loop_is_given_back() {
    let (log, frames) = log_and_loop();
    let proxy = frames.proxy();
    assert!(!proxy.is_closed());
    drop(frames);
    assert!(proxy.is_closed());
    assert!(proxy.thread().is_alive());
    let Closed(f) = proxy.post(noting(&log, 0)).unwrap_err();
    f();
    let text = String::from("back");
    let Closed(f) = proxy.call(move || text).unwrap_err();
    assert_eq!(f(), "back");
    let probe = log.probe(1);
    let Closed(f) = proxy.post_frame(move |_| drop(probe)).unwrap_err();
    assert_eq!(log.ids(), [0]);
    quick().tick(f);
    assert_eq!(log.ids(), [0, 1]);
    let refused = proxy.post_after(Duration::ZERO, || ());
    assert!(refused.unwrap_err().to_string().contains("not accepted"));
    fresh(move || {
        assert!(proxy.post(|| ()).is_err());
        assert!(proxy.call(|| ()).is_err());
    });
    assert_eq!(PoolManager::global().run_inbox(), 0);
    // Proxies outlive the thread.
    let proxy = fresh_to_the_end(|| quick().proxy());
    assert!(proxy.is_closed() && !proxy.thread().is_alive());
    assert!(proxy.post(|| ()).is_err() && proxy.post_frame(|_| ()).is_err());
    proxy.request_frame();
}

#[test]
fn closing_runs_what_was_accepted_and_refuses_what_that_posts() {
    let (log, frames) = log_and_loop();
    let proxy = frames.proxy();
    let (inside, inner_log) = (proxy.clone(), log);
    proxy
        .post(move || {
            struct Stray(#[expect(dead_code)] crate::support::Probe);
            inner_log.note(0);
            autorelease(Ref::new(Stray(inner_log.probe(2))));
            let refused = inside.post(|| ()).is_err();
            let call_refused = inside.call(|| ()).is_err();
            let late_refused = inside.post_after(Duration::ZERO, || ()).is_err();
            assert!(refused && call_refused && late_refused);
        })
        .unwrap();
    proxy.post(noting(&log, 1)).unwrap();
    drop(frames);
    assert_eq!(log.ids(), [0, 1, 2]);
    assert!(events(EventKind::Panic).is_empty());
    assert!(events(EventKind::NoPool).is_empty());
}

#[test]
fn closing_drops_delayed_posts_that_are_not_due_with_an_event() {
    named_to_the_end("closes with delayed posts", || {
        let log = Log::new();
        let frames = quick();
        let proxy = frames.proxy();
        let post = |delay, id| {
            let probe = log.probe(id);
            let f = move || drop(probe);
            proxy.post_after(delay, f).unwrap()
        };
        let late = post(HOUR, 2);
        post(HOUR * 2, 3);
        post(Duration::ZERO, 0);
        proxy.post(noting(&log, 1)).unwrap();
        for message in ["dropped", "dropped, too"] {
            let bad = on_drop(move || panic!("{message}"));
            proxy.post_after(HOUR, move || drop(bad)).unwrap();
        }
        drop(frames);
        assert_eq!(log.ids(), [0, 1, 2, 3]);
        let dropped = events(EventKind::PostsDropped);
        assert_eq!(dropped.len(), 1);
        assert_eq!(dropped[0].count, 4);
        assert!(dropped[0].to_string().contains("4 delayed posts"));
        assert_eq!(panics(), ["dropped", "dropped, too"]);
        assert!(!proxy.cancel(late));
    });
}

#[test]
fn call_runs_on_the_loop_s_thread_and_returns_the_result() {
    let (_, mut frames) = log_and_loop();
    let proxy = frames.proxy();
    let home = thread::current().id();
    let done = Arc::new(AtomicBool::new(false));
    let stop = done.clone();
    let other = thread::spawn(move || {
        let answer = proxy.call(move || (thread::current().id(), String::from("answer")));
        assert_eq!(answer.unwrap(), (home, "answer".into()));
        let panic = panic_of(|| proxy.call(|| -> u32 { panic!("in the call") }));
        assert_eq!(panic, "in the call");
        stop.store(true, Ordering::Release);
    });
    let mut panics = 0;
    wait_until(|| {
        panics += frames.tick(|_| ()).panics;
        done.load(Ordering::Acquire)
    });
    other.join().unwrap();
    assert_eq!(panics, 0, "the caller gets the panic; it is not reported");
    assert!(events(EventKind::Panic).is_empty());
}

#[test]
fn call_on_its_own_thread_runs_at_once() {
    let (_, frames) = log_and_loop();
    let local = Arc::new(AtomicUsize::new(0));
    let inner = local.clone();
    let add = move || inner.fetch_add(1, Ordering::Relaxed);
    assert_eq!(frames.proxy().call(add).unwrap(), 0);
    assert_eq!(local.load(Ordering::Relaxed), 1);
    let looper = Looper::spawn("inline").unwrap();
    let proxy = looper.proxy();
    let nested = looper.call(move || proxy.call(|| 7).unwrap()).unwrap();
    assert_eq!(nested, 7);
}

/// Starts a call on another thread.
fn waiting_call(proxy: &LoopProxy, log: &Log) -> thread::JoinHandle<bool> {
    let (proxy, log) = (proxy.clone(), *log);
    thread::spawn(move || proxy.call(move || log.note(0)).is_ok())
}

#[test]
fn call_that_waits_when_the_loop_is_closed_ends() {
    for _ in 0..if cfg!(miri) { 2 } else { 50 } {
        let log = Log::new();
        let frames = quick();
        let caller = waiting_call(&frames.proxy(), &log);
        drop(frames);
        let ran = caller.join().unwrap();
        assert_eq!(log.count(), usize::from(ran));
        // A call that was given back never runs.
        PoolManager::global().run_inbox();
        assert_eq!(log.count(), usize::from(ran));
    }
}

#[test]
fn delayed_posts_run_in_the_order_in_which_they_are_due() {
    // Posting must take less time than the delays differ by, or their order proves nothing.
    let mut gap = Duration::from_millis(1);
    loop {
        let log = Log::new();
        let mut frames = quick();
        let proxy = frames.proxy();
        let start = Instant::now();
        for (delay, id) in [(gap * 3, 2), (gap, 0), (gap * 2, 1), (HOUR, 9)] {
            proxy.post_after(delay, noting(&log, id)).unwrap();
        }
        let posted = start.elapsed();
        wait_until(|| {
            frames.tick(|_| ());
            log.count() == 3
        });
        if posted < gap {
            return assert_eq!(log.ids(), [0, 1, 2]);
        }
        gap *= 2;
    }
}

#[test]
fn cancelled_post_never_runs_and_is_dropped_at_once() {
    let (log, mut frames) = log_and_loop();
    let proxy = frames.proxy();
    let probe = log.probe(0);
    let id = proxy
        .post_after(Duration::ZERO, move || drop(probe))
        .unwrap();
    assert!(proxy.cancel(id));
    assert_eq!(log.ids(), [0]);
    assert!(!proxy.cancel(id));
    assert_eq!(frames.tick(|_| ()).closures, 0);
    let ran = proxy.post_after(Duration::ZERO, || ()).unwrap();
    assert_ne!(ran, id);
    frames.tick(|_| ());
    assert!(!proxy.cancel(ran));
    // Its destructor may use the loop.
    let inside = proxy.clone();
    let nested = on_drop(move || {
        let later = inside.post_after(HOUR, || ()).unwrap();
        assert!(inside.cancel(later));
        inside.post(|| ()).unwrap();
    });
    let id = proxy.post_after(HOUR, move || drop(nested)).unwrap();
    assert!(proxy.cancel(id));
    assert_eq!(frames.tick(|_| ()).closures, 1);
}

#[test]
fn closure_can_cancel_one_that_is_due_in_the_same_frame() {
    let (log, mut frames) = log_and_loop();
    let proxy = frames.proxy();
    let (tell, told) = mpsc::channel();
    let (inside, inner_log) = (proxy.clone(), log);
    let cancel = move || {
        assert!(inside.cancel(told.recv().unwrap()));
        inner_log.note(0);
    };
    proxy.post_after(Duration::ZERO, cancel).unwrap();
    tell.send(proxy.post_after(Duration::ZERO, noting(&log, 1)).unwrap())
        .unwrap();
    assert_eq!(frames.tick(|_| ()).closures, 1);
    assert_eq!(log.ids(), [0]);
}

#[test]
fn id_of_another_loop_cancels_nothing() {
    let one = quick();
    let two = quick();
    let id = one.proxy().post_after(HOUR, || ()).unwrap();
    two.proxy().post_after(HOUR, || ()).unwrap();
    assert!(!two.proxy().cancel(id));
    assert!(one.proxy().cancel(id));
}

#[test]
fn delay_beyond_the_end_of_time_is_never_due() {
    let (_, mut frames) = log_and_loop();
    let proxy = frames.proxy();
    let id = proxy.post_after(Duration::MAX, || ()).unwrap();
    assert_eq!(frames.tick(|_| ()).closures, 0);
    assert!(frames.next_due().is_some_and(|due| due > HOUR));
    assert!(proxy.cancel(id));
    let looper = Looper::spawn("patient").unwrap();
    let id = looper.post_after(Duration::MAX, || ()).unwrap();
    assert_eq!(looper.call(|| 1).unwrap(), 1);
    assert!(looper.cancel(id));
}
