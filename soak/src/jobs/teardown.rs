//! Destructors of thread-locals that use the library, before and after it has left the thread.

use crate::bomb;
use crate::ledger::{LEDGER, fail, same};
use crate::payload::{Bomb, Busy, Chain, Item, Stay, Thing};
use crate::stage::{Stage, post};
use crate::worker::Worker;
use releasepool::{
    AutoreleasePool, PoolManager, PoolRef, Ref, ThreadHandle, autorelease, autoreleasepool, unsize,
};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

type Work = Box<dyn FnOnce()>;

/// Does its work when it is destroyed with the thread. A panic that got out of that would end the
/// process.
struct Luggage(RefCell<Vec<Work>>);

impl Drop for Luggage {
    fn drop(&mut self) {
        for work in self.0.take() {
            LEDGER.teardowns.add(1);
            if catch_unwind(AssertUnwindSafe(work)).is_err() {
                fail("a panic while thread-locals are torn down");
            }
        }
    }
}

thread_local! {
    static LUGGAGE: Luggage = const { Luggage(RefCell::new(Vec::new())) };
    /// These two are dropped as they are.
    static THINGS: RefCell<Vec<Ref<dyn Thing>>> = const { RefCell::new(Vec::new()) };
    static POOLS: RefCell<Vec<AutoreleasePool>> = const { RefCell::new(Vec::new()) };
}

/// Puts work and objects into this thread's thread-locals, for the time of their destruction.
pub fn pack(worker: &mut Worker) {
    for _ in 0..worker.rng.u64(1..4) {
        let work: Work = match worker.rng.u64(0..8) {
            0 => Box::new(pools),
            1 => Box::new(implicit),
            2 => Box::new(tokens),
            3 => {
                let stage = worker.stage.clone();
                Box::new(move || hand_over(&stage))
            }
            4 => {
                let to = worker.stage.some_handle(&mut worker.rng);
                Box::new(move || mail(to))
            }
            5 => {
                let id = worker.stage.number();
                Box::new(move || bombs(id))
            }
            6 => {
                let chain = Chain::new(worker.rng.u64(1..2_000));
                Box::new(move || drop(chain))
            }
            _ => {
                keep();
                continue;
            }
        };
        LUGGAGE.with(|luggage| luggage.0.borrow_mut().push(work));
    }
}

/// Leaves references and an open pool in thread-locals.
fn keep() {
    THINGS.with_borrow_mut(|things| {
        things.push(unsize!(Ref::new(Item::new(1)) => dyn Thing));
    });
    // This may be the thread's first use of the library, or a later one.
    let pool = AutoreleasePool::named("thread-local");
    pool.create(Stay::new()).mark.look();
    pool.create(Busy::new(2));
    POOLS.with_borrow_mut(|pools| pools.push(pool));
}

fn pools() {
    let mut outer = AutoreleasePool::named("teardown");
    let weak = PoolRef::downgrade(outer.create(Item::new(1)));
    autoreleasepool(|pool| {
        (0..300).for_each(|n| pool.create(Item::new(n)).look());
        pool.create(Busy::new(2));
    });
    if outer.drain() == 0 || weak.upgrade().is_some() {
        fail("a pool in a teardown was not drained");
    }
}

fn implicit() {
    autorelease(Ref::new(Item::new(1)));
    autorelease(Ref::new(Stay::new()));
    PoolManager::new().autorelease(Ref::new(Busy::new(3)));
}

fn tokens() {
    let manager = PoolManager::global();
    let token = manager.push();
    autorelease(Ref::new(Item::new(2)));
    if let Err(error) = manager.pop(token) {
        fail(format!("a token in a teardown: {error}"));
    }
    let _ = manager.push();
    autorelease(Ref::new(Item::new(3)));
}

fn hand_over(stage: &Arc<Stage>) {
    stage.show(unsize!(Ref::new(Item::new(4)) => dyn Thing));
    stage.ui.release(Ref::new(Item::new(5)));
    if let Some(me) = PoolManager::global().current_thread() {
        // To itself, as late as possible.
        me.release(Ref::new(Item::new(6)));
        post(&me, || drop(Ref::new(Item::new(7))));
    }
}

fn mail(to: Option<ThreadHandle>) {
    if let Some(to) = to {
        to.release(Ref::new(Item::new(8)));
        let item = Ref::new(Item::new(9));
        post(&to, move || item.look());
    }
}

fn bombs(id: u64) {
    if !bomb::may(1) {
        return;
    }
    let mut pool = AutoreleasePool::new();
    pool.create(Item::new(1)).look();
    pool.create(Bomb::new(id));
    let got_out = bomb::defuse(|| pool.drain());
    same("a panic in a teardown", got_out, Err(Some(id)));
}
