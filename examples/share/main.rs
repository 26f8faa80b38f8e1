//! Shares objects between worker threads and a UI thread, on real input.
//!
//! `cargo run --release --example share [-- FILES or DIRECTORIES]`
//!
//! Workers parse JSON documents into graphs of counted objects and put all temporaries into pools
//! of their own. They hand the roots to the UI thread, which inspects them in its frames and
//! releases the ones that newer documents replace. At the end come the figures, a check that
//! nothing went wrong, and the same work done by other means.
//!
//! Where to start reading: `parse.rs` is the game code, `world/ours.rs` shows what it needs from
//! the library, `ui.rs` is the frame loop, `run.rs` has the threads.

mod args;
mod compare;
mod digest;
mod error;
mod frame_times;
mod input;
mod keys;
mod node;
mod output;
mod parse;
mod progress;
mod report;
mod run;
mod schedule;
mod trace;
mod ui;
mod verify;
mod worker;
mod world;

use args::Options;
use clap::Parser;
use error::Error;
use progress::Progress;
use releasepool_examples_common::output::{Output, complain};
use std::process::ExitCode;
use trace::Trace;
use ui::Clearing;

fn main() -> ExitCode {
    let options = Options::parse();
    let trace = options.trace.as_ref();
    let elsewhere = trace.and_then(|_| trace::elsewhere(options.quiet));
    let here = || {
        let holds = share(&options, &mut Output::default())?;
        Ok(ExitCode::from(u8::from(!holds)))
    };
    elsewhere.unwrap_or_else(here).unwrap_or_else(|error| {
        complain(&format!("share: {error}"));
        if error.was_sharing() {
            complain(&format!("share: {}", what_is_left()));
        }
        ExitCode::from(2)
    })
}

/// Returns whether the verification succeeded.
fn share(options: &Options, out: &mut Output) -> Result<bool, Error> {
    let input = input::read(&options.paths)?;
    if let Some(reason) = &input.instead_of_cargo {
        complain(&format!(
            "share: cargo cannot describe this project, so a small embedded document is used ({reason})"
        ));
    }
    out.say(&report::input(&input, options))?;

    let trace = options.trace.as_deref().map(Trace::start).transpose()?;
    let mut progress = Progress::new(options.quiet);
    let run = run::run(&input.documents, options, &mut progress)?;
    let is_traced = trace.is_some();
    trace.map_or(Ok(()), Trace::end)?;
    out.say(&report::run(&run, options))?;

    let expected = verify::expected(&input.documents)?;
    let verdict = verify::verify(&run, &expected);
    out.say(&report::verdict(&verdict))?;

    // Nobody reads the rest, so it is not worth waiting for; or the trace has cost too much for it
    // to be true.
    if out.is_closed() || is_traced {
        return Ok(verdict.holds());
    }
    let whole = run::frame_times(&input.documents, options, Clearing::Whole, &mut progress)?;
    let budget = run::frame_times(&input.documents, options, Clearing::Budget, &mut progress)?;
    out.say(&report::frame_times(&whole, &budget, &run.seen, options))?;

    let comparison = compare::compare(&input.documents, &expected, options, &run, &mut progress)?;
    out.say(&report::comparison(&comparison))?;
    Ok(verdict.holds() && comparison.holds())
}

fn what_is_left() -> String {
    match run::live_objects() {
        0 => "all that was shared has been released (0 live objects)".to_owned(),
        live => format!("NOT all that was shared has been released: {live} live objects"),
    }
}
