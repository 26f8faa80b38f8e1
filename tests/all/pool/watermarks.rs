//! The watermarks of guard and token pools, and of backlogs; and what events about watermarks name.

use crate::support::{
    Log, PAGE, assert_says, events, fresh, global, listen, me, on_drop, only_event, react, send,
};
use releasepool::event::{Event, EventKind};
use releasepool::{AutoreleasePool, Budget, HandoffPool, PoolManager, Ref};
use std::cell::RefCell;

fn watermarks() -> Vec<Event> {
    events(EventKind::PoolWatermark)
}

fn with_backlog_watermark(releases: usize) -> PoolManager {
    let manager = PoolManager::new();
    manager.set_backlog_watermark(releases);
    manager
}

fn with_watermark(entries: usize) -> PoolManager {
    let manager = PoolManager::new();
    manager.set_pool_watermark(entries);
    manager
}

/// Asserts that there is one event for each of these lengths, and that it came within a page: a
/// pool is compared with its watermark when it fills one.
fn assert_reported_at(lengths: &[usize]) {
    let counts: Vec<_> = watermarks().iter().map(|event| event.count).collect();
    assert_eq!(counts.len(), lengths.len(), "{counts:?}");
    for (&count, &length) in counts.iter().zip(lengths) {
        let late = count.checked_sub(length);
        assert!(late.is_some_and(|late| late < PAGE), "{count} for {length}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn guard_pool_that_grows_is_reported_at_each_doubling() {
    listen();
    let manager = with_watermark(500);
    let pool = manager.named_pool("level");
    (0..4_300).for_each(|n| _ = pool.autorelease(Ref::new(n)));
    assert_reported_at(&[500, 1_000, 2_000, 4_000]);
}

#[test]
fn a_pool_that_reaches_its_watermark_with_a_new_page_is_reported_once() {
    listen();
    let manager = with_watermark(PAGE + 1);
    // A tenth report would not be held back.
    for _ in 0..5 {
        let pool = manager.named_pool("exact");
        (0..=2 * PAGE).for_each(|n| _ = pool.create(n));
    }
    assert_eq!(only_event(EventKind::PoolWatermark).count, PAGE + 1);
}

#[test]
fn a_first_entry_that_is_the_watermark_is_reported_though_the_thread_has_a_spare_page() {
    listen();
    let full = AutoreleasePool::new();
    (0..=PAGE).for_each(|n| _ = full.create(n));
    drop(full);
    with_watermark(1).pool().create(1);
    assert_eq!(only_event(EventKind::PoolWatermark).count, 1);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn events_name_the_pool_its_length_and_its_commonest_types() {
    type Case = (EventKind, fn(&PoolManager), &'static [&'static str]);
    const CASES: [Case; 4] = [
        (
            EventKind::PoolWatermark,
            |manager| {
                let pool = manager.named_pool("bodies");
                for n in 0..5_300u32 {
                    match n % 10 {
                        0 => _ = pool.create(n),
                        1 | 2 => _ = pool.create('x'),
                        _ => _ = pool.create(String::new()),
                    }
                }
            },
            &[
                "pool \"bodies\" of manager \"physics\": the pool has grown to 5,",
                " entries, 4,096 of which were sampled: alloc::string::String (2,8",
            ],
        ),
        (
            EventKind::RootWatermark,
            |manager| {
                for n in 0..10_000u32 {
                    match n % 10 {
                        0 => manager.autorelease(Ref::new(n)),
                        _ => manager.autorelease(Ref::new(String::new())),
                    }
                }
            },
            &[
                "pool \"root\" of manager \"physics\": 10,000 entries wait, ",
                "4,096 of which were sampled: alloc::string::String (3,687), u32 (409);",
            ],
        ),
        (
            EventKind::BacklogWatermark,
            |manager| {
                let mut pool = manager.named_pool("frame");
                leave(&mut pool, 1);
                pool.create(String::from("a"));
                pool.create(String::from("b"));
                leave(&mut pool, 1_200);
            },
            &[
                "pool \"frame\" of manager \"physics\": 1,203 releases wait",
                "most of them u32 (1,201), alloc::string::String (2);",
            ],
        ),
        (
            EventKind::BacklogWatermark,
            |manager| {
                let mut pool = manager.named_pool("frame");
                // Leaves its parts, which are dead.
                pool.create([Ref::new(String::new()), Ref::new(String::new())]);
                assert_eq!(pool.drain_within(Budget::Count(1)).remaining, 2);
                leave(&mut pool, 1);
            },
            &[
                "3 releases wait",
                "most of them alloc::string::String (2), u32 (1);",
            ],
        ),
    ];
    for (kind, fill, says) in CASES {
        fresh(|| {
            let manager = PoolManager::builder().name("physics").build();
            manager.set_pool_watermark(5_000);
            manager.set_backlog_watermark(1);
            fill(&manager);
            let event = only_event(kind);
            assert_eq!(event.manager.as_deref(), Some("physics"));
            let sum: usize = event.types.iter().map(|&(_, n)| n).sum();
            assert_eq!(
                (sum, sum.min(4_096)),
                (event.sampled, event.count.min(4_096))
            );
            assert_says(&event, says);
            assert_says(&event, &["thread fresh (#"]);
        });
    }
}

#[test]
fn token_pool_and_implicit_autorelease_are_watched() {
    listen();
    let manager = with_watermark(300);
    let token = manager.push();
    for n in 0..600 {
        manager.autorelease(Ref::new(n));
    }
    manager.pop(token).unwrap();
    assert_reported_at(&[300]);
    assert_eq!(watermarks()[0].pool.as_deref(), Some("token"));
    let _pool = manager.named_pool("implicit");
    for n in 0..600 {
        manager.autorelease(Ref::new(n));
    }
    assert_reported_at(&[300, 300]);
    assert_eq!(watermarks()[1].pool.as_deref(), Some("implicit"));
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn pool_that_grows_in_each_frame_is_reported_at_growing_intervals() {
    listen();
    let manager = with_watermark(400);
    let mut pool = manager.named_pool("frame");
    for _ in 0..12 {
        (0..1_100).for_each(|n| _ = pool.autorelease(Ref::new(n)));
        assert_eq!(pool.drain(), 1_100);
    }
    let told = watermarks();
    let of = |length| {
        let of = told.iter().filter(move |event| event.count / length == 1);
        of.map(|event| event.occurrences).collect::<Vec<_>>()
    };
    assert_eq!((of(400), of(800)), (vec![1, 10], vec![1, 10]), "{told:?}");
    // Pools of another name are counted apart.
    let other = manager.named_pool("other");
    (0..600).for_each(|n| _ = other.autorelease(Ref::new(n)));
    assert_eq!(watermarks().len(), 5);
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn watermark_is_set_at_any_time() {
    listen();
    let manager = with_watermark(0);
    let shown = || format!("{manager:?}");
    assert!(shown().contains("pool_watermark: 1"), "{}", shown());
    manager.set_pool_watermark(100_000);
    let pool = manager.pool();
    (0..1_000).for_each(|n| _ = pool.autorelease(Ref::new(n)));
    assert_reported_at(&[]);
    manager.set_pool_watermark(1_200);
    (0..1_000).for_each(|n| _ = pool.autorelease(Ref::new(n)));
    assert_reported_at(&[1_200]);
    // The pool is past it by more than a page.
    manager.set_pool_watermark(1_100);
    (0..600).for_each(|n| _ = pool.autorelease(Ref::new(n)));
    assert_reported_at(&[1_200, 2_200]);
    assert!(format!("{:?}", global()).contains("pool_watermark: "));
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn entries_that_a_drain_releases_itself_are_not_reported() {
    listen();
    let manager = with_watermark(300);
    let inner = manager.clone();
    let mut pool = manager.pool();
    pool.create(on_drop(move || {
        for n in 0..1_000 {
            inner.autorelease(Ref::new(n));
        }
    }));
    assert_eq!(pool.drain(), 1_001);
    let mut handoff = HandoffPool::new();
    (0..1_000).for_each(|n| _ = handoff.create(n));
    handoff.drain_on(&manager.current_thread().unwrap());
    drop(pool);
    assert_reported_at(&[]);
}

thread_local! {
    static MANAGER: RefCell<Option<PoolManager>> = const { RefCell::new(None) };
    static POOL: RefCell<Option<AutoreleasePool>> = const { RefCell::new(None) };
}

#[test]
fn hook_may_autorelease_into_the_pool_that_it_is_told_of() {
    let log = Log::new();
    let manager = with_watermark(300);
    MANAGER.set(Some(manager.clone()));
    react(|event| {
        if event.kind == EventKind::PoolWatermark {
            let manager = MANAGER.with_borrow(|manager| manager.clone().unwrap());
            (0..300).for_each(|n| manager.autorelease(Ref::new(n)));
        }
    });
    let mut pool = manager.pool();
    (0..700).for_each(|id| _ = pool.autorelease(Ref::new(log.probe(id))));
    assert_reported_at(&[300, 600, 1_200]);
    assert_eq!(pool.len(), 700 + 3 * 300);
    assert_eq!(pool.drain(), 1_600);
    assert!(log.ids().into_iter().eq((0..700).rev()));
    MANAGER.take();
}

#[test]
fn hook_may_close_the_current_pool_while_it_grows() {
    let log = Log::new();
    let manager = with_watermark(300);
    react(|event| {
        if event.kind == EventKind::PoolWatermark {
            drop(POOL.take());
        }
    });
    POOL.set(Some(manager.named_pool("closed by the hook")));
    let mut released = 0;
    for id in 0..600 {
        manager.autorelease(Ref::new(log.probe(id)));
        if POOL.with_borrow(Option::is_none) && released == 0 {
            released = log.count();
        }
    }
    assert_reported_at(&[300]);
    assert_eq!(released, watermarks()[0].count, "the last entry, too");
    assert_eq!(manager.drain_root(), 600 - released);
    assert_eq!(log.count(), 600);
}

/// Returns the lengths that the events about this thread's backlogs give.
fn backlog_marks() -> Vec<usize> {
    let events = events(EventKind::BacklogWatermark);
    events.iter().map(|event| event.count).collect()
}

/// Adds `n` entries to the pool's backlog.
fn leave(pool: &mut AutoreleasePool, n: u32) {
    (0..n).for_each(|n| _ = pool.create(n));
    pool.drain_within(Budget::Count(0));
}

#[test]
fn a_growing_backlog_is_reported() {
    listen();
    let manager = with_backlog_watermark(10);
    let mut pool = manager.pool();
    leave(&mut pool, 9);
    leave(&mut pool, 1);
    assert_eq!(backlog_marks(), [], "only recorded, as it may be a batch");
    leave(&mut pool, 0);
    assert_eq!(backlog_marks(), [], "it does not grow");
    leave(&mut pool, 1);
    assert_eq!(backlog_marks(), [11]);
    leave(&mut pool, 5);
    leave(&mut pool, 5);
    assert_eq!(backlog_marks(), [11]);
    leave(&mut pool, 1);
    assert_eq!(backlog_marks(), [11, 22], "at each doubling");
    manager.drain_backlog(Budget::All);
    leave(&mut pool, 10);
    leave(&mut pool, 1);
    assert_eq!(backlog_marks(), [11, 22, 11]);
}

#[test]
fn what_was_sent_to_the_thread_is_part_of_its_backlog() {
    listen();
    let (log, manager) = (Log::new(), with_backlog_watermark(10));
    let mut pool = manager.pool();
    for sent in [10, 1] {
        send(&me(), &log, 0..sent);
        leave(&mut pool, 0);
    }
    assert_eq!(backlog_marks(), [11]);
    manager.drain_backlog(Budget::All);
}

#[test]
fn a_shrinking_backlog_is_not_reported() {
    listen();
    let manager = with_backlog_watermark(10);
    let mut pool = manager.pool();
    (0..1_000).for_each(|n| _ = pool.create(n));
    for _ in 0..98 {
        pool.create(0);
        let drained = pool.drain_within(Budget::Count(10));
        assert!(drained.remaining > 10);
    }
    assert_eq!(backlog_marks(), []);
    // A second batch before the first is worked off, but the backlog is no longer than before.
    leave(&mut pool, 500);
    manager.drain_backlog(Budget::Count(100));
    assert_eq!(backlog_marks(), []);
}

#[test]
fn a_backlog_that_grows_between_drains_is_reported() {
    listen();
    let manager = with_backlog_watermark(100);
    let mut pool = manager.pool();
    // Half of each batch is worked off: 100, 50, 150, 100, 200, ...
    for _ in 0..3 {
        leave(&mut pool, 100);
        manager.drain_backlog(Budget::Count(50));
    }
    assert_eq!(backlog_marks(), [150]);
}

#[test]
fn backlog_watermark_is_set_at_any_time_by_any_thread() {
    listen();
    let manager = PoolManager::new();
    let mut pool = manager.pool();
    leave(&mut pool, 20);
    leave(&mut pool, 1);
    let other = manager.clone();
    fresh(move || other.set_backlog_watermark(10));
    assert_eq!(backlog_marks(), [], "not before the next drain");
    leave(&mut pool, 1);
    leave(&mut pool, 1);
    assert_eq!(backlog_marks(), [23]);
    manager.set_backlog_watermark(1_000);
    leave(&mut pool, 100);
    assert_eq!(backlog_marks(), [23]);
    manager.drain_backlog(Budget::All);
    manager.set_backlog_watermark(0);
    leave(&mut pool, 1);
    leave(&mut pool, 1);
    assert_eq!(backlog_marks(), [23, 2], "0 counts as 1");
}
