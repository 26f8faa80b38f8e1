//! Spans of drains and frames.

use super::tracing::{Fields, Listener};
use crate::support::{Log, alone, fresh, global, me, on_drop, panic_of};
use releasepool::{
    AutoreleasePool, Budget, FrameLoop, PoolManager, Ref, autorelease, autoreleasepool,
    frame::FrameConfig,
};
use std::cell::{Cell, RefCell};

const DRAIN: &str = "releasepool::drain";
const FRAME: &str = "releasepool::frame";

fn told_of(f: impl FnOnce()) -> Vec<(String, Fields)> {
    Listener::default().listen(f)
}

fn names(told: &[(String, Fields)]) -> Vec<&str> {
    told.iter().map(|(name, _)| name.as_str()).collect()
}

/// Asserts that there was one drain, with these figures.
fn assert_drain(told: &[(String, Fields)], pool: &str, entries: usize, released: usize) {
    assert_eq!(names(told), [DRAIN, "record", "exit"], "{told:?}");
    assert_eq!(told[0].1["level"], "TRACE");
    assert_eq!(told[0].1["pool"], pool);
    assert_eq!(told[0].1["entries"], entries.to_string());
    assert_eq!(told[1].1["released"], released.to_string());
}

#[test]
fn drains_of_all_kinds_of_pools_are_spans() {
    let told = told_of(|| {
        let pool = AutoreleasePool::named("closed");
        pool.create(1);
    });
    assert_drain(&told, "closed", 1, 1);
    assert!(!told[0].1.contains_key("manager"), "{told:?}");

    let manager = PoolManager::builder().name("physics").build();
    let mut pool = manager.pool();
    pool.create(String::new());
    pool.create(String::new());
    assert_drain(&told_of(|| _ = pool.drain()), "unnamed", 2, 2);
    pool.create(1);
    let told = told_of(|| drop(pool));
    assert_drain(&told, "unnamed", 1, 1);
    assert_eq!(told[0].1["manager"], "physics");

    let token = manager.push();
    manager.autorelease(Ref::new(1));
    let told = told_of(|| assert_eq!(manager.pop(token), Ok(1)));
    assert_drain(&told, "token", 1, 1);
    assert!(told_of(|| _ = manager.pop(token).unwrap_err()).is_empty());

    manager.autorelease(Ref::new(1));
    let told = told_of(|| assert_eq!(manager.drain_root(), 1));
    assert_drain(&told, "root", 1, 1);

    let told = told_of(|| {
        autoreleasepool(|pool| {
            pool.create(1);
        });
    });
    assert_drain(&told, "unnamed", 1, 1);
}

#[test]
fn drain_within_a_budget_says_what_is_left() {
    let manager = PoolManager::new();
    let mut pool = manager.named_pool("ui");
    (0..100).for_each(|n| _ = pool.create(n));
    let told = told_of(|| _ = pool.drain_within(Budget::Count(60)));
    assert_drain(&told, "ui", 100, 60);
    assert_eq!(told[1].1["remaining"], "40");
    let told = told_of(|| _ = manager.drain_backlog(Budget::All));
    assert_drain(&told, "backlog", 0, 40);
    assert_eq!(told[1].1["remaining"], "0");
}

#[test]
fn drains_that_are_not_outermost_or_have_nothing_to_do_are_no_spans() {
    let told = told_of(|| {
        let mut pool = AutoreleasePool::named("outer");
        pool.create(on_drop(|| {
            let inner = AutoreleasePool::named("inner");
            inner.create(1);
            drop(inner);
            autoreleasepool(|pool| _ = pool.create(2));
        }));
        pool.drain();
        assert_eq!(pool.drain(), 0);
        drop(pool);
        drop(AutoreleasePool::new());
        global().drain_root();
        AutoreleasePool::new().drain_within(Budget::All);
    });
    assert_drain(&told, "outer", 1, 1);
    let mut pool = AutoreleasePool::new();
    pool.create(1);
    me().release(Ref::new(2));
    pool.drain_within(Budget::Count(0));
    let told = told_of(|| assert_eq!(pool.drain() + global().drain_root(), 0));
    assert!(
        told.is_empty(),
        "an ordinary drain leaves a backlog alone, and claimed messages: {told:?}"
    );
}

#[test]
fn frames_are_spans_with_their_drains_inside() {
    let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
    frames.tick(|_| ());
    frames.proxy().post(|| ()).unwrap();
    let told = told_of(|| {
        frames.tick(|frame| _ = frame.pool().create(1));
    });
    let wanted = [FRAME, DRAIN, "record", "exit", "record", "exit"];
    assert_eq!(names(&told), wanted, "{told:?}");
    assert_eq!((&*told[0].1["index"], &*told[0].1["level"]), ("1", "DEBUG"));
    assert_eq!(told[1].1["pool"], "frame");
    let value = |name: &str| told[4].1[name].as_str();
    let values = ["closures", "released", "remaining"].map(value);
    assert_eq!(values, ["1", "1", "0"]);
}

#[test]
fn spans_end_when_something_panics() {
    let told = told_of(|| {
        let pool = AutoreleasePool::named("bombs");
        pool.create(on_drop(|| panic!("on purpose")));
        assert_eq!(panic_of(|| drop(pool)), "on purpose");
        let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
        let tick = || _ = frames.tick(|_| panic!("in the frame"));
        assert_eq!(panic_of(tick), "in the frame");
    });
    let wanted = [DRAIN, "record", "exit", FRAME, "exit"];
    assert_eq!(names(&told), wanted, "{told:?}");
}

