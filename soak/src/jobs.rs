//! The jobs of workers, chosen at random.
//!
//! * [`programs`]: random programs on threads of their own, which use all of the library
//! * [`pools`]: pools that are nested, named, implicit, or of another manager
//! * [`objects`]: chains, slot caches, values that the reclaimer of the process destroys
//! * [`mail`]: releases and closures for the UI thread, inbox hooks
//! * [`trouble`]: destructors that panic or use pools
//! * [`teardown`]: what destructors of thread-locals do

mod mail;
mod objects;
mod pools;
pub mod programs;
mod teardown;
mod trouble;

use crate::payload::{Busy, Item};
use crate::worker::Worker;
use releasepool::{PoolManager, Ref, autorelease};
use std::time::Instant;

type Job = fn(&mut Worker);

const JOBS: &[Job] = &[
    programs::run,
    pools::nested,
    pools::implicit,
    pools::own_manager,
    pools::lent_to_threads,
    objects::chain,
    objects::cached,
    objects::later,
    mail::show,
    mail::release_to_ui,
    mail::hook,
    trouble::bombs,
    trouble::busy,
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
