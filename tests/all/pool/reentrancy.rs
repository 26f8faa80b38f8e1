//! Destructors that call back into the crate during a drain.

use crate::support::{Log, global, me, on_drop, with_log};
use releasepool::object::settle;
use releasepool::{AutoreleasePool, PoolManager, Ref, autorelease, autoreleasepool};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

#[test]
fn destructor_drains_the_root_over_and_over_while_it_refills_it() {
    const N: u32 = if cfg!(miri) { 50 } else { 400 };
    struct Again(u32, Log);
    impl Drop for Again {
        fn drop(&mut self) {
            self.1.note(self.0);
            if self.0 > 0 {
                for _ in 0..2 {
                    autorelease(Ref::new(self.1.probe(1_000)));
                }
                autorelease(Ref::new(Again(self.0 - 1, self.1)));
                global().drain_root();
                autorelease(Ref::new(self.1.probe(2_000)));
            }
        }
    }
    let log = Log::new();
    // More than a page, so that pages come and go during the outer drains.
    for _ in 0..300 {
        autorelease(Ref::new(log.probe(3_000)));
    }
    autorelease(Ref::new(Again(N, log)));
    global().drain_root();
    let of = |id| log.ids().into_iter().filter(|&i| i == id).count() as u32;
    assert_eq!((of(1_000), of(2_000), of(3_000)), (2 * N, N, 300));
    assert!(
        log.ids()
            .into_iter()
            .filter(|&id| id < 1_000)
            .eq((0..=N).rev())
    );
    assert_eq!(global().drain_root(), 0);
}

#[test]
fn destructor_closes_a_pool_that_was_current_before_the_drain() {
    let log = Log::new();
    let mut drained = AutoreleasePool::new();
    let holder: Ref<RefCell<Option<AutoreleasePool>>> = Ref::new(RefCell::new(None));
    let inner = AutoreleasePool::new();
    inner.create(log.probe(1));
    *holder.borrow_mut() = Some(inner);

    let in_entry = holder.clone();
    drained.create(log.probe(0));
    drained.create(on_drop(move || {
        in_entry.borrow_mut().take();
        log.note(2);
        autorelease(Ref::new(log.probe(3)));
    }));
    assert_eq!(drained.drain(), 3, "the drained pool stays current");
    assert_eq!(log.ids(), [1, 2, 3, 0]);
    autorelease(Ref::new(0));
    // Then the pool that was current before the closed one.
    assert_eq!(drained.len(), 1);
    assert!(holder.borrow().is_none());
}

#[test]
fn destructor_autoreleases_into_the_pool_that_is_drained_and_not_into_one_inside_it() {
    let mut drained = AutoreleasePool::new();
    let inside = AutoreleasePool::new();
    for sent in 0..2 {
        // More than few.
        for n in 0..20 {
            drained.create(on_drop(move || autorelease(Ref::new(n))));
        }
        (0..sent).for_each(|n| me().release(Ref::new(on_drop(move || autorelease(Ref::new(n))))));
        assert_eq!((drained.drain(), inside.len()), (40 + sent, 0));
    }
}

#[test]
fn destructor_closes_every_pool_below_and_above_the_one_that_is_drained() {
    let log = Log::new();
    let pools: Rc<RefCell<Vec<AutoreleasePool>>> = Rc::default();
    let below: Vec<_> = (0..3).map(|_| AutoreleasePool::new()).collect();
    let drained = AutoreleasePool::new();
    let above: Vec<_> = (0..3).map(|_| AutoreleasePool::new()).collect();
    pools.borrow_mut().extend(below.into_iter().chain(above));
    for (id, pool) in pools.borrow().iter().enumerate() {
        pool.create(log.probe(id as u32));
    }
    let in_entry = pools.clone();
    drained.create(on_drop(move || {
        let mut pools = in_entry.take();
        while !pools.is_empty() {
            drop(pools.swap_remove(pools.len() / 2));
        }
        autorelease(Ref::new(log.probe(10)));
    }));
    drop(drained);
    // Into the drained pool until its drain ends.
    assert_eq!(log.ids().last(), Some(&10));
    assert_eq!(log.sorted(), [0, 1, 2, 3, 4, 5, 10]);
    autorelease(Ref::new(0));
    assert_eq!(global().drain_root(), 1, "no pool is open");
}

