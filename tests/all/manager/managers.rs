//! Several managers, and managers without handles.

use crate::support::{
    Log, assert_says, fresh, fresh_to_the_end, global, listen, on_drop, only_event,
};
use releasepool::event::EventKind;
use releasepool::pool::RootPolicy;
use releasepool::{AutoreleasePool, PoolManager, Ref};

#[test]
fn clones_are_the_same_manager_on_every_thread() {
    let manager = PoolManager::builder().name("shared").build();
    let clone = manager.clone();
    fresh(|| {
        manager.autorelease(Ref::new(0));
        assert_eq!(clone.drain_root(), 1);
        let event = only_event(EventKind::NoPool);
        assert_eq!(event.manager.as_deref(), Some("shared"));
    });
    fresh(|| {
        clone.autorelease(Ref::new(0));
        assert_eq!(manager.drain_root(), 1);
        assert_eq!(manager.name(), Some("shared"));
    });
    assert_eq!(PoolManager::new().name(), None);
    assert_eq!(manager.named_pool("its own").name(), "its own");
}

#[test]
fn settings_are_in_the_debug_output() {
    let manager = PoolManager::builder().name("physics").build();
    manager.set_root_watermark(7);
    manager.set_root_policy(RootPolicy::Drain);
    let debug = format!("{manager:?}");
    for part in ["physics", "7", "Drain"] {
        assert!(debug.contains(part), "{part} in {debug}");
    }
    assert!(format!("{:?}", PoolManager::default()).contains("10000"));
}

#[test]
fn abandoned_manager_with_a_pool_that_is_open_but_not_current_is_left_alone() {
    let log = Log::new();
    let manager = PoolManager::new();
    manager.autorelease(Ref::new(log.probe(0)));
    let token = manager.push();
    let inner = manager.pool();
    // This also removes the inner one from the chain of current pools.
    assert_eq!(manager.pop(token), Ok(0));
    drop(manager);
    PoolManager::new().autorelease(Ref::new(()));
    assert_eq!(log.count(), 0, "not freed yet");
    let lent = inner.create(log.probe(1));
    assert_eq!((lent.id, inner.len()), (1, 1));
    drop(inner);
    assert_eq!(log.ids(), [1]);
    PoolManager::new().autorelease(Ref::new(()));
    assert_eq!(log.ids(), [1, 0]);
}

#[test]
fn abandoned_managers_root_is_released_by_the_next_first_use_of_a_manager() {
    let log = Log::new();
    let kept = PoolManager::new();
    kept.autorelease(Ref::new(log.probe(9)));
    for id in 0..3 {
        PoolManager::new().autorelease(Ref::new(log.probe(id)));
    }
    assert_eq!(log.ids(), [0, 1], "each by the first use of the next");
    PoolManager::new().autorelease(Ref::new(()));
    assert_eq!(log.ids(), [0, 1, 2]);
    assert_eq!(kept.drain_root(), 1);
}

#[test]
fn abandoned_managers_whose_destructors_make_managers() {
    struct Maker(u32, Log);
    impl Drop for Maker {
        fn drop(&mut self) {
            self.1.note(self.0);
            if self.0 > 0 {
                for _ in 0..2 {
                    let next = Maker(self.0 - 1, self.1);
                    PoolManager::new().autorelease(Ref::new(next));
                }
            }
        }
    }
    let log = Log::new();
    PoolManager::new().autorelease(Ref::new(Maker(4, log)));
    let mut drains = 0;
    while log.count() < 31 {
        PoolManager::new().autorelease(Ref::new(()));
        drains += 1;
        assert!(drains < 1_000, "{:?}", log.ids());
    }
    assert_eq!(log.count(), 31);
}

#[test]
fn abandoned_managers_destructor_uses_the_manager_whose_first_use_frees_it() {
    let log = Log::new();
    let (abandoned, manager) = (PoolManager::new(), PoolManager::new());
    let (theirs, probe) = (manager.clone(), log.probe(0));
    abandoned.autorelease(Ref::new(on_drop(move || {
        theirs.autorelease(Ref::new(probe));
    })));
    drop(abandoned);
    manager.autorelease(Ref::new(log.probe(1)));
    assert_eq!(manager.drain_root(), 2);
    assert_eq!(log.ids(), [1, 0], "both were in one pool");
}

