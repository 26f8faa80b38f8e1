//! Events about backlogs that grow beyond their watermark.

use crate::support::{assert_says, events, fresh, only_event};
use releasepool::event::EventKind;
use releasepool::{AutoreleasePool, Budget, PoolManager};

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
    fresh(|| {
        let manager = PoolManager::builder().backlog_watermark(10).build();
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
    });
}

#[test]
fn a_shrinking_backlog_is_not_reported() {
    fresh(|| {
        let manager = PoolManager::builder().backlog_watermark(10).build();
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
    });
}

#[test]
fn a_backlog_that_grows_between_drains_is_reported() {
    fresh(|| {
        let manager = PoolManager::builder().backlog_watermark(100).build();
        let mut pool = manager.pool();
        // Half of each batch is worked off: 100, 50, 150, 100, 200, ...
        for _ in 0..3 {
            leave(&mut pool, 100);
            manager.drain_backlog(Budget::Count(50));
        }
        assert_eq!(backlog_marks(), [150]);
    });
}

#[test]
fn backlog_event_names_pool_length_and_types() {
    fresh(|| {
        let manager = PoolManager::builder()
            .name("textures")
            .backlog_watermark(1)
            .build();
        let mut pool = manager.named_pool("frame");
        leave(&mut pool, 1);
        pool.create(String::from("a"));
        pool.create(String::from("b"));
        leave(&mut pool, 1_200);
        let event = only_event(EventKind::BacklogWatermark);
        assert_eq!(event.pool.as_deref(), Some("frame"));
        assert_eq!(event.manager.as_deref(), Some("textures"));
        assert_eq!((event.count, event.sampled), (1_203, 1_203));
        assert_eq!(event.types, [("u32", 1_201), ("alloc::string::String", 2)]);
        let sentence = event.to_string();
        assert_says(
            &sentence,
            &[
                "thread fresh (#",
                "pool \"frame\" of manager \"textures\": 1,203 releases wait",
                "most of them u32 (1,201), alloc::string::String (2);",
            ],
        );
    });
}

#[test]
fn backlog_watermark_is_set_at_any_time_by_any_thread() {
    fresh(|| {
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
    });
}
