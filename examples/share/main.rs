//! Shares objects between worker threads and a UI thread, on real input.
//!
//! `cargo run --release --example share [-- FILES or DIRECTORIES]`
//!
//! Workers parse JSON documents into graphs of counted objects and put all temporaries into pools
//! of their own. They hand the roots to the UI thread, which inspects them in its frames and
//! releases the ones that newer documents replace. At the end come the figures, a check that
//! nothing went wrong, and a comparison with a tree that counts no references.
//!
//! Where to start reading: the folder `job`. The files next to this one are what a program has around
//! its job: options, input, a progress display, a verification, a report, a trace.

mod args;
mod comparison;
mod error;
mod input;
mod interrupt;
mod job;
mod output;
mod plan;
mod progress;
mod report;
mod trace;
mod verify;

use args::Options;
use clap::Parser;
use error::Error;
use interrupt::Interrupt;
use job::run;
use plan::Plan;
use progress::Progress;
use releasepool_examples_common::output::{Output, complain};
use std::process::ExitCode;
use trace::Trace;

fn main() -> ExitCode {
    let options = Options::parse();
    let trace = options.trace.as_ref();
    let elsewhere = trace.and_then(|_| trace::elsewhere(options.quiet));
    let here = || share(&options, &mut Output::default()).map(ExitCode::from);
    elsewhere.unwrap_or_else(here).unwrap_or_else(|error| {
        complain(&format!("share: {error}"));
        if error.was_sharing() {
            complain(&format!("share: {}", what_is_left()));
        }
        ExitCode::from(2)
    })
}

/// Returns the exit code.
fn share(options: &Options, out: &mut Output) -> Result<u8, Error> {
    let interrupt = Interrupt::listen()?;
    let plan = Plan::new(options);
    let documents = &input::read(&options.paths)?;
    out.say(&report::input(documents, options))?;

    let trace = options.trace.as_deref().map(Trace::start).transpose()?;
    let mut progress = Progress::new(options.quiet);
    let end = plan.main_job(documents.len());
    let job = |stopped: &_| run::run(documents, options, end, stopped, &mut progress);
    let run = interrupt.during(job)?;
    trace.map_or(Ok(()), Trace::end)?;
    out.say(&report::run(&run, options))?;
    if interrupt.came() {
        progress.clear();
        out.say(report::INTERRUPTED)?;
        return Ok(interrupt::EXIT_CODE);
    }

    progress.note("parsing the documents without the library");
    let deadline = plan.verification();
    let expected = verify::expected(documents, &run.seen, options.workers, deadline);
    progress.clear();
    let expected = expected?;
    let verdict = verify::verify(&run, &expected, deadline.is_none());
    out.say(&report::verdict(&verdict))?;
    let mut holds = verdict.holds();

    // If nobody reads the rest, it is not worth waiting for.
    if plan.compares() && !out.is_closed() {
        let (workers, time) = (options.workers, plan.left());
        let speed = run.seen.bytes as f64 / run.elapsed.as_secs_f64();
        let comparison =
            comparison::compare(documents, &expected, workers, time, speed, &mut progress)?;
        let said = comparison.as_ref().map(report::comparison);
        out.say(said.as_deref().unwrap_or(report::NO_COMPARISON))?;
        let checks = comparison.iter().flat_map(|comparison| &comparison.checks);
        holds &= checks.fold(true, |holds, check| holds & check.holds);
    }
    out.say(&report::end(plan.elapsed(), run::peak_memory(), documents))?;
    Ok(u8::from(!holds))
}

fn what_is_left() -> String {
    match run::live_objects() {
        0 => "all that was shared has been released (0 live objects)".to_owned(),
        live => format!("NOT all that was shared has been released: {live} live objects"),
    }
}