#[test]
fn abandoned_managers_destructor_that_panics_loses_nothing() {
    listen();
    let log = Log::new();
    let abandoned = PoolManager::new();
    abandoned.autorelease(Ref::new(log.probe(0)));
    abandoned.autorelease(Ref::new(on_drop(|| panic!("left behind"))));
    drop(abandoned);
    let manager = PoolManager::new();
    manager.autorelease(Ref::new(log.probe(1)));
    let event = only_event(EventKind::Panic);
    assert_eq!(event.message.as_deref(), Some("left behind"));
    assert_eq!(manager.drain_root(), 1);
    assert_eq!(log.sorted(), [0, 1]);
}

#[test]
fn abandoned_manager_with_open_pools_on_another_thread() {
    let log = Log::new();
    let manager = PoolManager::new();
    let (tell, told) = std::sync::mpsc::channel();
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let theirs = manager.clone();
    let thread = std::thread::spawn(move || {
        let pool = theirs.pool();
        let lent = pool.create(log.probe(0));
        drop(theirs);
        tell.send(()).unwrap();
        gone.recv().unwrap();
        assert_eq!(lent.id, 0);
        log.note(1);
    });
    told.recv().unwrap();
    drop(manager);
    let _first_use = PoolManager::new().pool();
    assert_eq!(log.count(), 0);
    go.send(()).unwrap();
    thread.join().unwrap();
    assert_eq!(log.ids(), [1, 0]);
}

#[test]
fn snapshot_shows_each_thread() {
    fresh(|| {
        let manager = PoolManager::builder().name("seen").build();
        let _open = manager.pool();
        let token = manager.push();
        manager.autorelease(Ref::new(0));
        let me = manager.current_thread().unwrap().key();
        let snapshot = manager.snapshot();
        let mine = snapshot.thread(me).unwrap();
        assert_eq!((mine.key, mine.name.as_deref()), (me, Some("fresh")));
        assert_eq!((mine.open_pools, mine.root_entries), (2, 0));
        assert_eq!(mine.totals.pools_pushed, 2);
        let shown = snapshot.to_string();
        let label = format!("fresh ({me})");
        let row = shown.lines().find(|row| row.starts_with(&label)).unwrap();
        let figures: Vec<u64> = row
            .split_whitespace()
            .skip(2)
            .map(|figure| figure.parse().unwrap())
            .collect();
        // The figures are open, root, backlog, inbox, pushed, autoreleased, released, created,
        // destroyed, handed over.
        assert_eq!(figures, [2, 0, 0, 0, 2, 0, 0, 1, 0, 0], "{shown}");
        assert_says(&shown, &[&label, "(ended)"]);

        let theirs = AutoreleasePool::new();
        let unmoved = manager.snapshot().thread(me).unwrap().open_pools;
        assert_eq!(unmoved, 2, "pools of another manager do not count");
        drop(theirs);
        manager.pop(token).unwrap();
        assert_eq!(manager.snapshot().thread(me).unwrap().open_pools, 1);
        fresh(|| assert!(manager.snapshot().thread(me).is_some()));
        let unknown = fresh_to_the_end(|| global().current_thread().unwrap().key());
        assert!(manager.snapshot().thread(unknown).is_none());
    });
}

#[test]
fn snapshot_keeps_the_totals_of_threads_that_have_ended() {
    let manager = PoolManager::new();
    let work = manager.clone();
    fresh_to_the_end(move || {
        let pool = work.pool();
        (0..5).for_each(|i| _ = pool.create(i));
        drop(pool);
        work.autorelease(Ref::new(5));
    });
    let departed = manager.snapshot().departed;
    assert_eq!(
        (
            departed.pools_pushed,
            departed.released,
            departed.autoreleased
        ),
        (1, 6, 6)
    );
}
