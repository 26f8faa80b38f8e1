//! The jobs of workers, chosen at random.
//!
//! * [`pools`]: pools that are nested, named, closed out of order, implicit, or of another manager
//! * [`objects`]: strong and weak references, trees, chains
//! * [`mail`]: releases and closures for other threads, including ended ones; inbox hooks
//! * [`sharing`]: hand-over pools, thread-bound values, slots, hot objects, drains within a budget
//! * [`later`]: values that a reclaimer destroys
//! * [`foreign`]: foreign objects in pools, and given up to other workers
//! * [`trouble`]: destructors that panic or use pools
//! * [`tokens`]: tokens and their misuse
//! * [`teardown`]: what destructors of thread-locals do

mod foreign;
mod later;
mod mail;
mod objects;
mod pools;
mod sharing;
mod teardown;
mod tokens;
mod trouble;

use crate::payload::{Busy, Item};
use crate::worker::Worker;
use releasepool::{PoolManager, Ref, autorelease};
use std::time::Instant;

type Job = fn(&mut Worker);

const JOBS: &[Job] = &[
    pools::nested,
    pools::nested,
    pools::out_of_order,
    pools::implicit,
    pools::own_manager,
    pools::boundary,
    pools::lent_to_threads,
    objects::swap,
    objects::upgrade,
    objects::exclusive,
    objects::slices,
    objects::chain,
    mail::show,
    mail::show,
    mail::release_to_ui,
    mail::to_some_thread,
    mail::look_up,
    mail::hook,
    sharing::handoff,
    sharing::budget,
    sharing::home,
    sharing::made_at_home,
    sharing::slot,
    sharing::cached,
    sharing::hot,
    later::process,
    later::own,
    foreign::adopt,
    foreign::give_up,
    foreign::release,
    trouble::bombs,
    trouble::busy,
    tokens::nested,
    tokens::popped_twice,
    tokens::popped_elsewhere,
    tokens::popped_by_another_manager,
    tokens::popped_by_its_own_drain,
];

/// Lets a worker live: it does random jobs until its end has come.
pub fn live(mut worker: Worker) {
    // Some workers do not use the library before their thread-locals are destroyed.
    let abstains = worker.once_in(50);
    // The newest thread-local is destroyed first. One that exists before the thread's first use
    // of the library is destroyed after the library has left the thread.
    if worker.once_in(2) {
        teardown::pack(&mut worker);
    }
    if !abstains {
        if let Some(me) = PoolManager::global().current_thread() {
            worker.stage.put_handle(me);
        }
        let end = Instant::now() + worker.lifetime();
        while Instant::now() < end && !worker.stage.is_stopped() {
            any(&mut worker);
        }
    }
    if worker.once_in(2) {
        teardown::pack(&mut worker);
    }
    if !abstains {
        foreign::close(&mut worker);
        leave(&mut worker);
    }
}

/// Does a random job.
fn any(worker: &mut Worker) {
    let job = JOBS[worker.rng.usize(..JOBS.len())];
    job(worker);
}

/// A worker's last job: leaves something for its thread's end.
fn leave(worker: &mut Worker) {
    let manager = PoolManager::global();
    match worker.rng.u64(0..10) {
        0..3 => {
            // The tokens are not popped: the thread's end drains the pools.
            for n in 0..3 {
                let _ = manager.push();
                autorelease(Ref::new(Item::new(n)));
            }
        }
        3..6 => {
            autorelease(Ref::new(Item::new(0)));
            autorelease(Ref::new(Busy::new(3)));
        }
        6 => trouble::left_to_the_threads_end(worker),
        7 => trouble::out_of_the_thread(worker),
        8 => mail::run_inbox(),
        // Messages that were sent here stay in the inbox. At the thread's end, its closures become
        // orphans and its releases are done.
        _ => {}
    }
}
