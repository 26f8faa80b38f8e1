//! Tests how many frames a walk of the chain visits.

use super::chain::steps::steps_of;
use super::manager_shared::ManagerShared;
use super::pool_stack::PoolState;
use crate::pool::api::guard::AutoreleasePool;
use crate::pool::api::scope::autoreleasepool;
use crate::pool::api::token;
use crate::pool::drain::this_thread;
use std::panic::Location;
use std::ptr;

fn open(n: usize) -> Vec<AutoreleasePool> {
    (0..n).map(|_| AutoreleasePool::new()).collect()
}

fn current() -> *const PoolState {
    this_thread::with(|pools| ptr::from_ref(pools.unwrap().first.current_pool()))
}

const MANY: usize = if cfg!(miri) { 300 } else { 20_000 };

#[test]
fn pools_that_have_left_the_chain_are_closed_without_a_walk() {
    let below = open(MANY);
    let above = open(MANY);
    let last = ptr::from_ref(below.last().unwrap().state());
    // Closing the first pool takes the others out of the chain.
    let steps = steps_of(|| drop(above));
    assert!(steps <= 2 * MANY, "{steps} steps");
    assert_eq!(current(), last);
    let steps = steps_of(|| below.into_iter().rev().for_each(drop));
    assert_eq!(steps, 0, "the topmost each time");
}

/// Puts pools into objects that `pool` owns, and drains `pool`: the last of the owned pools is closed
/// first. Returns the number of frames visited.
fn drain_owners(pool: &mut AutoreleasePool, owned: Vec<AutoreleasePool>) -> usize {
    for owned in owned {
        pool.create(owned);
    }
    steps_of(|| {
        pool.drain();
    })
}

#[test]
fn objects_that_own_pools_are_released_in_linear_time_in_either_order() {
    let mut pool = AutoreleasePool::new();
    let below = open(MANY);
    let mut owned = open(MANY);
    let steps = drain_owners(&mut pool, owned);
    assert!(steps <= 3 * MANY, "newest first: {steps} steps");
    owned = open(MANY);
    owned.reverse();
    let steps = drain_owners(&mut pool, owned);
    assert!(steps <= 3 * MANY, "oldest first: {steps} steps");
    assert_eq!(current(), ptr::from_ref(below.last().unwrap().state()));
}

#[test]
fn pools_below_a_barrier_are_closed_in_linear_time_whatever_is_above() {
    let mut below = open(MANY);
    autoreleasepool(|scope| {
        let mut above = open(MANY);
        let steps = steps_of(|| {
            while let Some(pool) = below.pop() {
                drop(pool);
                // Closes some pools that were visited, and opens others.
                above.truncate(MANY - 2);
                above.extend(open(2));
            }
        });
        assert!(steps <= 12 * MANY, "{steps} steps");
        above.into_iter().rev().for_each(drop);
        assert_eq!(current(), ptr::from_ref(scope.state()));
    });
}

#[test]
fn a_scope_leaves_pools_in_linear_time() {
    let mut left = Vec::new();
    let steps = steps_of(|| {
        autoreleasepool(|_| {
            for _ in 0..MANY {
                left.extend(open(2));
                let _ = token::push(&ManagerShared::global(), Location::caller());
            }
        });
    });
    assert!(steps <= 7 * MANY, "{steps} steps");
    assert_eq!(steps_of(|| drop(left)), 0, "none is in the chain");
}
