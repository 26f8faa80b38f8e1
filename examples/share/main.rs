//! Shares objects between worker threads and a UI thread, on real input.
//!
//! `cargo run --release --example share [-- FILES or DIRECTORIES]`
//!
//! Workers parse JSON documents into graphs of counted objects, with every
//! temporary in a pool of their own, and hand the roots to the UI thread, which
//! looks at them in its frames and releases what it replaces. Afterwards the
//! figures, a check that nothing went wrong, and the same work by other means.
//!
//! Where to look first: `parse.rs` is the game code, `world/ours.rs` what it asks
//! of the library, `ui.rs` the frame loop, `run.rs` the threads.
#![deny(clippy::undocumented_unsafe_blocks)]
#![forbid(unsafe_code)]

mod args;
mod compare;
mod digest;
mod error;
mod histogram;
mod home;
mod input;
mod keys;
mod node;
mod number;
mod output;
mod parse;
mod progress;
mod report;
mod run;
mod schedule;
mod ui;
mod verify;
mod worker;
mod world;

use args::{Command, Options};
use error::Error;
use output::{Output, complain};
use progress::Progress;
use releasepool::PoolManager;
use std::process::ExitCode;
use ui::Clearing;

fn main() -> ExitCode {
    let mut out = Output::new();
    let done = match args::parse() {
        Ok(Command::Help) => out.say(args::HELP).map(|()| true),
        Ok(Command::Share(options)) => share(&options, &mut out),
        Err(error) => Err(error),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            complain(&format!("share: {error}"));
            if error.was_sharing() {
                complain(&format!("share: {}", what_is_left()));
            }
            ExitCode::from(2)
        }
    }
}

/// Whether the verification succeeded.
fn share(options: &Options, out: &mut Output) -> Result<bool, Error> {
    let input = input::read(&options.paths)?;
    if let Some(reason) = &input.instead_of_cargo {
        complain(&format!(
            "share: cargo cannot describe this project, so a small embedded document is used ({reason})"
        ));
    }
    out.say(&report::input(&input, options))?;

    let mut progress = Progress::new(options.quiet);
    let run = run::run(&input.documents, options, &mut progress)?;
    out.say(&report::run(&run, options))?;

    let expected = verify::expected(&input.documents)?;
    let verdict = verify::verify(&run, &expected);
    out.say(&report::verdict(&verdict))?;

    // Nobody reads on: do not keep them waiting.
    if out.is_closed() {
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
    match PoolManager::global().snapshot().live_objects() {
        0 => "all that was shared has been released (0 live objects)".to_owned(),
        live => format!("NOT all that was shared has been released: {live} live objects"),
    }
}
