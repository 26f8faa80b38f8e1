//! Several pools on one thread: which one is current, and which drain releases what.

use crate::support::{Log, Probe, figures, global, sized};
use releasepool::{AutoreleasePool, PoolManager, Ref, autorelease, autoreleasepool};
use std::collections::VecDeque;

/// Returns the number of open pools of the calling thread.
pub fn open_pools() -> usize {
    figures(global()).open_pools
}

#[test]
fn a_name_is_gone_with_its_pool() {
    drop(AutoreleasePool::named("empty"));
    let pool = AutoreleasePool::new();
    assert_eq!(pool.name(), "unnamed");
    drop(pool);
    let pool = AutoreleasePool::named("used");
    pool.create(());
    drop(pool);
    assert_eq!(AutoreleasePool::new().name(), "unnamed");
}

#[test]
fn pools_of_managers_one_after_the_other() {
    let log = Log::new();
    for id in 0..8 {
        // Frees the previous manager's stack, so that this one may reuse its memory.
        let manager = PoolManager::new();
        let pool = manager.pool();
        if id % 2 == 0 {
            manager.pool().create(());
        }
        pool.create(log.probe(id));
        drop(pool);
        assert_eq!(log.count(), id as usize + 1);
    }
}

/// A number of pools so large that the tests would take minutes if closing one took time for each
/// open pool.
const CROWD: usize = sized(50, 30_000, 100_000);

#[test]
fn a_crowd_of_pools_may_be_closed_in_any_order() {
    // Stays below the others all the time; no walk visits these pools.
    let below: Vec<_> = (0..CROWD).map(|_| AutoreleasePool::new()).collect();
    for step in [1, 2, 7, CROWD / 2 - 1, CROWD - 1] {
        let mut pools: Vec<_> = (0..CROWD).map(|_| Some(AutoreleasePool::new())).collect();
        for first in 0..step.min(CROWD) {
            pools[first..]
                .iter_mut()
                .step_by(step)
                .for_each(|pool| *pool = None);
        }
    }
    autorelease(Ref::new(0));
    assert_eq!(below.last().unwrap().len(), 1);
    drop(below);
    assert_eq!(open_pools(), 0);
}

#[test]
fn objects_that_own_pools_die_in_either_order_below_and_above_others() {
    const OWNERS: usize = CROWD / 5;
    struct Owner {
        pool: AutoreleasePool,
        _probe: Probe,
    }
    let log = Log::new();
    let mut drained = AutoreleasePool::new();
    let below: Vec<_> = (0..CROWD).map(|_| AutoreleasePool::new()).collect();
    let owner = |id| Owner {
        pool: AutoreleasePool::new(),
        _probe: log.probe(id as u32),
    };
    for oldest_first in [false, true] {
        let mut owners: Vec<_> = (0..OWNERS).map(owner).collect();
        if oldest_first {
            owners.reverse();
        }
        for owner in owners {
            owner.pool.create(());
            drained.create(owner);
        }
        // The pools of a scope stay current, whatever is closed below it.
        autoreleasepool(|scope| {
            let above: Vec<_> = (0..OWNERS).map(|_| AutoreleasePool::new()).collect();
            assert_eq!(drained.drain(), OWNERS);
            autorelease(Ref::new(0));
            assert_eq!((above[OWNERS - 1].len(), scope.len()), (1, 0));
        });
        autorelease(Ref::new(0));
    }
    assert_eq!((below[CROWD - 1].len(), log.count()), (2, 2 * OWNERS));
    assert!(log.ids()[..OWNERS].iter().rev().eq(&log.ids()[OWNERS..]));
}

/// Runs `turn` many times with an object that it autoreleases; nothing may go to the root pool.
fn turns(what: &str, mut turn: impl FnMut()) {
    for _ in 0..sized(5, 500, 500) {
        autorelease(Ref::new(0));
        turn();
    }
    assert_eq!(global().drain_root(), 0, "{what}");
}

#[test]
fn a_pool_that_takes_the_place_of_another_one_is_current() {
    let mut pool = AutoreleasePool::new();
    turns("assigned", || pool = AutoreleasePool::named("b"));
    turns("mem::take", || drop(std::mem::take(&mut pool)));
    let mut queue = VecDeque::from([(); 5].map(|()| AutoreleasePool::new()));
    turns("lives that overlap", || {
        queue.pop_front();
        queue.push_back(AutoreleasePool::new());
    });
    drop(queue);
    turns("in a token's scope", || {
        let token = global().push();
        pool = AutoreleasePool::new();
        autorelease(Ref::new(0));
        assert_eq!((pool.len(), global().pop(token)), (1, Ok(0)));
    });
    turns("in a closure", || {
        autoreleasepool(|_| pool = AutoreleasePool::new());
    });
    assert!(pool.len() <= 1);
}
