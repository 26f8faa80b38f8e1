//! Loops that are not simply dropped: they end inside a destructor, with a thread-local, or with
//! their thread. What they accepted runs on their thread, or is reported.

use crate::support::{
    Log, child, events, events_of, listen, named_to_the_end, on_drop, quiesce_until,
};
use releasepool::event::EventKind;
use releasepool::{
    AutoreleasePool, FrameConfig, FrameLoop, FrameProxy, PoolManager, Ref, autorelease,
};
use std::cell::RefCell;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

const LATER: Duration = Duration::from_secs(3_600);

std::thread_local! {
    static LOOP: RefCell<Option<FrameLoop>> = const { RefCell::new(None) };
}

fn new_loop() -> FrameLoop {
    FrameLoop::new(FrameConfig::new().unlimited())
}

/// Posts notes 0 and 1; with delays, notes 2 and 3, which are due, and two that are not.
fn post_all(proxy: &FrameProxy, log: &Log) {
    let note = |id| {
        let log = log.clone();
        move || log.note(id)
    };
    proxy.post(note(0)).unwrap();
    for id in [2, 3] {
        proxy.post_after(Duration::ZERO, note(id)).unwrap();
    }
    proxy.post(note(1)).unwrap();
    for id in [4, 5] {
        proxy.post_after(LATER, note(id)).unwrap();
    }
    // The clock of delayed posts may not have advanced yet.
    thread::sleep(Duration::from_millis(1));
}

fn sorted(log: &Log) -> Vec<u32> {
    let mut ids = log.ids();
    ids.sort_unstable();
    ids
}

#[test]
fn posts_of_a_loop_that_is_dropped_in_a_destructor_stay_with_the_thread() {
    named_to_the_end("dropped in a destructor", || {
        let log = Log::new();
        let frames = new_loop();
        let proxy = frames.proxy();
        post_all(&proxy, &log);
        drop(Ref::new(on_drop(move || drop(frames))));
        assert!(proxy.post(|| ()).is_err(), "the loop is closed");
        assert_eq!(log.count(), 0, "nothing runs in a destructor");
        let dropped = events(EventKind::PostsDropped);
        assert_eq!(
            (dropped.len(), dropped[0].count),
            (1, 2),
            "the posts that are not due"
        );
        let key = proxy.thread().key();
        let waiting = || PoolManager::global().snapshot().thread(key).unwrap().inbox;
        assert_eq!(waiting(), 4);
        assert_eq!(PoolManager::global().run_inbox(), 4);
        assert_eq!(waiting(), 0);
        assert_eq!(sorted(&log), [0, 1, 2, 3]);
    });
}

#[test]
fn posts_of_a_loop_that_was_dropped_in_a_destructor_run_before_the_thread_ends() {
    let log = Log::new();
    let (inner, orphaned) = (log.clone(), log.clone());
    listen();
    let home = named_to_the_end("drops its loop and ends", move || {
        let frames = new_loop();
        post_all(&frames.proxy(), &inner);
        // It has a pool, as in a frame, so no event is reported.
        let autoreleases = || autorelease(Ref::new(()));
        frames.proxy().post(autoreleases).unwrap();
        // This closure was not accepted by a loop.
        let handle = frames.proxy().thread().clone();
        handle.post(move || orphaned.note(100)).unwrap();
        drop(Ref::new(on_drop(move || drop(frames))));
        thread::current().id()
    });
    assert_eq!(sorted(&log), [0, 1, 2, 3]);
    assert_eq!(log.threads(), [home; 4]);
    let kinds: Vec<_> = events_of(home).iter().map(|e| e.kind).collect();
    assert_eq!(kinds, [EventKind::PostsDropped]);
    quiesce_until(|| log.count() == 5);
    assert_ne!(log.threads()[4], home);
}

#[test]
fn posts_of_a_forgotten_loop_run_when_its_thread_ends() {
    let log = Log::new();
    let inner = log.clone();
    listen();
    let (home, proxy) = named_to_the_end("forgets its loop", move || {
        let frames = new_loop();
        let proxy = frames.proxy();
        post_all(&proxy, &inner);
        let more = inner.clone();
        proxy
            .post(move || {
                // Its pools work.
                autorelease(Ref::new(more.probe(6)));
            })
            .unwrap();
        std::mem::forget(frames);
        (thread::current().id(), proxy)
    });
    assert_eq!(
        log.ids(),
        [2, 3, 0, 1, 6],
        "the order is that of the end of any loop"
    );
    assert_eq!(log.threads(), [home; 5]);
    let events = events_of(home);
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(
        (events[0].kind, events[0].count),
        (EventKind::PostsDropped, 2)
    );
    assert!(proxy.is_closed() && proxy.call(|| ()).is_err());
}

/// Makes a loop when it is dropped, and posts to it what autoreleases another such object.
struct MakesLoops(u32, Log);

impl Drop for MakesLoops {
    fn drop(&mut self) {
        self.1.note(self.0);
        if self.0 > 0 {
            let next = MakesLoops(self.0 - 1, self.1.clone());
            let post = move || autorelease(Ref::new(next));
            new_loop().proxy().post(post).unwrap();
        }
    }
}

