//! The command line.

use crate::error::Error;
use crate::number::{number, wrong};
use crate::world::ours::Memory;
use std::ffi::OsString;
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

pub const HELP: &str = "\
Shares counted objects between worker threads and a UI thread.

Usage: cargo run --release --example share [-- OPTIONS] [FILES or DIRECTORIES]

Workers parse JSON documents into graphs of counted objects and hand them to the
UI thread, which runs a frame loop. Afterwards: figures, a verification, and the
same documents by a single-threaded pool, by pools behind a mutex and by objects
of the global allocator.

Arguments:
  FILES           JSON documents; of a directory, all *.json in it, recursively.
                  None: what `cargo metadata` says of this project

Options:
  --workers N     worker threads, 1 to 1024            [default: one per processor,
                  but for that of the UI thread]
  --seconds S     how long to go on; each document is parsed at least once
                                                       [default: 3]
  --rounds N      instead: each worker parses all documents N times
  --frame-hz HZ   frames per second of the UI thread, 1 to 1000, or 0: as many as
                  there is work for                    [default: 60]
  --memory WHERE  where objects are: in blocks of the library's allocator (blocks), or
                  of the global one (global)           [default: blocks]
  -q, --quiet     no progress display
  -h, --help      this text

Exit code: 0 if all is well, 1 if the verification fails, 2 for wrong input.
";

pub struct Options {
    pub paths: Vec<PathBuf>,
    pub workers: usize,
    pub length: Length,
    /// Time from frame to frame; `None`: no waiting.
    pub frame: Option<Duration>,
    pub memory: Memory,
    pub quiet: bool,
}

/// When to stop.
#[derive(Clone, Copy)]
pub enum Length {
    Time(Duration),
    /// Times that each worker parses each document.
    Rounds(u64),
}

pub enum Command {
    Help,
    Share(Options),
}

pub fn parse() -> Result<Command, Error> {
    parse_from(lexopt::Parser::from_env())
}

fn parse_from(mut parser: lexopt::Parser) -> Result<Command, Error> {
    use lexopt::prelude::*;

    let mut paths = Vec::new();
    let mut workers = None;
    let mut seconds = None;
    let mut rounds = None;
    let mut frame_hz = 60.0;
    let mut memory = Memory::Blocks;
    let mut quiet = false;
    while let Some(arg) = parser.next()? {
        match arg {
            Long("workers") => {
                workers = Some(number("--workers", parser.value()?, 1, 1024)?);
            }
            Long("seconds") => {
                let value = number("--seconds", parser.value()?, 0.0, 86_400.0)?;
                seconds = Some(Duration::from_secs_f64(value));
            }
            Long("rounds") => {
                rounds = Some(number("--rounds", parser.value()?, 1, u64::from(u32::MAX))?);
            }
            Long("frame-hz") => {
                let value = parser.value()?;
                frame_hz = number("--frame-hz", value.clone(), 0.0, 1000.0)?;
                if frame_hz > 0.0 && frame_hz < 1.0 {
                    return Err(wrong("--frame-hz", &value, "between 1 and 1000, or 0"));
                }
            }
            Long("memory") => memory = where_objects_are(parser.value()?)?,
            Short('q') | Long("quiet") => quiet = true,
            Short('h') | Long("help") => return Ok(Command::Help),
            Value(path) => paths.push(PathBuf::from(path)),
            other => return Err(other.unexpected().into()),
        }
    }
    let length = match (seconds, rounds) {
        (Some(_), Some(_)) => {
            let message = "--seconds and --rounds exclude each other".to_owned();
            return Err(Error::Usage(message));
        }
        (None, Some(rounds)) => Length::Rounds(rounds),
        (seconds, None) => Length::Time(seconds.unwrap_or(Duration::from_secs(3))),
    };
    let processors = || available_parallelism().map_or(2, |n| n.get().min(1024));
    let workers = workers.unwrap_or_else(|| processors().saturating_sub(1).max(1));
    Ok(Command::Share(Options {
        paths,
        workers,
        length,
        memory,
        frame: (frame_hz > 0.0).then(|| Duration::from_secs_f64(1.0 / frame_hz)),
        quiet,
    }))
}

fn where_objects_are(value: OsString) -> Result<Memory, Error> {
    match value.to_str() {
        Some("blocks") => Ok(Memory::Blocks),
        Some("global") => Ok(Memory::Global),
        _ => {
            let value = value.to_string_lossy();
            let message = format!("--memory {value}: must be blocks or global");
            Err(Error::Usage(message))
        }
    }
}
