//! Autorelease while no pool is open: the root pool, its watermark and its policy.

use crate::support::{
    Log, alone, assert_says, events, figures, fresh, global, listen, me, on_drop, only_event, react,
};
use releasepool::event::EventKind;
use releasepool::pool::RootPolicy;
use releasepool::raw::is_without_pool;
use releasepool::{AutoreleasePool, PoolManager, Ref, autorelease, autoreleasepool};

#[test]
fn implicit_autorelease_without_a_pool_warns_once_with_the_type() {
    struct Stray;
    fn stray() {
        autorelease(Ref::new(Stray));
    }
    fresh(|| {
        stray();
        stray();
        global().drain_root();
        stray();
        let event = only_event(EventKind::NoPool);
        assert!(event.type_name.unwrap().ends_with("Stray"));
        assert_says(&event.thread, &["fresh (#"]);
        assert_says(&event, &["Stray"]);
        assert_eq!((event.count, event.occurrences), (1, 1));
    });
    fresh(|| {
        stray();
        assert_eq!(events(EventKind::NoPool).len(), 0);
    });
}

#[test]
fn implicit_autorelease_with_a_pool_open_does_not_warn() {
    struct Stray;
    listen();
    autoreleasepool(|_| autorelease(Ref::new(Stray)));
    let token = global().push();
    autorelease(Ref::new(Stray));
    global().pop(token).unwrap();
    assert_eq!(events(EventKind::NoPool).len(), 0);
}

#[test]
fn destructor_autoreleases_in_the_drain_of_the_root_without_a_warning_of_its_own() {
    listen();
    let log = Log::new();
    let manager = PoolManager::new();
    manager.autorelease(Ref::new(on_drop(|| ())));
    assert_eq!(manager.drain_root(), 1);
    let inner = manager.clone();
    manager.autorelease(Ref::new(on_drop(move || {
        inner.autorelease(Ref::new(log.probe(0)));
    })));
    assert_eq!(manager.drain_root(), 2);
    assert_eq!(log.ids(), [0]);
    assert_eq!(events(EventKind::NoPool).len(), 2, "two calls outside");
}

#[test]
fn remote_releases_that_autorelease_in_a_drain_of_the_empty_root_do_not_warn() {
    struct Stray(#[expect(dead_code)] crate::support::Probe);
    listen();
    let log = Log::new();
    me().release(Ref::new(on_drop(move || {
        autorelease(Ref::new(Stray(log.probe(0))));
    })));
    global().drain_root();
    assert_eq!(log.ids(), [0]);
    assert_eq!(events(EventKind::NoPool).len(), 0);
}

/// Returns a manager that reports a root pool with this many entries.
fn reporting_at(entries: usize) -> PoolManager {
    let manager = PoolManager::new();
    manager.set_root_watermark(entries);
    manager
}

#[test]
fn the_root_watermark_reports_at_each_doubling() {
    listen();
    let manager = reporting_at(10);
    let mut seen = Vec::new();
    for n in 1..=100 {
        manager.autorelease(Ref::new('x'));
        if events(EventKind::RootWatermark).len() > seen.len() {
            seen.push(n);
        }
    }
    assert_eq!(seen, [10, 20, 40, 80], "again at each doubling");
    let events = events(EventKind::RootWatermark);
    assert!(events.iter().map(|event| event.count).eq(seen));
    assert_eq!(events[0].type_name, Some("char"));
    assert_says(&events[0], &["10 entries"]);
    assert_eq!(beyond(&manager), 0, "the policy is to report");
    assert_eq!(manager.drain_root(), 100);
}

#[test]
fn a_drain_lowers_the_watermark_again() {
    listen();
    let manager = reporting_at(5);
    for round in 1..=3 {
        (0..5).for_each(|_| manager.autorelease(Ref::new(0)));
        manager.drain_root();
        assert_eq!(events(EventKind::RootWatermark).len(), round);
    }
    (0..5).for_each(|_| manager.autorelease(Ref::new(0)));
    let mut pool = manager.pool();
    pool.create(0);
    pool.drain();
    drop(pool);
    manager.autorelease(Ref::new(0));
    let told = events(EventKind::RootWatermark).len();
    assert_eq!(told, 4, "the drain of another pool does not");
}

#[test]
fn a_drain_of_the_root_pool_counts_as_an_open_pool() {
    fresh(|| {
        autorelease(Ref::new(on_drop(|| assert!(!is_without_pool()))));
        assert!(is_without_pool());
        global().drain_root();
        assert!(is_without_pool());
    });
}

#[test]
fn an_entry_counts_until_its_destructor_has_ended_even_if_that_drains_the_root_pool() {
    let manager = PoolManager::new();
    let inner = manager.clone();
    manager.autorelease(Ref::new(on_drop(move || {
        assert_eq!(inner.drain_root(), 0);
        assert_eq!(figures(&inner).root_entries, 1);
    })));
    assert_eq!(manager.drain_root(), 1);
    assert_eq!(figures(&manager).root_entries, 0);
}

fn beyond(manager: &PoolManager) -> usize {
    manager.drain_root_beyond_watermark()
}

/// Returns a manager whose policy is to drain a root pool with this many entries.
fn draining_at(entries: usize) -> PoolManager {
    let manager = reporting_at(entries);
    manager.set_root_policy(RootPolicy::Drain);
    manager
}

#[test]
fn drain_root_beyond_watermark_does_nothing_below_it_or_inside_a_pool_or_a_destructor() {
    let log = Log::new();
    let manager = draining_at(2);
    manager.autorelease(Ref::new(log.probe(0)));
    assert_eq!(beyond(&manager), 0, "below the watermark");
    (1..3).for_each(|id| manager.autorelease(Ref::new(log.probe(id))));
    let pool = manager.pool();
    assert_eq!(beyond(&manager), 0, "inside a pool");
    drop(pool);
    let token = manager.push();
    assert_eq!(beyond(&manager), 0, "inside a token pool");
    manager.pop(token).unwrap();
    let inner = manager.clone();
    drop(Ref::new(on_drop(move || {
        assert_eq!(beyond(&inner), 0, "in a destructor")
    })));
    assert_eq!(log.count(), 0);
    let _of_another_manager = AutoreleasePool::new();
    assert_eq!(beyond(&manager), 3);
}

#[test]
fn watermark_event_names_no_more_than_eight_types() {
    listen();
    let manager = reporting_at(23);
    macro_rules! of_types {
            ($($t:ty)*) => { $(manager.autorelease(Ref::new(<$t>::default()));)* }
        }
    of_types!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 usize);
    of_types!(u16 u32 u64 u128 i8 i16 i32 i64);
    of_types!(u64 u64 i64 u128);
    let event = only_event(EventKind::RootWatermark);
    assert_eq!(event.types.len(), 8);
    assert_eq!(event.types[0], ("u64", 4));
    assert!(event.types[1..3].contains(&("i64", 3)), "{event:?}");
    assert!(event.to_string().contains("23 entries wait"), "{event}");
}

