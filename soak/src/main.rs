//! Soaks the library: random programs side by side, for a long time, with checks.
//!
//! `cargo run --release -p releasepool-soak -- --minutes 10`
//!
//! Where to start reading: `watch.rs` has the checks, `workers.rs` runs the programs, `ui.rs` is the
//! frame loop, `growth.rs` defines what counts as growth. The library's tests run such programs, too:
//! `tests/all/model/free` has the steps.

mod args;
mod failures;
mod free;
mod growth;
mod heap;
mod ui;
mod watch;
mod workers;

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
