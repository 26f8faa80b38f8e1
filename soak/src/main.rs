//! Soaks the library: everything at once, for a long time, with checks.
//!
//! `cargo run --release -p releasepool-soak -- --minutes 10`
//!
//! Where to start reading: `watch.rs` has the checks, `jobs.rs` lists what workers do, `ui.rs` is
//! the frame loop, `growth.rs` defines what counts as growth. Random programs, which the library's tests
//! run, too, run beside all this.

mod args;
mod bomb;
mod crew;
mod free;
mod growth;
mod heap;
mod jobs;
mod ledger;
mod payload;
mod stage;
mod ui;
mod watch;
mod worker;

use clap::Parser;
use releasepool_examples_common::output::{Output, complain};
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = args::Options::parse();
    match watch::soak(&options, &mut Output::default()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            complain(&format!("soak: the figures cannot be written: {error}"));
            ExitCode::from(2)
        }
    }
}