#[test]
fn watermark_is_set_at_any_time_by_any_thread() {
    listen();
    let manager = PoolManager::new();
    (0..20).for_each(|_| manager.autorelease(Ref::new(0)));
    let marks = || {
        let events = events(EventKind::RootWatermark);
        events.iter().map(|event| event.count).collect::<Vec<_>>()
    };
    let other = manager.clone();
    fresh(move || other.set_root_watermark(10));
    assert_eq!(marks(), [], "not before the next autorelease");
    manager.autorelease(Ref::new(0));
    assert_eq!(marks(), [21]);
    manager.set_root_watermark(100);
    (0..79).for_each(|_| manager.autorelease(Ref::new(0)));
    assert_eq!(marks(), [21, 100], "not at 42");
    manager.drain_root();
    manager.set_root_watermark(0);
    manager.autorelease(Ref::new(0));
    assert_eq!(marks(), [21, 100, 1], "0 counts as 1");
    let shown = format!("{manager:?}");
    assert!(shown.contains("root_watermark: 1,"), "{shown}");
}

#[test]
fn watermarks_of_the_global_manager_can_be_set() {
    // This runs in a process of its own, because it changes the global manager.
    alone!();
    listen();
    autorelease(Ref::new(0));
    global().set_root_watermark(3);
    global().set_root_policy(RootPolicy::Drain);
    (0..2).for_each(|_| autorelease(Ref::new(0)));
    assert_eq!(events(EventKind::RootWatermark).len(), 1);
    assert_eq!(events(EventKind::RootWatermark)[0].manager, None);
    assert_eq!(beyond(global()), 3);
}

#[test]
fn event_hook_may_use_pools_and_drain_the_reported_root() {
    react(|event| {
        let mut pool = AutoreleasePool::new();
        pool.create(event.to_string());
        autorelease(Ref::new(0));
        assert_eq!(pool.drain(), 2);
        drop(pool);
        assert_eq!(global().drain_root(), 1);
        autorelease(Ref::new(1));
    });
    struct Stray;
    autorelease(Ref::new(Stray));
    assert!(!events(EventKind::NoPool).is_empty());
    assert_eq!(global().drain_root(), 1);
}

#[test]
fn autoreleases_and_releases_are_counted() {
    // This runs in a process of its own, because this thread may release orphans of other tests.
    alone!();
    let me = me().key();
    let before = global().snapshot().thread(me).unwrap().totals;
    autoreleasepool(|pool| {
        // Drained in two ways, as there are many or few of them.
        (0..20).for_each(|i| _ = pool.create(i));
        pool.drain();
        pool.create(5);
    });
    autorelease(Ref::new(6));
    let kept = Ref::new(7);
    let after = global().snapshot().thread(me).unwrap().totals;
    assert_eq!(after.pools_pushed - before.pools_pushed, 1);
    assert_eq!(after.released - before.released, 21);
    assert_eq!(after.autoreleased - before.autoreleased, 22);
    assert_eq!(after.created - before.created, 23);
    assert_eq!(after.destroyed - before.destroyed, 21);
    drop(kept);
    global().drain_root();
    let end = global().snapshot().thread(me).unwrap().totals;
    assert_eq!(end.created, end.destroyed);
}
