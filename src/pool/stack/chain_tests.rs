//! Tests which pool is current, by comparison with a naive model, and how many frames a walk
//! visits.

use super::chain::steps::steps_of;
use super::manager_shared::ManagerShared;
use super::pool_stack::PoolState;
use crate::pool::api::guard::AutoreleasePool;
use crate::pool::api::scope::autoreleasepool;
use crate::pool::api::token;
use crate::pool::api::token::PoolToken;
use crate::pool::drain::this_thread;
use crate::sync::thread::spawn;
use std::cell::{Cell, RefCell};
use std::mem::{replace, swap};
use std::ptr;
use std::rc::Rc;

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

/// A frame of the naive model.
#[derive(Clone, Copy)]
struct Naive {
    id: *const PoolState,
    barrier: bool,
    /// True if the pool `id` is current while this is the topmost frame with a pool.
    pool: bool,
}

#[derive(Default)]
struct World {
    /// The whole chain except the root. Every search walks all of it.
    chain: RefCell<Vec<Naive>>,
    /// Pools of scopes that have not ended and whose guards have not been dropped.
    scopes: RefCell<Vec<*const PoolState>>,
    pools: RefCell<Vec<AutoreleasePool>>,
    forgotten: RefCell<Vec<AutoreleasePool>>,
    tokens: RefCell<Vec<(PoolToken, *const PoolState)>>,
    random: Cell<u64>,
}

impl World {
    /// Returns a random number below `n`.
    fn random(&self, n: usize) -> usize {
        let next = self.random.get().wrapping_mul(6_364_136_223_846_793_005);
        self.random
            .set(next.wrapping_add(1_442_695_040_888_963_407));
        (self.random.get() >> 33) as usize % n
    }

    fn opened(&self, id: *const PoolState, barrier: bool) {
        let pool = true;
        self.chain.borrow_mut().push(Naive { id, barrier, pool });
    }

    /// Removes the frames above the last frame of `id` up to the next barrier. Removes that frame,
    /// too, unless `stays` is set: it then remains as a barrier without a pool.
    fn closed(&self, id: *const PoolState, stays: bool) {
        let mut chain = self.chain.borrow_mut();
        let Some(at) = chain.iter().rposition(|frame| ptr::eq(frame.id, id)) else {
            return;
        };
        let above = &chain[at + 1..];
        let barrier = above.iter().position(|frame| frame.barrier);
        let end = barrier.map_or(chain.len(), |n| at + 1 + n);
        chain.drain(at + usize::from(stays)..end);
        if stays {
            chain[at].pool = false;
        }
    }

    fn check(&self) {
        let chain = self.chain.borrow();
        let root = this_thread::with(|pools| ptr::from_ref(&pools.unwrap().first.root));
        let top = chain.iter().rfind(|frame| frame.pool);
        assert_eq!(current(), top.map_or(root, |frame| frame.id));
    }

    fn open(&self) -> AutoreleasePool {
        let pool = AutoreleasePool::new();
        self.opened(pool.state(), false);
        pool
    }

    /// Sometimes adds an object to `pool` whose destructor runs a random program.
    fn fill(self: &Rc<Self>, pool: &AutoreleasePool, depth: usize) {
        struct Program(Rc<World>, usize);
        impl Drop for Program {
            fn drop(&mut self) {
                self.0.run(self.1);
            }
        }
        if depth > 0 && self.random(3) == 0 {
            pool.create(Program(self.clone(), depth - 1));
        }
    }

    fn drain(&self, pool: &mut AutoreleasePool) {
        let id = pool.state();
        self.opened(id, true);
        pool.drain();
        self.closed(pool.state(), false);
    }

    fn close(&self, mut pool: AutoreleasePool) {
        self.drain(&mut pool);
        let id = ptr::from_ref(pool.state());
        let is_scope = self.scopes.borrow().contains(&id);
        self.scopes
            .borrow_mut()
            .retain(|scope| !ptr::eq(*scope, id));
        drop(pool);
        self.closed(id, is_scope);
    }

    fn any_pool(&self) -> Option<AutoreleasePool> {
        let len = self.pools.borrow().len();
        (len > 0).then(|| self.pools.borrow_mut().swap_remove(self.random(len)))
    }

    fn keep(&self, pool: AutoreleasePool) {
        self.pools.borrow_mut().push(pool);
    }

    /// Records the end of a scope, whose guard may have been dropped already.
    fn scope_ended(&self, id: *const PoolState) {
        self.scopes
            .borrow_mut()
            .retain(|scope| !ptr::eq(*scope, id));
        self.closed(id, false);
    }

    fn scope(self: &Rc<Self>, depth: usize) {
        let (mut own, mut last) = (ptr::null(), ptr::null());
        autoreleasepool(|pool| {
            own = ptr::from_ref(pool.state());
            self.opened(own, true);
            self.scopes.borrow_mut().push(own);
            self.run(depth - 1);
            if let Some(mut other) = self.any_pool() {
                if self.random(2) == 0 {
                    swap(pool, &mut other);
                    self.check();
                }
                if self.random(2) == 0 {
                    self.close(other);
                } else {
                    self.keep(other);
                }
                self.check();
                self.run(depth - 1);
            }
            // Drains now, so that the scope's end, which the model does not see, runs no program.
            self.drain(pool);
            if !ptr::eq(pool.state(), own) {
                let other = replace(pool, self.open());
                self.close(other);
            }
            last = ptr::from_ref(pool.state());
        });
        if !ptr::eq(last, own) {
            self.closed(last, false);
        }
        self.scope_ended(own);
    }

    fn step(self: &Rc<Self>, depth: usize) {
        match self.random(10) {
            0..3 => {
                let pool = self.open();
                self.fill(&pool, depth);
                self.keep(pool);
            }
            3..5 => self
                .any_pool()
                .into_iter()
                .for_each(|pool| self.close(pool)),
            5 => {
                if let Some(mut pool) = self.any_pool() {
                    self.drain(&mut pool);
                    self.keep(pool);
                }
            }
            // A forgotten pool stays open, and stays in the chain unless a pool below it is closed.
            6 => self.forgotten.borrow_mut().extend(self.any_pool()),
            7 => {
                let token = token::push(&ManagerShared::global());
                self.opened(current(), false);
                self.tokens.borrow_mut().push((token, current()));
            }
            8 => {
                let last = self.tokens.borrow_mut().pop();
                if let Some((token, id)) = last {
                    assert_eq!(token::pop(&ManagerShared::global(), token), Ok(0));
                    self.closed(id, false);
                }
            }
            _ => {
                if depth > 0 {
                    self.scope(depth);
                }
            }
        }
    }

    fn run(self: &Rc<Self>, depth: usize) {
        for _ in 0..self.random(12) {
            self.step(depth);
            self.check();
        }
    }
}

#[test]
fn random_programs_agree_with_the_naive_chain() {
    const PROGRAMS: u64 = if cfg!(miri) { 4 } else { 3_000 };
    for seed in 0..PROGRAMS {
        let program = move || {
            let world = Rc::new(World::default());
            world.random.set(seed);
            world.run(4);
            loop {
                let pool = world.any_pool();
                let Some(pool) = pool.or_else(|| world.forgotten.borrow_mut().pop()) else {
                    break;
                };
                world.close(pool);
                world.check();
            }
        };
        spawn("program", program).unwrap().join().unwrap();
    }
}
