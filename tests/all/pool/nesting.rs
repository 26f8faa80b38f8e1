//! Several pools on one thread: which one is current, and which drain releases what.

use crate::pool::current::orders;
use crate::support::{Log, Probe, figures, fresh, global, with_log};
use releasepool::{AutoreleasePool, PoolManager, Ref, autorelease, autoreleasepool};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// Returns the number of open pools of the calling thread.
pub fn open_pools() -> usize {
    figures(global()).open_pools
}

#[test]
fn a_name_is_gone_with_its_pool() {
    fresh(|| {
        drop(AutoreleasePool::named("empty"));
        let pool = AutoreleasePool::new();
        assert_eq!(pool.name(), "unnamed");
        drop(pool);
        let pool = AutoreleasePool::named("used");
        pool.create(());
        drop(pool);
        assert_eq!(AutoreleasePool::new().name(), "unnamed");
    });
}

#[test]
fn the_innermost_open_pool_is_current() {
    let outer = AutoreleasePool::new();
    autorelease(Ref::new(0));
    {
        let inner = AutoreleasePool::new();
        autorelease(Ref::new(1));
        Ref::autorelease(Ref::new(2));
        global().autorelease(Ref::new(3));
        assert_eq!((outer.len(), inner.len()), (1, 3));
    }
    autorelease(Ref::new(4));
    assert_eq!(outer.len(), 2);
}

#[test]
fn every_order_of_closing_drains_each_pool_once() {
    const POOLS: usize = if cfg!(miri) { 3 } else { 4 };
    for order in orders(POOLS) {
        with_log(|log| {
            let mut pools: Vec<_> = (0..POOLS).map(|_| Some(AutoreleasePool::new())).collect();
            for (id, pool) in pools.iter().enumerate() {
                pool.as_ref().unwrap().create(log.probe(id as u32));
            }
            for &i in &order {
                pools[i] = None;
                assert_eq!(
                    log.ids().last().copied(),
                    Some(i as u32),
                    "in order {order:?}"
                );
            }
            assert_eq!(log.count(), POOLS);
            autorelease(Ref::new(0));
            assert_eq!(
                global().drain_root(),
                1,
                "after {order:?} no pool is current"
            );
        });
    }
}

#[test]
fn pool_dropped_two_scopes_further_in_leaves_both_scopes_alone() {
    fresh(|| {
        let mut outer = Some(AutoreleasePool::new());
        autoreleasepool(|middle| {
            let inner = autoreleasepool(|inner| {
                outer = None;
                autorelease(Ref::new(0));
                inner.len()
            });
            autorelease(Ref::new(0));
            assert_eq!((inner, middle.len()), (1, 1));
        });
        autorelease(Ref::new(0));
        assert_eq!(global().drain_root(), 1, "the outer one is gone");
    });
}

#[test]
fn autoreleasepools_nest_like_a_stack() {
    with_log(|log| {
        fn level(depth: u32, log: Log) {
            autoreleasepool(|pool| {
                autorelease(Ref::new(log.probe(depth)));
                if depth > 0 {
                    level(depth - 1, log);
                }
                assert_eq!(pool.len(), 1);
            });
        }
        level(100, log);
        assert!(log.ids().into_iter().eq(0..=100), "innermost first");
        assert_eq!(global().drain_root(), 0);
    });
}

#[test]
fn pools_of_managers_one_after_the_other() {
    with_log(|log| {
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
    });
}

/// A number of pools so large that the tests would take minutes if closing one took time for each
/// open pool.
const CROWD: usize = if cfg!(miri) { 50 } else { 100_000 };

#[test]
fn a_hundred_thousand_pools_may_be_closed_in_any_order() {
    fresh(|| {
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
    });
}

#[test]
fn objects_that_own_pools_die_in_either_order_below_and_above_others() {
    const OWNERS: usize = CROWD / 5;
    struct Owner {
        pool: AutoreleasePool,
        _probe: Probe,
    }
    with_log(|log| {
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
    });
}

/// Opens a pool, is suspended while it is open, resumes and closes it, as coroutines do.
async fn coroutine(log: Log, id: u32) {
    let pool = AutoreleasePool::new();
    let lent = pool.create(log.probe(id));
    for _ in 0..3 {
        yield_now().await;
        assert_eq!(lent.id, id);
        pool.create(log.probe(id));
    }
}

async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|_| {
        if std::mem::replace(&mut yielded, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

fn poll(future: &mut Pin<&mut impl Future<Output = ()>>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    future.as_mut().poll(&mut context).is_ready()
}

#[test]
fn fiber_switch_while_a_pool_is_open_keeps_guard_pools_correct() {
    with_log(|log| {
        {
            let mut a = pin!(coroutine(log, 1));
            let mut b = pin!(coroutine(log, 2));
            let mut abandoned = pin!(coroutine(log, 3));
            // Opened in the order a, b; closed in the order a, b, too: no stack.
            assert!(!poll(&mut a) && !poll(&mut b) && !poll(&mut abandoned));
            for _ in 0..2 {
                assert!(!poll(&mut a) && !poll(&mut b));
            }
            assert!(poll(&mut a));
            assert_eq!(log.ids(), [1, 1, 1, 1], "only its own");
            assert!(poll(&mut b));
            assert_eq!(log.ids()[4..], [2, 2, 2, 2]);
        }
        assert_eq!(log.ids()[8..], [3], "a dropped future drops its pool");
    });
}
