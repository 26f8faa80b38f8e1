//! Loops that are not simply dropped: they end inside a destructor, with a thread-local, or with
//! their thread. What they accepted runs on their thread, or is reported.

use crate::frame::framed_posts::seen;
use crate::frame::{HOUR, let_delays_pass, noting, on_demand, quick};
use crate::support::{
    Log, Worker, alone, assert_died, events_of, log_of, me, named_to_the_end, on_drop,
    quiesce_until,
};
use releasepool::event::{Event, EventKind};
use releasepool::{
    AutoreleasePool, Budget, FrameLoop, PoolManager, Ref, autorelease,
    frame::{Frame, LoopProxy},
};
use std::cell::RefCell;
use std::ops::ControlFlow::Break;
use std::thread::{self, ThreadId};
use std::time::Duration;

std::thread_local! {
    static LOOP: RefCell<Option<FrameLoop>> = const { RefCell::new(None) };
}

/// Makes two frames, and posts notes 0 and 1; with delays, notes 2 and 3, which are due, and two that
/// are not. Note 1 gets a frame.
fn post_all(frames: &mut FrameLoop, log: &Log) -> LoopProxy {
    (0..2).for_each(|_| _ = frames.tick(|_| ()));
    let note = noting(log, 1);
    let framed = move |frame: &mut Frame<'_>| {
        // Its pool is its own, and empty; it is counted among the thread's frames.
        let index = frame.index();
        assert_eq!(seen(frame), ("frame".into(), 0, index, 0));
        assert!(index > 0 && index % 2 == 0);
        assert!(frame.delta().is_zero() && frame.last_report().is_none());
        assert_eq!(*frame.arena().alloc(7), 7);
        autorelease(Ref::new(()));
        note();
    };
    let proxy = frames.proxy();
    proxy.post(noting(log, 0)).unwrap();
    for (id, delay) in [(2, Duration::ZERO), (4, HOUR)] {
        proxy.post_after(delay, noting(log, id)).unwrap();
        proxy.post_after(delay, noting(log, id + 1)).unwrap();
    }
    proxy.post_frame(framed).unwrap();
    let_delays_pass();
    proxy
}

/// Returns the counts of the posts that were reported as dropped, the only events of the thread.
fn dropped_posts(thread: ThreadId) -> Vec<usize> {
    let events = events_of(thread);
    let dropped = |event: &Event| event.kind == EventKind::PostsDropped;
    assert!(events.iter().all(dropped), "{events:?}");
    events.iter().map(|event| event.count).collect()
}

#[test]
fn posts_of_a_loop_that_is_dropped_in_a_destructor_stay_with_the_thread() {
    named_to_the_end("dropped in a destructor", || {
        let log = Log::new();
        let mut frames = quick();
        let proxy = post_all(&mut frames, &log);
        drop(Ref::new(on_drop(move || drop(frames))));
        assert!(proxy.post(|| ()).is_err(), "the loop is closed");
        assert_eq!(log.count(), 0, "nothing runs in a destructor");
        // Only those that are not due are dropped.
        assert_eq!(dropped_posts(thread::current().id()), [2]);
        let key = proxy.thread().key();
        let waiting = || PoolManager::global().snapshot().thread(key).unwrap().inbox;
        assert_eq!(waiting(), 4);
        assert_eq!(PoolManager::global().run_inbox(), 4);
        assert_eq!(waiting(), 0);
        // Delayed posts that are due come first.
        assert_eq!(log.ids(), [2, 3, 0, 1]);
    });
}

#[test]
fn a_loop_without_posts_that_is_dropped_in_a_destructor_takes_nothing_out_of_the_inbox() {
    let frames = quick();
    me().post(|| ()).unwrap();
    drop(Ref::new(on_drop(move || {
        drop(frames);
        let run = PoolManager::global().run_inbox_within(Budget::All);
        assert_eq!(run.remaining, 0, "counts what is taken out");
    })));
    assert_eq!(PoolManager::global().run_inbox(), 1);
}

#[test]
fn posts_of_a_loop_that_was_dropped_in_a_destructor_run_before_the_thread_ends() {
    let log = Log::new();
    let (inner, orphan) = (log, noting(&log, 100));
    // The proxy lives until the thread has ended.
    let (home, _proxy) = named_to_the_end("drops its loop and ends", move || {
        let mut frames = quick();
        let proxy = post_all(&mut frames, &inner);
        // It has a pool, as in a frame, so no event is reported.
        let autoreleases = || autorelease(Ref::new(()));
        frames.proxy().post(autoreleases).unwrap();
        // This closure was not accepted by a loop.
        me().post(orphan).unwrap();
        drop(Ref::new(on_drop(move || drop(frames))));
        (thread::current().id(), proxy)
    });
    assert_died(&log, &[2, 3, 0, 1], home);
    assert_eq!(dropped_posts(home), [2]);
    quiesce_until(|| log.count() == 5);
    assert_ne!(log.threads()[4], home);
}

