//! Destructors that feed the drain that runs them for ever. All drains but the ordinary ones end, say
//! so, and leave the rest where the next one finds it.

use crate::hot::handles::hot;
use crate::support::{
    Chain, Countdown, LONG, PAGE, alone, assert_says, each_alone, events, events_of, fresh,
    fresh_to_the_end, global, here, listen, me, on_drop, only_event, react, send, sized,
};
use releasepool::event::{Event, EventKind};
use releasepool::{
    AutoreleasePool, Budget, FrameLoop, HandoffPool, Looper, PoolManager, Ref, ThreadHandle,
    autorelease, finish,
    frame::{Frame, FrameConfig, LoopProxy},
};
use std::sync::OnceLock;
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
static FOUND_ALIVE: AtomicBool = AtomicBool::new(true);

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

/// Sends messages to the first thread that calls this, even after its end; notes whether the last one
/// found it alive.
fn letters() {
    static HOME: OnceLock<ThreadHandle> = OnceLock::new();
    let home = HOME.get_or_init(me);
    FOUND_ALIVE.store(home.is_alive(), Ordering::Relaxed);
    home.release(Ref::new(Endless(letters)));
}

fn tokens() {
    let _left = global().push();
    autorelease(Ref::new(Endless(tokens)));
}

/// Posts itself to a loop, again and again.
fn post(proxy: &LoopProxy) {
    // Limited, so that a failing test ends.
    if MADE.fetch_add(1, Ordering::Relaxed) < 200_000 {
        let again = proxy.clone();
        _ = proxy.post(move || post(&again));
    }
}

/// Lets a feed go on, and forgets what it has made.
fn begin() {
    MADE.store(0, Ordering::Relaxed);
    STOPPED.store(false, Ordering::Relaxed);
}

fn made() -> u32 {
    MADE.load(Ordering::Relaxed)
}

const FEEDS: [Feed; 4] = [entries, hot_objects, backlogs, messages];