#[test]
fn destructor_holds_the_guard_of_a_pool_inside_the_one_that_is_drained() {
    // A chain of pools, each owned by an object in the previous one.
    let log = Log::new();
    let outer = AutoreleasePool::new();
    let mut pool = AutoreleasePool::new();
    pool.create(log.probe(0));
    for id in 1..10 {
        let next = AutoreleasePool::new();
        next.create((log.probe(id), pool));
        pool = next;
    }
    outer.create(pool);
    drop(outer);
    assert!(log.ids().into_iter().eq((0..10).rev()));
    autorelease(Ref::new(0));
    assert_eq!(global().drain_root(), 1, "no pool is open");
}

#[test]
fn destructor_asks_for_everything_the_manager_can_do() {
    with_log(|log| {
        // Not the global one, whose `shutdown` would ask other tests' threads, too.
        let manager = PoolManager::new();
        let mut pool = manager.named_pool("busy");
        pool.create(log.probe(0));
        pool.create(on_drop(move || {
            // This is impossible here, but must neither hang nor do harm.
            manager.quiesce(Duration::ZERO);
            let report = manager.shutdown(Duration::ZERO).unwrap_err();
            let me = manager.current_thread().unwrap().key();
            // The pool is open.
            assert!(report.holders.iter().any(|holder| holder.key == me));
            assert_eq!(manager.drain_root_beyond_watermark(), 0);
            assert_eq!(settle(), 0);
            let snapshot = manager.snapshot();
            assert_eq!(snapshot.thread(me).unwrap().open_pools, 1);
            assert!(snapshot.to_string().contains("fresh"));
            assert!(manager.thread(me).is_some());
            assert!(manager.threads().iter().any(|thread| thread.key() == me));
            log.note(1);
        }));
        assert_eq!(pool.drain(), 2);
        assert_eq!(log.ids(), [1, 0]);
    });
}

#[test]
fn destructor_shuts_down_its_manager_inside_the_drain_of_its_root() {
    let log = Log::new();
    let manager = PoolManager::new();
    manager.autorelease(Ref::new(log.probe(0)));
    let inner = manager.clone();
    manager.autorelease(Ref::new(on_drop(move || {
        let report = inner.shutdown(Duration::ZERO);
        let released = report.map_or_else(|report| report.released, |report| report.released);
        assert_eq!(released, 1);
    })));
    assert_eq!(manager.drain_root(), 1);
    assert_eq!(log.ids(), [0]);
}

#[test]
fn destructor_drops_the_last_handle_of_its_manager() {
    let log = Log::new();
    let manager = PoolManager::new();
    let handle = Rc::new(RefCell::new(Some(manager.clone())));
    manager.autorelease(Ref::new(log.probe(9)));
    let mut pool = manager.pool();
    pool.create(log.probe(0));
    drop(manager);
    let in_entry = handle.clone();
    pool.create(on_drop(move || {
        drop(in_entry.take());
        // The first use of another manager frees what abandoned ones left.
        let other = PoolManager::new();
        other.autorelease(Ref::new(log.probe(1)));
        assert_eq!(other.drain_root(), 1);
    }));
    assert_eq!(pool.drain(), 2);
    pool.create(log.probe(2));
    assert_eq!(log.ids(), [1, 0], "an open pool stays valid");
    drop(pool);
    let _first_use = PoolManager::new().pool();
    assert_eq!(log.ids(), [1, 0, 2, 9]);
}

#[test]
fn formatter_of_a_dump_that_autoreleases_into_the_pool() {
    use std::fmt::Write;
    struct Feeding(u32);
    impl Write for Feeding {
        fn write_str(&mut self, _: &str) -> std::fmt::Result {
            self.0 += 1;
            autorelease(Ref::new(self.0));
            Ok(())
        }
    }
    let pool = AutoreleasePool::new();
    (0..10).for_each(|i| _ = pool.create(i));
    let mut out = Feeding(0);
    write!(out, "{}", pool.dump()).unwrap();
    assert_eq!(pool.len() as u32, 10 + out.0);
}

#[test]
fn value_that_is_made_by_create_uses_the_pool_itself() {
    let log = Log::new();
    autoreleasepool(|pool| {
        let outer = pool
            .try_create(|| {
                let inner = pool.create(log.probe(0));
                Ok::<_, ()>((log.probe(1), releasepool::PoolRef::retain(inner)))
            })
            .unwrap();
        assert_eq!(outer.1.id, 0);
    });
    assert_eq!(log.ids(), [1, 0]);
}