#[test]
fn posts_of_a_forgotten_loop_run_when_its_thread_ends() {
    let log = Log::new();
    let (home, proxy) = named_to_the_end("forgets its loop", move || {
        let mut frames = quick();
        let proxy = post_all(&mut frames, &log);
        // Its pools work.
        let probe = log.probe(6);
        let autoreleases = move || autorelease(Ref::new(probe));
        proxy.post(autoreleases).unwrap();
        std::mem::forget(frames);
        (thread::current().id(), proxy)
    });
    // The order is that of the end of any loop.
    assert_eq!(log.ids(), [2, 3, 0, 1, 6]);
    assert_eq!(log.threads(), [home; 5]);
    assert_eq!(dropped_posts(home), [2]);
    assert!(proxy.is_closed() && proxy.call(|| ()).is_err());
}

/// Makes a loop when it is dropped, and posts to it what autoreleases another such object.
struct MakesLoops(u32, Log);

impl Drop for MakesLoops {
    fn drop(&mut self) {
        self.1.note(self.0);
        if self.0 > 0 {
            let next = MakesLoops(self.0 - 1, self.1);
            let post = move || autorelease(Ref::new(next));
            quick().proxy().post(post).unwrap();
        }
    }
}

#[test]
fn posts_of_loops_that_an_exiting_thread_makes_run_as_long_as_there_are_any() {
    let log = Log::new();
    named_to_the_end("its exit makes loops", move || {
        // In the root pool, which the exit empties.
        PoolManager::global().autorelease(Ref::new(MakesLoops(3, log)));
    });
    assert_eq!(log.ids(), [3, 2, 1, 0]);
}

#[test]
fn all_forgotten_loops_of_a_thread_end_with_it() {
    let log = Log::new();
    let proxies = named_to_the_end("forgets two loops", move || {
        [0, 1].map(|id| {
            let frames = quick();
            let proxy = frames.proxy();
            proxy.post_after(Duration::ZERO, noting(&log, id)).unwrap();
            std::mem::forget(frames);
            proxy
        })
    });
    assert_eq!(log.sorted(), [0, 1]);
    assert!(proxies.iter().all(LoopProxy::is_closed));
}

#[test]
fn posts_of_a_loop_in_a_thread_local_run_whatever_is_torn_down_first() {
    for (name, registered_first) in [("has its loop first", true), ("has its loop last", false)] {
        let log = Log::new();
        let (home, proxy) = named_to_the_end(name, move || {
            // Its destructor is registered before or after those of the crate's own thread-locals.
            if registered_first {
                LOOP.with_borrow(|_| ());
            }
            let mut frames = quick();
            let proxy = post_all(&mut frames, &log);
            LOOP.set(Some(frames));
            (thread::current().id(), proxy)
        });
        assert_died(&log, &[2, 3, 0, 1], home);
        assert_eq!(dropped_posts(home), [2]);
        assert!(proxy.is_closed());
    }
}

#[test]
fn loops_that_come_and_go_leave_nothing_behind() {
    alone!();
    // Logs stay until the process ends.
    let log = Log::new();
    let make = || {
        let mut frames = quick();
        log.clear();
        post_all(&mut frames, &log);
        drop(Ref::new(on_drop(move || drop(frames))));
        PoolManager::global().run_inbox();
    };
    (0..100).for_each(|_| make());
    assert!(crate::support::allocator::left_over(100, make) <= 0);
}

#[test]
fn posts_of_a_loop_that_is_made_while_the_thread_ends_run_there() {
    for forget in [false, true] {
        let (log, home) = log_of("makes a loop at its end", move |log| {
            // The thread's exit destroys it.
            autorelease(Ref::new(on_drop(move || {
                let frames = quick();
                let proxy = frames.proxy();
                proxy.post(noting(&log, 0)).unwrap();
                for (id, delay) in [(1, Duration::ZERO), (2, HOUR)] {
                    let probe = log.probe(id);
                    proxy.post_after(delay, move || drop(probe)).unwrap();
                }
                if forget {
                    std::mem::forget(frames);
                }
            })));
        });
        assert_eq!(
            (log.sorted(), log.threads()),
            (vec![0, 1, 2], vec![home; 3])
        );
    }
}

#[test]
fn a_loop_that_is_made_while_the_thread_ends_accepts_posts_of_its_closures() {
    let (log, home) = log_of("posts at its end", |log| {
        autorelease(Ref::new(on_drop(move || {
            let frames = quick();
            let proxy = frames.proxy();
            let again = move || {
                if proxy.post(noting(&log, 0)).is_err() {
                    log.note(1);
                }
            };
            frames.proxy().post(again).unwrap();
            // Outlives the thread's exit, which runs its posts.
            LOOP.set(Some(frames));
        })));
    });
    assert_died(&log, &[0], home);
}

#[test]
fn a_loop_that_is_made_when_its_thread_accepts_nothing_more_is_closed_and_cannot_sleep() {
    let log = Log::new();
    let worker = Worker::new("worker");
    worker.run(|| drop(AutoreleasePool::new()));
    // The thread releases it when it has closed its inboxes.
    worker.run(me).release(Ref::new(on_drop(move || {
        let mut frames = on_demand();
        frames.tick(|_| ());
        frames.run(|_| Break(()));
        let proxy = frames.proxy();
        let is_refused = proxy.post(|| ()).is_err();
        log.note(u32::from(is_refused && proxy.is_closed()));
    })));
    worker.join();
    assert_eq!(log.ids(), [1]);
}
