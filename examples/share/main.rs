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
//! its job: options, input, a progress display, a verification, a report.

mod args;
mod comparison;
mod error;
mod input;
mod job;
mod output;
mod plan;
mod progress;
mod report;
mod verify;

use args::Options;
use clap::Parser;
use error::Error;
use job::run;
use plan::Plan;
use progress::Progress;
use releasepool_examples_common::output::{Output, complain};
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = Options::parse();
    match share(&options, &mut Output::default()) {
        Ok(holds) => ExitCode::from(u8::from(!holds)),
        Err(error) => {
            complain(&format!("share: {error}"));
            if error.was_sharing() {
                complain(&format!("share: {}", what_is_left()));
            }
            ExitCode::from(2)
        }
    }
}

/// Returns whether all checks hold.
fn share(options: &Options, out: &mut Output) -> Result<bool, Error> {
    let plan = Plan::new(options);
    let documents = &input::read(&options.paths)?;
    out.say(&report::input(documents, options))?;

    let mut progress = Progress::new(options.quiet);
    let end = plan.main_job(documents.len());
    let run = run::run(documents, options, end, &mut progress)?;
    out.say(&report::run(&run, options))?;

    progress.note("parsing the documents without the library");
    let deadline = plan.verification();
    let expected = verify::expected(documents, &run.seen, deadline)?;
    progress.clear();
    let mut checks = verify::verify(&run, &expected, deadline.is_none());
    out.say(&report::verdict(&checks))?;

    // If nobody reads the rest, it is not worth waiting for.
    if plan.compares() && !out.is_closed() {
        let (workers, time) = (options.workers, plan.left());
        let speed = run.seen.bytes as f64 / run.elapsed.as_secs_f64();
        let comparison =
            comparison::compare(documents, &expected, workers, time, speed, &mut progress)?;
        let said = comparison.as_ref().map(report::comparison);
        out.say(said.as_deref().unwrap_or(report::NO_COMPARISON))?;
        checks.extend(
            comparison
                .into_iter()
                .flat_map(|comparison| comparison.checks),
        );
    }
    out.say(&report::end(plan.elapsed(), run::peak_memory(), documents))?;
    Ok(checks.iter().all(|check| check.holds))
}

fn what_is_left() -> String {
    match run::live_objects() {
        0 => "all that was shared has been released (0 live objects)".to_owned(),
        live => format!("NOT all that was shared has been released: {live} live objects"),
    }
}
