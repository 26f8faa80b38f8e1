//! Random programs on threads of their own: see `free`.

use crate::free::{Kind, Setting, Step, run as run_free};
use crate::ledger::LEDGER;
use crate::worker::Worker;

/// The threads of a program, without a looper and a reclaimer.
pub const THREADS: usize = 4;

/// The most steps of a thread.
const STEPS: usize = 200;

/// Runs a program to its end, on other threads; this one then releases what they have left to it.
pub fn run(worker: &mut Worker) {
    // Rare, because threads cost more than other jobs.
    if !worker.once_in(10) {
        return;
    }
    let rng = &mut worker.rng;
    let mut kinds = Kind::all();
    // A request to other threads would drain root pools whose entries other programs count.
    kinds.retain(|kind| *kind != Kind::Shutdown && (*kind == Kind::Create || rng.bool()));
    let mut step = || Step(kinds[rng.usize(..kinds.len())], rng.u8(..), rng.u8(..));
    let programs = (0..THREADS).map(|_| (0..STEPS).map(|_| step()).collect());
    run_free(programs.collect(), Setting::checked());
    LEDGER.programs.add(1);
}
