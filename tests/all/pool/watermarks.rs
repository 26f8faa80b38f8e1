//! The watermark of guard and token pools.

use crate::support::{PAGE, assert_says, events, fresh, global, on_drop, react, with_log};
use releasepool::event::{Event, EventKind};
use releasepool::{AutoreleasePool, HandoffPool, PoolManager, Ref};
use std::cell::RefCell;

fn watermarks() -> Vec<Event> {
    events(EventKind::PoolWatermark)
}

fn with_watermark(entries: usize) -> PoolManager {
    PoolManager::builder().pool_watermark(entries).build()
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
    fresh(|| {
        let manager = with_watermark(500);
        let pool = manager.named_pool("level");
        (0..4_300).for_each(|n| _ = pool.autorelease(Ref::new(n)));
        assert_reported_at(&[500, 1_000, 2_000, 4_000]);
    });
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn pool_below_its_watermark_is_not_reported() {
    fresh(|| {
        let manager = with_watermark(1_000);
        let mut pool = manager.pool();
        for _ in 0..3 {
            (0..999).for_each(|n| _ = pool.autorelease(Ref::new(n)));
            pool.drain();
        }
        assert_reported_at(&[]);
    });
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn event_names_the_pool_and_its_commonest_types() {
    fresh(|| {
        let manager = PoolManager::builder()
            .name("physics")
            .pool_watermark(5_000)
            .build();
        let pool = manager.named_pool("bodies");
        for n in 0..5_300u32 {
            match n % 10 {
                0 => _ = pool.create(n),
                1 | 2 => _ = pool.create('x'),
                _ => _ = pool.create(String::new()),
            }
        }
        let [event] = &watermarks()[..] else {
            panic!("one event")
        };
        assert_eq!(event.pool.as_deref(), Some("bodies"));
        assert_eq!(event.manager.as_deref(), Some("physics"));
        assert_eq!(event.sampled, 4_096, "the newest");
        let names: Vec<_> = event.types.iter().map(|&(name, _)| name).collect();
        assert_eq!(names, ["alloc::string::String", "char", "u32"]);
        let sum: usize = event.types.iter().map(|&(_, n)| n).sum();
        assert_eq!(sum, event.sampled);
        let message = event.to_string();
        assert_says(
            &message,
            &[
                "thread fresh (#",
                "pool \"bodies\" of manager \"physics\": the pool has grown to 5,",
                " entries, 4,096 of which were sampled: alloc::string::String (2,8",
            ],
        );
    });
}

#[test]
fn token_pool_and_implicit_autorelease_are_watched() {
    fresh(|| {
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
    });
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn pool_that_grows_in_each_frame_is_reported_at_growing_intervals() {
    fresh(|| {
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
    });
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn watermark_is_set_at_any_time() {
    fresh(|| {
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
    });
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn entries_that_a_drain_releases_itself_are_not_reported() {
    fresh(|| {
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
    });
}

thread_local! {
    static MANAGER: RefCell<Option<PoolManager>> = const { RefCell::new(None) };
    static POOL: RefCell<Option<AutoreleasePool>> = const { RefCell::new(None) };
}

#[test]
fn hook_may_autorelease_into_the_pool_that_it_is_told_of() {
    with_log(|log| {
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
    });
}

#[test]
fn hook_may_close_the_current_pool_while_it_grows() {
    with_log(|log| {
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
    });
}