#[test]
fn posts_of_loops_that_an_exiting_thread_makes_run_as_long_as_there_are_any() {
    let log = Log::new();
    let inner = log.clone();
    named_to_the_end("its exit makes loops", move || {
        // In the root pool, which the exit empties.
        PoolManager::global().autorelease(Ref::new(MakesLoops(3, inner)));
    });
    assert_eq!(log.ids(), [3, 2, 1, 0]);
}

#[test]
fn all_forgotten_loops_of_a_thread_end_with_it() {
    let log = Log::new();
    let inner = log.clone();
    let proxies = named_to_the_end("forgets two loops", move || {
        [0, 1].map(|id| {
            let (frames, note) = (new_loop(), inner.clone());
            let proxy = frames.proxy();
            let due = move || note.note(id);
            proxy.post_after(Duration::ZERO, due).unwrap();
            std::mem::forget(frames);
            proxy
        })
    });
    assert_eq!(sorted(&log), [0, 1]);
    assert!(proxies.iter().all(FrameProxy::is_closed));
}

#[test]
fn a_call_to_a_forgotten_loop_is_answered_by_its_thread() {
    let (tell, told) = channel();
    let home = thread::spawn(move || {
        let frames = new_loop();
        tell.send(frames.proxy()).unwrap();
        std::mem::forget(frames);
        // The call may arrive meanwhile, or not.
        thread::sleep(Duration::from_millis(5));
        thread::current().id()
    });
    let proxy: FrameProxy = told.recv().unwrap();
    // It runs before the thread's end or is given back; it never runs on another thread.
    let ran_on = proxy.call(|| thread::current().id());
    let home = home.join().unwrap();
    assert!(ran_on.is_err() || ran_on.is_ok_and(|id| id == home));
}

#[test]
fn posts_of_a_loop_in_a_thread_local_run_whatever_is_torn_down_first() {
    for registered_first in [true, false] {
        let log = Log::new();
        let inner = log.clone();
        let home = named_to_the_end("has a loop in a thread-local", move || {
            // Its destructor is registered before or after those of the crate's own thread-locals.
            if registered_first {
                LOOP.with_borrow(|_| ());
            }
            let frames = new_loop();
            post_all(&frames.proxy(), &inner);
            LOOP.set(Some(frames));
            thread::current().id()
        });
        assert_eq!(log.ids(), [2, 3, 0, 1]);
        assert_eq!(log.threads(), [home; 4]);
    }
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn loops_that_come_and_go_leave_nothing_behind() {
    child!(|| {
        let make = || {
            let frames = new_loop();
            post_all(&frames.proxy(), &Log::new());
            drop(Ref::new(on_drop(move || drop(frames))));
            PoolManager::global().run_inbox();
        };
        (0..100).for_each(|_| make());
        assert!(crate::support::allocator::left_over(100, make) <= 0);
    })
    .assert_success();
}

#[test]
fn posts_of_a_loop_that_is_made_while_the_thread_ends_run_there() {
    for forget in [false, true] {
        let log = Log::new();
        let inner = log.clone();
        let home = named_to_the_end("makes a loop at its end", move || {
            // The thread's exit destroys it.
            autorelease(Ref::new(on_drop(move || {
                let frames = new_loop();
                let note = inner.clone();
                frames.proxy().post(move || note.note(0)).unwrap();
                if forget {
                    std::mem::forget(frames);
                }
            })));
            thread::current().id()
        });
        assert_eq!((log.ids(), log.threads()), (vec![0], vec![home]));
    }
}

#[test]
fn a_loop_that_is_made_while_the_thread_ends_accepts_posts_of_its_closures() {
    let log = Log::new();
    let inner = log.clone();
    let home = named_to_the_end("posts at its end", move || {
        autorelease(Ref::new(on_drop(move || {
            let frames = new_loop();
            let proxy = frames.proxy();
            let again = move || {
                let note = inner.clone();
                if proxy.post(move || note.note(0)).is_err() {
                    inner.note(1);
                }
            };
            frames.proxy().post(again).unwrap();
            // Outlives the thread's exit, which runs its posts.
            LOOP.set(Some(frames));
        })));
        thread::current().id()
    });
    assert_eq!((log.ids(), log.threads()), (vec![0], vec![home]));
}

#[test]
fn what_the_posts_of_a_thread_s_last_loop_autorelease_is_released() {
    let log = Log::new();
    let inner = log.clone();
    let (tell, told) = channel();
    let (go, wait) = channel::<()>();
    let home = thread::spawn(move || {
        drop(AutoreleasePool::new());
        tell.send(PoolManager::global().current_thread().unwrap())
            .unwrap();
        wait.recv().unwrap();
    });
    // The thread releases it when it closes its inbox.
    told.recv().unwrap().release(Ref::new(on_drop(move || {
        let frames = new_loop();
        let probe = inner.probe(0);
        let post = move || autorelease(Ref::new(probe));
        frames.proxy().post(post).unwrap();
        LOOP.set(Some(frames));
    })));
    go.send(()).unwrap();
    home.join().unwrap();
    assert_eq!(log.ids(), [0]);
}

#[test]
fn posts_of_a_loop_that_is_dropped_in_a_destructor_keep_their_order() {
    named_to_the_end("keeps the order", || {
        let log = Log::new();
        let frames = new_loop();
        post_all(&frames.proxy(), &log);
        drop(Ref::new(on_drop(move || drop(frames))));
        PoolManager::global().run_inbox();
        assert_eq!(
            log.ids(),
            [2, 3, 0, 1],
            "delayed posts that are due come first"
        );
    });
}
