//! `FrameLoop`: what a frame does, and in which order.

use crate::frame::{on_demand, quick};
use crate::support::{Log, events, fresh, on_drop, panic_of, wait_until};
use releasepool::event::EventKind;
use releasepool::{
    AutoreleasePool, FrameConfig, FrameLoop, PoolManager, Ref, autorelease, autoreleasepool,
};
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow::Break;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

#[test]
fn frame_goes_in_order() {
    fresh(|| {
        let log = Log::new();
        let mut frames = quick();
        let home = frames.proxy().thread().clone();
        let inner_log = log.clone();
        frames.set_events(move |pool| {
            assert_eq!(pool.name(), "frame");
            inner_log.note(0);
        });
        let inner_log = log.clone();
        // This is sent before the closure, but released at the frame's end, after what is in its
        // pool.
        home.release(Ref::new(log.probe(2)));
        frames
            .proxy()
            .post(move || {
                struct Stray(#[expect(dead_code)] crate::support::Probe);
                autorelease(Ref::new(Stray(inner_log.probe(4))));
                inner_log.note(1);
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
    });
}

#[test]
fn frame_runs_the_closures_that_are_there_when_it_begins() {
    fresh(|| {
        let log = Log::new();
        let mut frames = quick();
        let (proxy, inner_log) = (frames.proxy(), log.clone());
        let again = proxy.clone();
        let post = move |id| {
            let log = inner_log.clone();
            again.post(move || log.note(id)).unwrap();
        };
        proxy
            .post(move || {
                post(1);
                post(2);
            })
            .unwrap();
        let closures: Vec<_> = (0..3).map(|_| frames.tick(|_| ()).closures).collect();
        assert_eq!(closures, [1, 2, 0]);
        assert_eq!(log.ids(), [1, 2]);
        // A delayed post comes before posted closures; what it posts comes in the next frame.
        let (inner_log, again) = (log.clone(), proxy.clone());
        let post = move || again.post(move || inner_log.note(3)).unwrap();
        proxy.post_after(Duration::ZERO, post).unwrap();
        let closures: Vec<_> = (0..3).map(|_| frames.tick(|_| ()).closures).collect();
        assert_eq!(closures, [1, 1, 0]);
    });
}

#[test]
fn a_frame_is_busy_from_its_beginning_until_it_is_drained() {
    const NAP: Duration = Duration::from_millis(1);
    let nap = || thread::sleep(NAP);
    let report = quick().tick(|frame| {
        nap();
        frame.pool().create(on_drop(nap));
    });
    assert!(report.busy >= 2 * NAP);
}

#[test]
fn frame_pool_is_current_and_nested_ones_are_restored() {
    fresh(|| {
        let log = Log::new();
        let mut frames = quick();
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
            assert_eq!(
                frame.pool().len(),
                1,
                "the frame's pool is the current one again"
            );
        });
        assert_eq!(log.ids(), [0, 1]);
    });
}

#[test]
fn panicking_closure_is_reported_and_the_frame_goes_on() {
    fresh(|| {
        let log = Log::new();
        let mut frames = quick();
        let proxy = frames.proxy();
        for id in 0..4 {
            let log = log.clone();
            let post = proxy.post(move || {
                autorelease(Ref::new(log.probe(id)));
                assert!(id % 2 == 0, "closure {id}");
            });
            post.unwrap();
        }
        let report = frames.tick(|_| log.note(9));
        assert_eq!((report.closures, report.panics), (4, 2));
        assert_eq!(log.ids(), [9, 3, 2, 1, 0]);
        let messages: Vec<_> = events(EventKind::Panic)
            .into_iter()
            .map(|e| (e.thread.starts_with("fresh"), e.message.unwrap()))
            .collect();
        assert_eq!(
            messages,
            [(true, "closure 1".into()), (true, "closure 3".into())]
        );
    });
}

#[test]
fn panic_in_a_frame_leaves_the_loop_in_order() {
    fresh(|| {
        let log = Log::new();
        let mut frames = quick();
        let panic = |frames: &mut FrameLoop, id| {
            panic_of(|| {
                frames.tick(|frame| {
                    frame.pool().create(log.probe(id));
                    panic!("drawing");
                })
            })
        };
        assert_eq!(panic(&mut frames, 0), "drawing");
        assert_eq!(log.ids(), [0], "the pool is drained");
        assert_eq!(
            panic_of(|| frames.run(|frame| {
                frame.pool().create(log.probe(1));
                panic!("running");
            })),
            "running"
        );
        let inner_log = log.clone();
        frames.proxy().post(move || inner_log.note(2)).unwrap();
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
    });
}

#[test]
fn panic_of_a_destructor_comes_out_after_the_frame_is_drained() {
    fresh(|| {
        let log = Log::new();
        let mut frames = quick();
        let message = panic_of(|| {
            frames.tick(|frame| {
                frame.pool().create(log.probe(0));
                frame.pool().create(on_drop(|| panic!("destructor")));
            })
        });
        assert_eq!(message, "destructor");
        assert_eq!(log.ids(), [0]);
        assert_eq!(frames.tick(|_| ()).index, 1);
    });
}

#[test]
fn panic_while_polling_events_loses_neither_posts_nor_releases() {
    fresh(|| {
        let log = Log::new();
        let mut frames = on_demand();
        let calls = Cell::new(0);
        frames.set_events(move |_| assert_ne!(calls.replace(calls.get() + 1), 1, "events"));
        frames.tick(|_| ());
        let (proxy, inner_log) = (frames.proxy(), log.clone());
        proxy.post(move || inner_log.note(0)).unwrap();
        // This leaves the inbox together with the closure, before the frame.
        proxy.thread().release(Ref::new(log.probe(1)));
        let message = panic_of(|| frames.run(|_| Break(())));
        assert!(message.contains("events"), "{message}");
        frames.run(|_| Break(()));
        // The next drain releases it, possibly on another thread.
        wait_until(|| log.count() == 2);
        let mut ids = log.ids();
        ids.sort();
        assert_eq!(ids, [0, 1]);
    });
}

#[test]
fn frame_inside_a_destructor_runs_no_closures() {
    fresh(|| {
        let log = Log::new();
        let frames = Rc::new(RefCell::new(quick()));
        let inner_log = log.clone();
        let proxy = frames.borrow().proxy();
        proxy.post(move || inner_log.note(0)).unwrap();
        let inner_log = log.clone();
        let delayed = proxy.post_after(Duration::ZERO, move || inner_log.note(1));
        delayed.unwrap();
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
    });
}

#[test]
fn loops_on_one_thread_serve_one_queue() {
    fresh(|| {
        let log = Log::new();
        let (mut one, mut two) = (quick(), quick());
        for (id, frames) in [(0, &one), (1, &two)] {
            let log = log.clone();
            frames.proxy().post(move || log.note(id)).unwrap();
        }
        let nested = one
            .tick(|_| assert_eq!(two.tick(|_| ()).closures, 0))
            .closures;
        assert_eq!((nested, log.ids()), (2, vec![0, 1]));
        // A closure that is sent to the thread's handle runs, too.
        let inner_log = log.clone();
        one.proxy()
            .thread()
            .post(move || inner_log.note(2))
            .unwrap();
        assert_eq!(two.tick(|_| ()).closures, 1);
    });
}

#[test]
fn loop_cannot_be_created_while_its_thread_ends() {
    thread_local! {
        static LATE: Cell<Option<Box<dyn std::any::Any>>> = const { Cell::new(None) };
    }
    let log = Log::new();
    let inner_log = log.clone();
    thread::spawn(move || {
        // Registered first, so that its destructor runs after this one's.
        LATE.set(Some(Box::new(on_drop(move || {
            let message = panic_of(quick);
            assert!(message.contains("while its thread ends"), "{message}");
            inner_log.note(0);
        }))));
        drop(AutoreleasePool::new());
    })
    .join()
    .unwrap();
    assert_eq!(log.count(), 1);
}

#[test]
fn debug_output_of_frames_reports_and_loops() {
    fresh(|| {
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
    });
}

#[test]
fn pools_closed_in_a_frame_leave_most_of_what_was_sent_to_its_end() {
    fresh(|| {
        let log = Log::new();
        let me = PoolManager::global().current_thread().unwrap();
        let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
        frames.tick(|_| {
            (0..100).for_each(|_| me.release(Ref::new(log.probe(1))));
            for most in [16, 32] {
                autoreleasepool(|_| ());
                assert!((1..=most).contains(&log.count()), "{}", log.count());
            }
        });
        assert_eq!(log.count(), 100);
        // After the frame, pools that close make remote releases again; also if the frame panicked.
        panic_of(|| frames.tick(|_| panic!("no frame")));
        (0..100).for_each(|_| me.release(Ref::new(log.probe(2))));
        autoreleasepool(|_| ());
        assert_eq!(log.count(), 200);
    });
}
