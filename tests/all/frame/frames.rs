//! `FrameLoop`: what a frame does, and in which order.

use crate::frame::{log_and_loop, noting, on_demand, panics, quick};
use crate::support::teardown::When::AfterOurExit;
use crate::support::teardown::notes;
use crate::support::{Log, events, me, on_drop, panic_of, send, wait_until};
use releasepool::event::EventKind;
use releasepool::{
    AutoreleasePool, FrameLoop, PoolManager, Ref, autorelease, autoreleasepool,
    frame::{Frame, FrameConfig},
};
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow::{self, Break};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn frame_goes_in_order() {
    let (log, mut frames) = log_and_loop();
    let home = frames.proxy().thread().clone();
    frames.set_events(move |pool| {
        assert_eq!(pool.name(), "frame");
        log.note(0);
    });
    // This is sent before the closure, but released at the frame's end, after what is in its
    // pool.
    home.release(Ref::new(log.probe(2)));
    frames
        .proxy()
        .post(move || {
            struct Stray(#[expect(dead_code)] crate::support::Probe);
            autorelease(Ref::new(Stray(log.probe(4))));
            log.note(1);
        })
        .unwrap();
    let report = frames.tick(|frame| {
        log.note(3);
        frame.pool().create(log.probe(5));
        assert_eq!(frame.pool().len(), 2, "the closure's entry and the frame's");
    });
    assert_eq!(log.ids(), [0, 1, 3, 5, 4, 2]);
    assert_eq!((report.closures, report.panics), (1, 0));
    assert_eq!((report.drained.released, report.drained.remaining), (3, 0));
    assert!(events(EventKind::NoPool).is_empty());
}

#[test]
fn frame_runs_the_closures_that_are_there_when_it_begins() {
    let (log, mut frames) = log_and_loop();
    let (proxy, again, inner) = (frames.proxy(), frames.proxy(), log);
    let posts = move || [1, 2].map(|id| again.post(noting(&inner, id)).unwrap());
    proxy.post(move || _ = posts()).unwrap();
    let mut closures = || [(); 3].map(|()| frames.tick(|_| ()).closures);
    assert_eq!(closures(), [1, 2, 0]);
    assert_eq!(log.ids(), [1, 2]);
    // A delayed post comes before posted closures; what it posts comes in the next frame.
    let (again, note) = (proxy.clone(), noting(&log, 3));
    let post = move || {
        again.post(note).unwrap();
        again.post_after(Duration::ZERO, || ()).unwrap();
    };
    proxy.post_after(Duration::ZERO, post).unwrap();
    assert_eq!(closures(), [1, 2, 0]);
}

#[test]
fn a_frame_is_busy_from_its_beginning_until_it_is_drained() {
    const NAP: Duration = Duration::from_millis(1);
    let nap = || thread::sleep(NAP);
    let mut time = 10 * NAP;
    loop {
        let config = FrameConfig::new().frame_time(time);
        let mut frames = FrameLoop::new(config.min_drain(Duration::ZERO));
        frames.tick(|_| ());
        // Time before the frame is not the frame's.
        thread::sleep(time);
        let start = Instant::now();
        let report = frames.tick(|frame| {
            nap();
            frame.pool().create(on_drop(nap));
            frame.pool().create(on_drop(nap));
        });
        assert!(report.busy >= 2 * NAP && report.busy <= start.elapsed());
        // A frame that has taken longer may have left a release.
        if start.elapsed() < time {
            return assert_eq!(report.drained.remaining, 0);
        }
        time *= 2;
    }
}

#[test]
fn frame_pool_is_current_and_nested_ones_are_restored() {
    let (log, mut frames) = log_and_loop();
    frames.tick(|frame| {
        autoreleasepool(|_| autorelease(Ref::new(log.probe(0))));
        assert_eq!(log.count(), 1);
        std::mem::forget(AutoreleasePool::new());
        // This goes to the forgotten pool.
        autorelease(Ref::new(()));
        assert!(frame.pool().is_empty());
    });
    frames.tick(|frame| {
        autorelease(Ref::new(log.probe(1)));
        // The frame's pool is the current one again.
        assert_eq!(frame.pool().len(), 1);
    });
    assert_eq!(log.ids(), [0, 1]);
}

#[test]
fn panicking_closure_is_reported_and_the_frame_goes_on() {
    let (log, mut frames) = log_and_loop();
    let proxy = frames.proxy();
    for id in 0..4 {
        let post = proxy.post(move || {
            autorelease(Ref::new(log.probe(id)));
            assert!(id % 2 == 0, "closure {id}");
        });
        post.unwrap();
    }
    let report = frames.tick(|_| log.note(9));
    assert_eq!((report.closures, report.panics), (4, 2));
    assert_eq!(log.ids(), [9, 3, 2, 1, 0]);
    assert_eq!(panics(), ["closure 1", "closure 3"]);
    assert!(
        events(EventKind::Panic)[0]
            .thread
            .contains("panicking_closure")
    );
}

#[test]
fn panic_in_a_frame_leaves_the_loop_in_order() {
    let (log, mut frames) = log_and_loop();
    let panics = |frame: &mut Frame<'_>, id| -> ControlFlow<()> {
        frame.pool().create(log.probe(id));
        panic!("drawing {id}");
    };
    let message = panic_of(|| frames.tick(|frame| _ = panics(frame, 0)));
    // The pool is drained.
    assert_eq!((&*message, log.ids()), ("drawing 0", vec![0]));
    let message = panic_of(|| frames.run(|frame| panics(frame, 1)));
    assert_eq!(message, "drawing 1");
    frames.proxy().post(noting(&log, 2)).unwrap();
    let report = frames.tick(|frame| {
        assert_eq!(frame.index(), 2);
        assert!(frame.last_report().is_none());
    });
    assert_eq!((report.index, report.closures), (2, 1));
    assert_eq!(log.ids(), [0, 1, 2]);
    // Not even if an earlier one did not panic.
    panic_of(|| frames.tick(|_| panic!("after a report")));
    assert!(frames.last_report().is_none());
    assert_eq!(PoolManager::global().drain_root(), 0);
}

