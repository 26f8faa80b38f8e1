//! `LoopProxy::post_frame`: closures that get the frame in which they run.

use crate::frame::{let_delays_pass, log_and_loop, quick};
use crate::support::{events, listen, on_drop};
use releasepool::event::EventKind;
use releasepool::{AutoreleasePool, Looper, PoolManager, Ref, frame::Frame};
use std::cell::RefCell;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The facts of its frame that a closure has seen: the pool's name and length, the index, the
/// steps.
pub type Seen = (String, usize, u64, u32);

pub fn seen(frame: &Frame<'_>) -> Seen {
    let pool = frame.pool();
    (pool.name().into(), pool.len(), frame.index(), frame.steps())
}

#[test]
fn a_closure_gets_the_frame_that_it_runs_in() {
    let (log, mut frames) = log_and_loop();
    frames.tick(|_| ());
    let (proxy, inner, plain) = (frames.proxy(), log, log);
    thread::spawn(move || {
        let framed = move |frame: &mut Frame<'_>| {
            inner.note(0);
            assert_eq!(seen(frame), ("frame".into(), 0, 1, 1));
            assert_eq!(frame.last_report().map(|report| report.index), Some(0));
            frame.pool().create(inner.probe(3));
            let numbers = frame.arena().alloc_slice(1_000, |i| i);
            assert_eq!(numbers[999], 999);
        };
        proxy.post_frame(framed).unwrap();
        proxy.post(move || plain.note(1)).unwrap();
    })
    .join()
    .unwrap();
    let report = frames.tick(|frame| {
        assert_eq!(frame.pool().len(), 1, "both have one pool");
        assert_eq!(frame.index(), 1);
        log.note(2);
    });
    assert_eq!(log.ids(), [0, 1, 2, 3]);
    assert_eq!((report.closures, report.panics), (2, 0));
    assert_eq!(report.drained.released, 1);
    assert!(report.arena_high_water >= 1_000 * size_of::<usize>());
    assert_eq!(frames.tick(|_| ()).arena_high_water, 0, "it was reset");
    assert!(events(EventKind::NoPool).is_empty());
}

#[test]
fn a_panic_ends_the_closure_alone() {
    let (log, mut frames) = log_and_loop();
    let (proxy, inner, next) = (frames.proxy(), log, log);
    let panics = move |frame: &mut Frame<'_>| {
        frame.pool().create(inner.probe(2));
        let _dropped = frame.arena().alloc(inner.probe(0));
        panic!("in a posted frame");
    };
    proxy.post_frame(panics).unwrap();
    let goes_on = move |frame: &mut Frame<'_>| next.note(frame.pool().len() as u32);
    proxy.post_frame(goes_on).unwrap();
    let report = frames.tick(|_| log.note(9));
    assert_eq!((report.closures, report.panics), (2, 1));
    assert_eq!(log.ids(), [0, 1, 9, 2]);
    assert_eq!(crate::frame::panics(), ["in a posted frame"]);
}

#[test]
fn a_delayed_one_is_posted_when_it_is_due() {
    let (log, mut frames) = log_and_loop();
    let proxy = frames.proxy();
    let there = proxy.clone();
    let framed = move |frame: &mut Frame<'_>| log.note(frame.index() as u32);
    let due = move || there.post_frame(framed).unwrap();
    proxy.post_after(Duration::ZERO, due).unwrap();
    let_delays_pass();
    assert_eq!([0, 1].map(|_| frames.tick(|_| ()).closures), [1, 1]);
    assert_eq!(log.ids(), [1]);
}

#[test]
fn one_that_runs_between_frames_gets_a_frame_of_its_own() {
    let (log, mut frames) = log_and_loop();
    let proxy = frames.proxy();
    frames.tick(|_| ());
    proxy.post(move || log.note(0)).unwrap();
    frames.tick(|_| ());
    let framed = move |frame: &mut Frame<'_>| {
        assert_eq!(seen(frame), ("frame".into(), 0, 2, 0));
        log.note(1);
    };
    proxy.post_frame(framed).unwrap();
    assert_eq!(PoolManager::global().run_inbox(), 1);
    assert_eq!(log.ids(), [0, 1]);
}

#[test]
fn the_next_loop_of_the_thread_gives_them_its_frame() {
    let (log, frames) = log_and_loop();
    let framed = move |frame: &mut Frame<'_>| {
        assert_eq!(frame.arena().alloc([0; 100]).len(), 100);
        log.note(frame.steps());
    };
    frames.proxy().post_frame(framed).unwrap();
    let held = RefCell::new(Some(frames));
    let pool = AutoreleasePool::new();
    pool.create(on_drop(move || drop(held.take())));
    drop(pool);
    let mut next = quick();
    assert!(next.tick(|_| ()).arena_high_water > 0);
    assert_eq!(log.ids(), [1]);
}

#[test]
fn a_frame_inside_a_frame_gives_its_own() {
    let mut outer = quick();
    let mut inner = quick();
    let proxy = outer.proxy();
    outer.tick(|frame| {
        frame.pool().create(());
        let framed = |frame: &mut Frame<'_>| assert!(frame.pool().is_empty());
        proxy.post_frame(framed).unwrap();
        assert_eq!(inner.tick(|_| ()).panics, 0);
    });
}

#[test]
fn a_looper_s_command_that_makes_frames_gets_them() {
    listen();
    let looper = Looper::spawn("makes frames").unwrap();
    let (tell, told) = mpsc::channel();
    let command = move || {
        let frames = quick();
        let proxy = frames.proxy();
        let tell = tell.clone();
        proxy
            .post_frame(move |frame| tell.send(seen(frame)).unwrap())
            .unwrap();
        // Its posts are left to the looper.
        drop(Ref::new(on_drop(move || drop(frames))));
    };
    looper.post(command).unwrap();
    looper.shutdown().unwrap();
    assert_eq!(told.try_recv(), Ok(("frame".into(), 0, 0, 0)));
}

#[test]
fn a_looper_gives_each_a_frame_of_its_own_and_ignores_requests() {
    let looper = Looper::spawn("no frames").unwrap();
    let (tell, told) = mpsc::channel();
    for _ in 0..2 {
        let tell = tell.clone();
        let framed = move |frame: &mut Frame<'_>| {
            frame.pool().create(());
            tell.send(seen(frame)).unwrap();
        };
        looper.post_frame(framed).unwrap();
        assert_eq!(told.recv(), Ok(("frame".into(), 1, 0, 0)));
        looper.request_frame();
    }
}
