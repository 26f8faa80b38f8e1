//! `shutdown` where what it asks for goes on deep down, or feeds what was drained before.

use crate::shutdown::{Crew, LONG, passed};
use crate::support::{Log, child};
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