/// Asserts that `f`, which is given what to feed its drains with, ends and leaves one object, that an
/// event says so, and that the object can be released: none is lost or released twice. Debug builds only
/// do so for the first feeds, this many.
fn ends(in_debug: usize, f: fn(Feed)) {
    listen();
    for &feed in &FEEDS[..sized(in_debug, in_debug, 4)] {
        begin();
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
    alone!(|| {
        ends(2, |feed| {
            let mut pool = AutoreleasePool::new();
            feed();
            assert_eq!(pool.drain_within(Budget::All).remaining, 1);
        });
        let told = events(EventKind::EndlessDrain);
        assert!(told.iter().any(|event| event.count > 1_000), "{told:?}");
    });
}

#[test]
fn frames_without_a_limit() {
    alone!(|| ends(1, |feed| {
        let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
        assert_eq!(frames.tick(|_| feed()).drained.remaining, 1);
        assert_eq!(frames.tick(|_| ()).drained.remaining, 1);
    }));
}

#[test]
fn shutdown_at_its_deadline() {
    alone!(|| ends(4, |feed| {
        begin();
        feed();
        let report = global().shutdown(Duration::ZERO).unwrap_err();
        let held: usize = report
            .holders
            .iter()
            .map(|t| t.root_entries + t.backlog + t.inbox)
            .sum();
        assert_eq!(held + report.hot, 1, "{report}");
        assert!(made() < 50_000, "{} generations after the deadline", made());
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

/// Ends threads with loops, each of which leaks the entry that is left. Debug builds take some of the
/// loops for each feed.
fn end_threads(feed: Feed, hot_left: u64, first: usize) {
    let loops = LOOPS.into_iter().skip(sized(first, first, 0));
    for (n, (what, fed)) in (1..).zip(loops.step_by(sized(5, 5, 1))) {
        begin();
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
    alone!(|| end_threads(entries, 0, 0));
}

#[test]
fn the_end_of_a_thread_with_a_loop_that_backlogs_feed() {
    alone!(|| end_threads(backlogs, 0, 3));
}

#[test]
fn the_end_of_a_thread_with_a_loop_that_hot_objects_feed() {
    alone!(|| end_threads(hot_objects, 1, 1));
}

/// Ends a thread whose pools `start` feeds; returns the thread's events.
fn end_thread(start: impl FnOnce() + Send + 'static) -> Vec<Event> {
    events_of(fresh_to_the_end(move || {
        start();
        here()
    }))
}

/// Asserts that the drain of this pool in a thread's exit is cut off, that an event says so and what is
/// leaked, and that another one reports an open pool. Returns how many events have said before that a
/// drain does not end.
fn is_cut_off(pool: &str, start: fn()) -> usize {
    let events = end_thread(move || {
        start();
        std::mem::forget(PoolManager::new().pool());
    });
    let of = |kind| events.iter().filter(move |event| event.kind == kind);
    assert_eq!(of(EventKind::OpenAtExit).count(), 1);
    let [cut] = &of(EventKind::CutOff).collect::<Vec<_>>()[..] else {
        panic!("one event: {events:?}")
    };
    // What is left of a backlog has several types.
    let is_type = cut.type_name.is_none_or(|name| name.ends_with("Endless"));
    assert!(cut.count == 1 && is_type, "{cut:?}");
    assert_eq!(cut.pool.as_deref(), Some(pool));
    assert_says(cut, &["leaked"]);
    of(EventKind::EndlessDrain).count()
}

#[test]
fn the_end_of_a_thread_whose_pools_are_fed() {
    let cases: [(&str, fn()); 6] = [
        ("the root pool", || {
            assert_eq!(is_cut_off("root", entries), 1);
            // The count includes the first object and 100,000 generations.
            assert_eq!(made(), 100_001);
        }),
        ("a token pool", || {
            let told = is_cut_off("token", || {
                let _token = global().push();
                entries();
            });
            assert_eq!(told, 1);
        }),
        ("a backlog", || _ = is_cut_off("backlog", backlogs)),
        ("a loop that the exit makes", || {
            fresh_to_the_end(|| {
                autorelease(Ref::new(on_drop(|| {
                    let frames = FrameLoop::new(FrameConfig::new());
                    post(&frames.proxy());
                    std::mem::forget(frames);
                })));
            });
            assert!((100_000..100_010).contains(&made()), "{}", made());
        }),
        ("hot objects", || {
            fresh_to_the_end(hot_objects);
            let snapshot = global().snapshot();
            assert_eq!((snapshot.hot_objects, snapshot.hot_let_go), (1, 1));
        }),
        ("the thread's own inbox", || {
            let events = end_thread(|| autorelease(Ref::new(Endless(letters))));
            assert!(
                events.iter().all(|e| e.kind == EventKind::NoPool),
                "{events:?}"
            );
            // By then the thread takes no closures: nothing would run them.
            assert!(!FOUND_ALIVE.load(Ordering::Relaxed));
            let snapshot = global().snapshot();
            // The object is late, but not lost.
            assert_eq!((snapshot.orphans, snapshot.live_objects()), (1, 1));
            // A drain that finds it does not go on forever either.
            drop(AutoreleasePool::new());
            assert!(!global().quiesce(Duration::from_millis(1)));
        }),
    ];
    each_alone!(cases);
}

#[test]
fn the_end_of_a_thread_whose_pools_are_fed_through_several_drains() {
    let cases: [(&str, fn()); 5] = [
        ("a backlog of two pools", || {
            let events = end_thread(|| (0..2).for_each(|_| backlogs()));
            let cut = events.iter().filter(|e| e.kind == EventKind::CutOff);
            assert_eq!(cut.map(|e| e.count).collect::<Vec<_>>(), [2]);
            assert!(made() < 250_000, "both are leaked at once");
        }),
        ("the backlog, for which `shutdown` has asked", || {
            backlogs();
            fresh(|| global().shutdown(Duration::ZERO).unwrap_err());
            drop(AutoreleasePool::new());
            assert!(made() < 400_000);
            STOPPED.store(true, Ordering::Relaxed);
        }),
        ("the root pool, for which `shutdown` has asked", || {
            is_cut_off("root", || {
                entries();
                fresh(|| global().shutdown(Duration::ZERO).unwrap_err());
            });
            // Both of the drains that `shutdown` has asked for are cut off, too.
            assert!(made() < 400_000);
        }),
        ("ever new token pools", || {
            is_cut_off("token", || {
                let other = PoolManager::new();
                let _left = [(); 2].map(|()| other.push());
                let _token = global().push();
                autorelease(Ref::new(Endless(tokens)));
            });
            // 100,000, and one for each token pool, root pool and backlog of three managers.
            assert_eq!(made(), 100_009);
        }),
        ("ever new token pools, from the root pool", || {
            is_cut_off("token", || autorelease(Ref::new(Endless(tokens))));
            // The drain of the root pool pops as many at its end, and leaves the rest to the exit.
            assert!((100_000..200_010).contains(&made()), "{}", made());
        }),
    ];
    each_alone!(cases);
}

#[test]
fn the_end_of_a_thread_makes_the_releases_that_were_claimed_after_its_duties_were_cut_off() {
    let log = alone!();
    fresh_to_the_end(move || {
        hot_objects();
        let me = me();
        let frames = FrameLoop::new(FrameConfig::new());
        let claim = move || {
            send(&me, &log, 0..3);
            AutoreleasePool::new().drain_within(Budget::Count(0));
        };
        frames.proxy().post(claim).unwrap();
        std::mem::forget(frames);
    });
    assert_eq!(log.count(), 3);
}

#[test]
fn a_drain_that_was_cut_off_releases_no_more_while_it_serves_the_thread() {
    fn entries_and_messages() {
        me().release(Ref::new(1));
        autorelease(Ref::new(Endless(entries_and_messages)));
    }
    alone!();
    entries_and_messages();
    global().shutdown(Duration::ZERO).unwrap_err();
    // The first object and 1,000 generations, as it is late.
    assert_eq!(made(), 1_001);
    STOPPED.store(true, Ordering::Relaxed);
}

#[test]
fn before_their_deadlines_drains_go_on_for_more_than_1_000_generations() {
    let cases: [(&str, fn()); 2] = [
        ("shutdown", || _ = global().shutdown(LONG).unwrap()),
        ("finish", || _ = finish(LONG).unwrap()),
    ];
    each_alone!(cases.map(|(what, empties)| {
        let body = move || {
            listen();
            autorelease(Ref::new(Countdown(20_000)));
            empties();
            assert_eq!(events(EventKind::EndlessDrain).len(), 1, "one drain");
        };
        (what, body)
    }));
}

#[test]
fn what_hot_objects_leave_to_an_endless_exit_the_next_thread_with_hot_objects_releases() {
    alone!();
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
}

#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn but_an_ordinary_drain_goes_on() {
    let mut pool = AutoreleasePool::new();
    pool.create(Countdown(200_000));
    assert_eq!(pool.drain(), 200_001);
    assert!(pool.is_empty());
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
    listen();
    let mut pool = AutoreleasePool::new();
    count_down(3_000);
    pool.create(());
    pool.drain();
    assert_eq!(events(EventKind::EndlessDrain).len(), 1);
}

#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn and_the_first_objects_of_a_small_pool_do_not_count() {
    fn count_down(n: u32) {
        if n > 0 {
            autorelease(Ref::new(on_drop(move || count_down(n - 1))));
        }
    }
    listen();
    let told = || events(EventKind::EndlessDrain).len();
    // The first 32 do not count.
    let mut pool = AutoreleasePool::new();
    pool.create(on_drop(|| count_down(1_031)));
    pool.drain();
    assert_eq!(told(), 0);
    pool.create(on_drop(|| count_down(1_032)));
    drop(pool);
    assert_eq!(told(), 1);
    autorelease(Ref::new(on_drop(|| count_down(1_000))));
    global().drain_root();
    assert_eq!(told(), 2, "those of the root pool do");
    let pool = AutoreleasePool::named("large");
    (0..PAGE).for_each(|n| _ = pool.create(n));
    pool.create(on_drop(|| count_down(1_010)));
    drop(pool);
    assert_eq!(told(), 3, "and those of a large one");
}

#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn and_an_answer_to_shutdown_goes_on_as_long_as_other_duties_feed_the_root_pool() {
    fn feed(n: u32) {
        if n > 0 {
            let next = on_drop(move || feed(n - 1));
            drop(hot(on_drop(|| autorelease(Ref::new(next)))));
        }
    }
    alone!();
    listen();
    autorelease(Ref::new(on_drop(|| feed(1_100))));
    fresh(|| global().shutdown(Duration::ZERO).unwrap_err());
    // The pool is not the current one: the root pool is.
    HandoffPool::new().drain();
    assert_eq!(global().snapshot().live_objects(), 0);
    let told = only_event(EventKind::EndlessDrain);
    assert_says(&told, &["has released hot objects"]);
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
    react(|event| {
        if event.kind == EventKind::EndlessDrain {
            let count = || _ = RELEASED.fetch_add(1, Ordering::Relaxed);
            drop(Chain::ending_in(move || {
                autorelease(Ref::new(on_drop(count)));
            }));
        }
    });
    let pool = AutoreleasePool::new();
    // Pools with few entries make some releases before they begin to count.
    (0..100).for_each(|n| _ = pool.create(n));
    pool.create(Countdown(1_000));
    drop(pool);
    assert_eq!(RELEASED.load(Ordering::Relaxed), 1);
}
