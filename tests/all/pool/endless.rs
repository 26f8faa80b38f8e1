//! Destructors that feed the drain that runs them for ever. All drains but the ordinary ones end, say
//! so, and leave the rest where the next one finds it.

use crate::hot::handles::hot;
use crate::support::{
    Chain, Countdown, LONG, alone, events, fresh, fresh_to_the_end, global, listen, me, on_drop,
    react,
};
use releasepool::event::EventKind;
use releasepool::{
    AutoreleasePool, Budget, Frame, FrameConfig, FrameLoop, Looper, Ref, autorelease,
};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// Makes the object that the next destructor makes again, for ever.
type Feed = fn();

struct Endless(Feed);

impl Drop for Endless {
    fn drop(&mut self) {
        if MADE.fetch_add(1, Ordering::Relaxed) > 2_000_000 {
            eprintln!("never cut off");
            std::process::exit(77);
        }
        if !STOPPED.load(Ordering::Relaxed) {
            (self.0)();
        }
    }
}

static MADE: AtomicU32 = AtomicU32::new(0);
static STOPPED: AtomicBool = AtomicBool::new(false);

fn entries() {
    autorelease(Ref::new(Endless(entries)));
}

fn hot_objects() {
    drop(hot(Endless(hot_objects)));
}

fn backlogs() {
    let mut pool = AutoreleasePool::new();
    pool.create(Endless(backlogs));
    pool.drain_within(Budget::Count(0));
}

fn messages() {
    me().release(Ref::new(Endless(messages)));
}

/// Asserts that `f`, which is given what to feed its drains with, ends and leaves one object, that an
/// event says so, and that the object can be released: none is lost or released twice.
fn ends(f: fn(Feed)) {
    listen();
    for feed in [entries, hot_objects, backlogs, messages] {
        MADE.store(0, Ordering::Relaxed);
        STOPPED.store(false, Ordering::Relaxed);
        f(feed);
        assert_eq!(global().snapshot().live_objects(), 1);
        STOPPED.store(true, Ordering::Relaxed);
        global().shutdown(LONG).unwrap();
        assert_eq!(global().snapshot().live_objects(), 0);
    }
    assert!(!events(EventKind::EndlessDrain).is_empty());
}

#[test]
fn a_drain_within_no_limit() {
    alone!(|| ends(|feed| {
        let mut pool = AutoreleasePool::new();
        feed();
        assert_eq!(pool.drain_within(Budget::All).remaining, 1);
    }));
}

#[test]
fn frames_without_a_limit() {
    alone!(|| ends(|feed| {
        let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
        assert_eq!(frames.tick(|_| feed()).drained.remaining, 1);
        assert_eq!(frames.tick(|_| ()).drained.remaining, 1);
    }));
}

#[test]
fn shutdown_at_its_deadline() {
    alone!(|| ends(|feed| {
        MADE.store(0, Ordering::Relaxed);
        feed();
        let report = global().shutdown(Duration::ZERO).unwrap_err();
        let held: usize = report
            .holders
            .iter()
            .map(|t| t.root_entries + t.backlog + t.inbox)
            .sum();
        assert_eq!(held + report.hot, 1, "{report}");
        let made = MADE.load(Ordering::Relaxed);
        assert!(made < 50_000, "{made} generations after the deadline");
    }));
}