#[test]
fn subscriber_that_wants_no_spans_is_told_of_none() {
    let listener = Listener {
        events_only: true,
        ..Listener::default()
    };
    let told = listener.listen(|| {
        let log = Log::new();
        let pool = AutoreleasePool::new();
        pool.create(log.probe(1));
        drop(pool);
        assert_eq!(log.ids(), [1]);
        FrameLoop::new(FrameConfig::new().unlimited()).tick(|_| ());
    });
    assert!(told.is_empty(), "{told:?}");
}

thread_local! {
    static LOOP: RefCell<Option<FrameLoop>> = const { RefCell::new(None) };
    static TOKEN: Cell<Option<releasepool::pool::PoolToken>> = const { Cell::new(None) };
    static LOG: RefCell<Option<Log>> = const { RefCell::new(None) };
}

#[test]
fn subscriber_may_autorelease_when_a_span_begins_and_when_it_ends() {
    fn stray() {
        let log = LOG.with_borrow(Clone::clone).unwrap();
        autorelease(Ref::new(log.probe(9)));
    }
    let log = Log::new();
    LOG.set(Some(log));
    let listener = Listener::calling(Some(stray), Some(stray));
    let mut told = listener.listen(|| {
        let pool = AutoreleasePool::named("traced");
        pool.create(1);
    });
    // What is autoreleased without a pool has an event, unless other tests have used up their limit.
    told.retain(|(name, _)| name != "releasepool::event");
    // The drain releases the object that was autoreleased at the beginning.
    assert_drain(&told, "traced", 1, 2);
    assert_eq!(log.count(), 1, "the pool is closed");
    assert_eq!(global().drain_root(), 1);
    assert_eq!(log.count(), 2);
    LOG.take();
}

#[test]
fn subscriber_may_pop_the_token_whose_pop_it_is_told_of() {
    fn pop() {
        if let Some(token) = TOKEN.take() {
            assert_eq!(global().pop(token), Ok(1));
        }
    }
    let log = Log::new();
    let token = global().push();
    autorelease(Ref::new(log.probe(1)));
    TOKEN.set(Some(token));
    let listener = Listener::calling(Some(pop), None);
    listener.listen(|| {
        let error = global().pop(token).unwrap_err();
        assert_eq!(error, releasepool::pool::PopError::Stale);
    });
    assert_eq!(log.ids(), [1]);
}

#[test]
fn token_of_another_thread_is_no_span() {
    let manager = PoolManager::new();
    let (theirs, there) = fresh(|| {
        let token = manager.push();
        (token, me().key())
    });
    // Of another manager, but with the index and generation of the other thread's.
    let own = global().push();
    manager.autorelease(Ref::new(1));
    autorelease(Ref::new(2));
    let told = told_of(|| {
        let error = manager.pop(theirs).unwrap_err();
        assert_eq!(
            error,
            releasepool::pool::PopError::WrongThread { owner: there }
        );
    });
    assert!(told.is_empty(), "{told:?}");
    global().pop(own).unwrap();
    manager.drain_root();
}

#[test]
fn panics_of_a_subscriber_are_swallowed() {
    let log = Log::new();
    let listener = Listener::calling(Some(|| panic!("when it begins")), None);
    let told = listener.listen(|| {
        let pool = AutoreleasePool::new();
        pool.create(log.probe(1));
        drop(pool);
        FrameLoop::new(FrameConfig::new().unlimited()).tick(|_| ());
    });
    assert!(told.is_empty(), "{told:?}");
    let listener = Listener::calling(None, Some(|| panic!("when it ends")));
    listener.listen(|| {
        let pool = AutoreleasePool::new();
        pool.create(log.probe(2));
        drop(pool);
    });
    assert_eq!(log.ids(), [1, 2]);
}

#[test]
fn drains_of_a_thread_that_ends_are_no_spans() {
    alone!();
    let listener = Listener::default();
    tracing::subscriber::set_global_default(listener.clone()).unwrap();
    let thread = std::thread::spawn(|| {
        // Initialized before the crate's thread-locals, so they are destroyed first.
        LOOP.with_borrow_mut(|place| {
            let frames = FrameLoop::new(FrameConfig::new());
            frames.proxy().post(|| autorelease(Ref::new(2))).unwrap();
            *place = Some(frames);
        });
        autorelease(Ref::new(1));
        let _token = global().push();
        autorelease(Ref::new(1));
    });
    thread.join().unwrap();
    let told = listener.told.lock().unwrap();
    assert!(!names(&told).contains(&DRAIN), "{told:?}");
    assert!(names(&told).contains(&"releasepool::event"), "{told:?}");
}

#[test]
fn drain_within_a_budget_of_what_another_has_claimed_is_a_span() {
    let mut pool = AutoreleasePool::named("mail");
    (0..3).for_each(|n| me().release(Ref::new(n)));
    pool.drain_within(Budget::Count(1));
    let told = told_of(|| _ = pool.drain_within(Budget::All));
    assert_eq!(names(&told), [DRAIN, "record", "exit"], "{told:?}");
    assert_eq!((&*told[0].1["pool"], &*told[0].1["entries"]), ("mail", "0"));
}
