//! `releasepool-inspect`: shows what is alive in a program that uses `releasepool`, and what leaks.

use clap::Parser;
use releasepool_inspect::cli::Arguments;
use releasepool_inspect::run::run;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Wrong arguments end with code 2, too.
    let arguments = Arguments::parse();
    run(&arguments).unwrap_or_else(|error| {
        eprintln!("releasepool-inspect: {error}");
        ExitCode::from(2)
    })
}