#[test]
fn panic_of_a_destructor_comes_out_after_the_frame_is_drained() {
    let (log, mut frames) = log_and_loop();
    let message = panic_of(|| {
        frames.tick(|frame| {
            frame.pool().create(log.probe(0));
            frame.pool().create(on_drop(|| panic!("destructor")));
        })
    });
    assert_eq!(message, "destructor");
    assert_eq!(log.ids(), [0]);
    assert_eq!(frames.tick(|_| ()).index, 1);
}

#[test]
fn panic_while_polling_events_loses_neither_posts_nor_releases() {
    let log = Log::new();
    let mut frames = on_demand();
    let calls = Cell::new(0);
    frames.set_events(move |_| assert_ne!(calls.replace(calls.get() + 1), 1, "events"));
    frames.tick(|_| ());
    let proxy = frames.proxy();
    proxy.post(noting(&log, 0)).unwrap();
    // This leaves the inbox together with the closure, before the frame.
    proxy.thread().release(Ref::new(log.probe(1)));
    let message = panic_of(|| frames.run(|_| Break(())));
    assert!(message.contains("events"), "{message}");
    frames.run(|_| Break(()));
    // The next drain releases it, possibly on another thread.
    wait_until(|| log.count() == 2);
    assert_eq!(log.sorted(), [0, 1]);
}

#[test]
fn frame_inside_a_destructor_runs_no_closures() {
    let log = Log::new();
    let frames = Rc::new(RefCell::new(quick()));
    let proxy = frames.borrow().proxy();
    proxy.post(noting(&log, 0)).unwrap();
    proxy.post_after(Duration::ZERO, noting(&log, 1)).unwrap();
    let inner = frames.clone();
    let counted = Rc::new(Cell::new(None));
    let count = counted.clone();
    let pool = AutoreleasePool::new();
    pool.create(on_drop(move || {
        count.set(Some(inner.borrow_mut().tick(|_| ()).closures));
    }));
    drop(pool);
    assert_eq!((counted.get(), log.count()), (Some(0), 0));
    assert_eq!(frames.borrow_mut().tick(|_| ()).closures, 2);
}

#[test]
fn loops_on_one_thread_serve_one_queue() {
    let log = Log::new();
    let (mut one, mut two) = (quick(), quick());
    one.proxy().post(noting(&log, 0)).unwrap();
    two.proxy().post(noting(&log, 1)).unwrap();
    let proxy = one.proxy();
    let report = one.tick(|_| {
        assert_eq!(two.tick(|_| ()).closures, 0);
        proxy.post(noting(&log, 2)).unwrap();
        assert_eq!(two.tick(|_| ()).closures, 1);
    });
    // A closure that is sent to the thread's handle runs, too.
    proxy.thread().post(noting(&log, 3)).unwrap();
    assert_eq!((report.closures, two.tick(|_| ()).closures), (2, 1));
    assert_eq!(log.ids(), [0, 1, 2, 3]);
}

#[test]
fn loop_cannot_be_created_while_its_thread_ends() {
    let ids = notes(AfterOurExit, |log| {
        let message = panic_of(quick);
        assert!(message.contains("while its thread ends"), "{message}");
        log.note(0);
    });
    assert_eq!(ids, [0, 1_000]);
}

#[test]
fn debug_output_of_frames_reports_and_loops() {
    let mut frames = FrameLoop::new(FrameConfig::default().frames_per_second(0).variable());
    let report = frames.tick(|frame| {
        assert!(format!("{frame:?}").starts_with("Frame { index: 0"));
    });
    assert!(format!("{report:?}").contains("closures: 0"));
    assert!(format!("{frames:?}").contains("frames: 1"));
    let proxy = frames.proxy();
    assert!(format!("{proxy:?}").contains("closed: false"));
    drop(frames);
    assert!(format!("{proxy:?}").contains("closed: true"));
}

#[test]
fn after_a_frame_pools_that_close_make_all_releases_also_if_it_panicked() {
    let (log, mut frames) = log_and_loop();
    frames.tick(|_| ());
    for panics in [false, true] {
        if panics {
            panic_of(|| frames.tick(|_| panic!("no frame")));
        }
        let before = log.count();
        send(&me(), &log, 0..100);
        autoreleasepool(|_| ());
        assert_eq!(log.count(), before + 100);
    }
}