/// Gives a loop what to be fed with. Its name, and what does so.
type Loop = (&'static str, fn(Feed));

/// Loops that are there when their thread ends, or are ended by it.
const LOOPS: [Loop; 9] = [
    ("a frame loop with a post", |feed| {
        let frames = FrameLoop::new(FrameConfig::new());
        frames.proxy().post(feed).unwrap();
    }),
    ("a forgotten frame loop with a post", |feed| {
        let frames = FrameLoop::new(FrameConfig::new());
        frames.proxy().post(feed).unwrap();
        std::mem::forget(frames);
    }),
    ("a frame loop with a backlog", |feed| {
        _ = FrameLoop::new(FrameConfig::new()).tick(|_| feed());
    }),
    ("a forgotten frame loop with a backlog", |feed| {
        let mut frames = FrameLoop::new(FrameConfig::new());
        frames.tick(|_| feed());
        std::mem::forget(frames);
    }),
    ("a looper with a command", |feed| {
        Looper::spawn("endless").unwrap().post(feed).unwrap();
    }),
    ("a looper with a command that panics", |feed| {
        let looper = Looper::spawn("endless").unwrap();
        looper.post(move || feed_and_panic(feed)).unwrap();
    }),
    ("a frame loop with a post for a frame", |feed| {
        let frames = FrameLoop::new(FrameConfig::new());
        frames.proxy().post_frame(move |_| feed()).unwrap();
    }),
    ("a frame loop with a post for a frame that panics", |feed| {
        let frames = FrameLoop::new(FrameConfig::new());
        let post = move |_: &mut Frame<'_>| feed_and_panic(feed);
        frames.proxy().post_frame(post).unwrap();
    }),
    ("a looper with a release", |feed| {
        let looper = Looper::spawn("endless").unwrap();
        looper.thread().release(Ref::new(Endless(feed)));
    }),
];

fn feed_and_panic(feed: Feed) {
    feed();
    panic!("on purpose");
}

/// Ends threads with loops, each of which leaks the entry that is left.
fn end_threads(feed: Feed, hot_left: u64) {
    for (n, (what, fed)) in (1..).zip(LOOPS) {
        MADE.store(0, Ordering::Relaxed);
        STOPPED.store(false, Ordering::Relaxed);
        fresh_to_the_end(move || fed(feed));
        STOPPED.store(true, Ordering::Relaxed);
        assert_eq!(global().snapshot().hot_objects, hot_left, "{what}");
        global().shutdown(LONG).unwrap();
        let left = if hot_left == 0 { n } else { 0 };
        assert_eq!(global().snapshot().live_objects(), left, "{what}");
    }
}

#[test]
fn the_end_of_a_thread_with_a_loop_that_entries_feed() {
    alone!(|| end_threads(entries, 0));
}

#[test]
fn the_end_of_a_thread_with_a_loop_that_backlogs_feed() {
    alone!(|| end_threads(backlogs, 0));
}

#[test]
fn the_end_of_a_thread_with_a_loop_that_hot_objects_feed() {
    alone!(|| end_threads(hot_objects, 1));
}

#[test]
fn what_hot_objects_leave_to_an_endless_exit_the_next_thread_with_hot_objects_releases() {
    alone!(|| {
        fresh_to_the_end(|| LOOPS[0].1(hot_objects));
        STOPPED.store(true, Ordering::Relaxed);
        let live = || global().snapshot().live_objects();
        assert_eq!(live(), 1);
        fresh(|| {
            let own = hot(());
            let _handle = own.get();
            assert_eq!(live(), 2);
            let mut pool = AutoreleasePool::new();
            pool.create(());
            pool.drain();
            assert_eq!(live(), 1);
        });
    });
}

#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn but_an_ordinary_drain_goes_on() {
    fresh(|| {
        let mut pool = AutoreleasePool::new();
        pool.create(Countdown(200_000));
        assert_eq!(pool.drain(), 200_001);
        assert!(pool.is_empty());
    });
}

#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn and_an_event_says_what_feeds_it() {
    fn count_down(n: u32) {
        if n > 0 {
            drop(hot(on_drop(move || count_down(n - 1))));
        }
    }
    listen();
    fresh(|| {
        let mut pool = AutoreleasePool::new();
        count_down(3_000);
        pool.create(());
        pool.drain();
        assert_eq!(events(EventKind::EndlessDrain).len(), 1);
    });
}

/// The event comes before the drain's last release, after which nothing else destroys what the hook
/// has queued.
#[test]
fn what_the_hook_autoreleases_is_released_by_the_drain_that_it_is_told_of() {
    static RELEASED: AtomicU32 = AtomicU32::new(0);
    struct Countdown(u32);
    impl Drop for Countdown {
        fn drop(&mut self) {
            if self.0 > 1 {
                autorelease(Ref::new(Countdown(self.0 - 1)));
            } else {
                autorelease(Ref::new("without a destructor"));
            }
        }
    }
    fresh(|| {
        react(|event| {
            if event.kind == EventKind::EndlessDrain {
                let count = || _ = RELEASED.fetch_add(1, Ordering::Relaxed);
                drop(Chain::ending_in(move || {
                    autorelease(Ref::new(on_drop(count)));
                }));
            }
        });
        let pool = AutoreleasePool::new();
        (0..10).for_each(|n| _ = pool.create(n));
        pool.create(Countdown(1_000));
        drop(pool);
        assert_eq!(RELEASED.load(Ordering::Relaxed), 1);
    });
}
