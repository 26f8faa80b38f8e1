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
use std::panic::Location;
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

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Guard,
    Token,
    Scope,
    Drain,
}

/// A frame of the naive model.
#[derive(Clone, Copy)]
struct Naive {
    id: *const PoolState,
    kind: Kind,
    /// True if the pool `id` is current while this is the topmost frame with a pool.
    pool: bool,
    /// True if the pool that was current before a scope or token has been closed.
    former_closed: bool,
}

/// The whole chain except the root. Every search walks all of it.
#[derive(Default)]
struct Chain(Vec<Naive>);

impl Chain {
    fn position(&self, id: *const PoolState, is_drain: bool) -> Option<usize> {
        let is = |frame: &Naive| ptr::eq(frame.id, id) && (frame.kind == Kind::Drain) == is_drain;
        self.0.iter().rposition(is)
    }

    fn remove(&mut self, at: usize) {
        self.0.remove(at);
        if let Some(above) = self.0.get_mut(at) {
            above.former_closed |= above.pool && matches!(above.kind, Kind::Scope | Kind::Token);
        }
    }

    /// Removes guards' frames above `at`; returns whether a token's frame is next.
    fn cut(&mut self, at: usize) -> bool {
        let stay = self.0[at].pool && self.0[at].former_closed;
        let mut next = at + 1;
        while let Some(frame) = self.0.get(next) {
            match frame.kind {
                Kind::Guard if stay => next += 1,
                Kind::Guard => self.remove(next),
                kind => return kind == Kind::Token,
            }
        }
        false
    }

    fn pop_token(&mut self, at: usize) {
        self.cut(at);
        self.remove(at);
    }

    /// Ends the scope whose frame is at `at`; the frame stays.
    fn leave(&mut self, at: usize) {
        while self.cut(at) {
            let newest = self.0.iter().rposition(|frame| frame.kind == Kind::Token);
            self.pop_token(newest.unwrap());
        }
    }
}

#[derive(Default)]
struct World {
    chain: RefCell<Chain>,
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

    fn opened(&self, id: *const PoolState, kind: Kind) {
        self.chain.borrow_mut().0.push(Naive {
            id,
            kind,
            pool: true,
            former_closed: false,
        });
    }

    /// Ends a scope, or a drain, of the pool `id`.
    fn left(&self, id: *const PoolState, is_drain: bool) {
        let mut chain = self.chain.borrow_mut();
        if let Some(at) = chain.position(id, is_drain) {
            chain.leave(at);
        }
        let is_open = |token: &(_, *const PoolState)| chain.position(token.1, false).is_some();
        self.tokens.borrow_mut().retain(is_open);
    }

    /// Removes the frame of the pool `id`; it stays as a barrier without a pool if its scope goes on.
    fn closed(&self, id: *const PoolState, scope_goes_on: bool) {
        let mut chain = self.chain.borrow_mut();
        match chain.position(id, false) {
            Some(at) if scope_goes_on => chain.0[at].pool = false,
            Some(at) => chain.remove(at),
            None => {}
        }
    }

    fn check(&self) {
        let chain = self.chain.borrow();
        let root = this_thread::with(|pools| ptr::from_ref(&pools.unwrap().first.root));
        let top = chain.0.iter().rfind(|frame| frame.pool);
        assert_eq!(current(), top.map_or(root, |frame| frame.id));
    }

    fn open(&self) -> AutoreleasePool {
        let pool = AutoreleasePool::new();
        self.opened(pool.state(), Kind::Guard);
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
        let id = ptr::from_ref(pool.state());
        self.opened(id, Kind::Drain);
        pool.drain();
        self.left(id, true);
        let mut chain = self.chain.borrow_mut();
        let at = chain.position(id, true).unwrap();
        chain.remove(at);
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

    fn scope(self: &Rc<Self>, depth: usize) {
        let (mut own, mut last) = (ptr::null(), ptr::null());
        autoreleasepool(|pool| {
            own = ptr::from_ref(pool.state());
            self.opened(own, Kind::Scope);
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
        self.left(own, false);
        if !ptr::eq(last, own) {
            self.closed(last, false);
        }
        self.closed(own, false);
        self.scopes
            .borrow_mut()
            .retain(|scope| !ptr::eq(*scope, own));
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
            // A forgotten pool stays open, and stays in the chain until the scope around it ends.
            6 => self.forgotten.borrow_mut().extend(self.any_pool()),
            7 => {
                let token = token::push(&ManagerShared::global(), Location::caller());
                self.opened(current(), Kind::Token);
                self.tokens.borrow_mut().push((token, current()));
            }
            8 => {
                let last = self.tokens.borrow_mut().pop();
                if let Some((token, id)) = last {
                    assert_eq!(token::pop(&ManagerShared::global(), token), Ok(0));
                    let mut chain = self.chain.borrow_mut();
                    let at = chain.position(id, false).unwrap();
                    chain.pop_token(at);
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
