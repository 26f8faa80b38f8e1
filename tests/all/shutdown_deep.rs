//! `shutdown` where what it asks for goes on deep down, or feeds what was drained before.

use crate::budgets::deep_down;
use crate::shutdown::{Crew, LONG, passed};
use crate::support::{Log, child, on_drop};
use releasepool::{AutoreleasePool, Budget, PoolManager, Ref, autorelease};
use std::time::Duration;

/// A chain that autoreleases a probe for each of its links.
struct Shedding(Option<Ref<Shedding>>, Log);

impl Drop for Shedding {
    fn drop(&mut self) {
        drop(self.0.take());
        autorelease(Ref::new(self.1.probe(0)));
    }
}

fn shedding(log: &Log, links: u32) -> Ref<Shedding> {
    let link = |next, _| Some(Ref::new(Shedding(next, log.clone())));
    (0..links).fold(None, link).unwrap()
}

/// Fills the root pool or the backlog of a thread by `fill`, asks it, and has it close a pool.
fn asked_for_a_deep_chain(fill: fn(Ref<Shedding>)) {
    const LINKS: u32 = 3_000;
    let log = Log::new();
    let worker = Crew::new("worker");
    let chain_log = log.clone();
    worker.run(move || fill(shedding(&chain_log, LINKS)));
    let global = PoolManager::global();
    global.shutdown(Duration::ZERO).unwrap_err();
    worker.run(|| drop(AutoreleasePool::new()));
    assert_eq!(log.count(), LINKS as usize);
    global.shutdown(Duration::ZERO).unwrap();
    worker.dismiss();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_asks_for_a_root_pool_and_what_dies_deep_down_loses_nothing() {
    passed(&child!(|| asked_for_a_deep_chain(autorelease)));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_asks_for_a_backlog_and_what_dies_deep_down_loses_nothing() {
    passed(&child!(|| asked_for_a_deep_chain(|chain| {
        let mut pool = AutoreleasePool::new();
        pool.autorelease(chain);
        pool.drain_within(Budget::Count(0));
    })));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_releases_what_the_backlog_autoreleases() {
    passed(&child!(|| {
        let log = Log::new();
        let mut pool = AutoreleasePool::new();
        pool.autorelease(shedding(&log, 1));
        pool.drain_within(Budget::Count(0));
        drop(pool);
        let report = PoolManager::global().shutdown(LONG).unwrap();
        assert_eq!((report.released, log.count()), (2, 1));
    }));
}

/// Has the thread asked for `root`, in its root pool, and do it when it closes a pool.
fn asked_for(root: impl FnOnce(&Log) + Send + 'static) -> usize {
    let log = Log::new();
    let worker = Crew::new("worker");
    let inner = log.clone();
    worker.run(move || root(&inner));
    let global = PoolManager::global();
    global.shutdown(Duration::ZERO).unwrap_err();
    worker.run(|| drop(AutoreleasePool::new()));
    global.shutdown(Duration::ZERO).unwrap();
    worker.dismiss();
    log.count()
}

/// Leaves a probe in the backlog.
fn leave(log: &Log) {
    let mut pool = AutoreleasePool::new();
    pool.create(log.probe(0));
    pool.drain_within(Budget::Count(0));
}

/// Autoreleases what `f` makes, when the outermost destructor is done.
fn deep<T: 'static>(f: impl FnOnce() -> T + 'static) {
    let inner = Ref::new(on_drop(move || autorelease(Ref::new(f()))));
    deep_down(64, || drop(inner));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_asks_for_what_destructors_leave_for_later() {
    passed(&child!(|| {
        let count = asked_for(|log| {
            let log = log.clone();
            autorelease(Ref::new(on_drop(move || leave(&log))));
        });
        assert_eq!(count, 1);
        // And where they die in another pool, deep down.
        let count = asked_for(|log| {
            let log = log.clone();
            autorelease(Ref::new(on_drop(move || {
                deep(|| on_drop(move || leave(&log)));
            })));
        });
        assert_eq!(count, 1);
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn shutdown_asks_for_what_is_fed_for_long() {
    /// Each is autoreleased by the end of the one before.
    struct Link(u32, Log);
    impl Drop for Link {
        fn drop(&mut self) {
            self.1.note(self.0);
            let (n, log) = (self.0, self.1.clone());
            if n > 0 {
                deep(move || Link(n - 1, log));
            }
        }
    }
    passed(&child!(|| {
        let count = asked_for(|log| autorelease(Ref::new(Link(2_999, log.clone()))));
        assert_eq!(count, 3_000);
    }));
}
