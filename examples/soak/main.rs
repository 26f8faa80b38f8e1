//! Soaks the library: everything at once, for a long time, with checks.
//!
//! `cargo run --release --example soak -- --minutes 10`
//!
//! Where to look first: `watch.rs` has the checks, `jobs.rs` lists what workers do,
//! `ui.rs` is the frame loop, `growth.rs` says what counts as growth.
#![deny(clippy::undocumented_unsafe_blocks)]

mod args;
mod bomb;
mod crew;
mod dice;
mod error;
mod growth;
mod heap;
#[path = "../share/home.rs"]
#[allow(dead_code)] // Labels' texts, which nobody reads here.
mod home;
mod jobs;
mod ledger;
#[path = "../share/number.rs"]
mod number;
#[path = "../share/output.rs"]
#[allow(dead_code)] // Tables, which are not needed here.
mod output;
mod payload;
mod stage;
mod ui;
mod watch;
mod worker;

use args::Command;
use output::{Output, complain};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut out = Output::new();
    let done = match args::parse() {
        Ok(Command::Help) => out.say(args::HELP).map(|()| true),
        Ok(Command::Soak(options)) => watch::soak(&options, &mut out),
        Err(error) => Err(error),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            complain(&format!("soak: {error}"));
            ExitCode::from(2)
        }
    }
}
