//! The command line.

use crate::error::Error;
use crate::number::number;
use std::thread::available_parallelism;
use std::time::Duration;

pub const HELP: &str = "\
Soaks the library: everything at once, for a long time, with checks.

Usage: cargo run --release --example soak [-- OPTIONS]

A UI thread runs a frame loop; worker threads come and go, hand objects over, let
destructors panic, misuse tokens and release while their thread-locals are torn
down. Every second the invariants are checked and a line is printed. Every 10
seconds all workers end, and then exactly the objects on display may live.

Options:
  --minutes N     how long to go on, 0.01 to 100000; fractions are welcome
                                                       [default: 1]
  --seconds N     the same in seconds, 1 to 6000000
  --workers N     workers at a time, 1 to 256          [default: two per processor]
  -q, --quiet     only the end, and what is wrong
  -h, --help      this text

Exit code: 0 if all is well, 1 if an invariant is broken or something grows, 2 for
wrong input.
";

pub struct Options {
    pub length: Duration,
    pub workers: usize,
    pub quiet: bool,
}

pub enum Command {
    Help,
    Soak(Options),
}

pub fn parse() -> Result<Command, Error> {
    use lexopt::prelude::*;

    let mut parser = lexopt::Parser::from_env();
    let mut length = None;
    let mut workers = None;
    let mut quiet = false;
    while let Some(arg) = parser.next()? {
        let seconds = match arg {
            Long("minutes") => number("--minutes", parser.value()?, 0.01, 100_000.0)? * 60.0,
            Long("seconds") => number("--seconds", parser.value()?, 1.0, 6_000_000.0)?,
            Long("workers") => {
                workers = Some(number("--workers", parser.value()?, 1, 256)?);
                continue;
            }
            Short('q') | Long("quiet") => {
                quiet = true;
                continue;
            }
            Short('h') | Long("help") => return Ok(Command::Help),
            other => return Err(other.unexpected().into()),
        };
        if length.replace(Duration::from_secs_f64(seconds)).is_some() {
            let message = "the length is given twice".to_owned();
            return Err(Error::Usage(message));
        }
    }
    let two_each = || available_parallelism().map_or(4, |n| n.get() * 2).min(256);
    Ok(Command::Soak(Options {
        length: length.unwrap_or(Duration::from_secs(60)),
        workers: workers.unwrap_or_else(two_each),
        quiet,
    }))
}
