//! The command line.

use crate::instructions;
use lexopt::{Arg, Parser, ValueExt};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

pub const HELP: &str = "\
What it costs to share counted objects and pools between threads: releasepool beside
what else a program could use, by 1, 2, 4 and 8 threads; and the project's targets.

Usage: cargo bench --bench contention [-- OPTIONS]

Options:
  --quick                all of it in about two minutes, with fewer samples
  --scenario NAME        this one only, or those whose names begin so; may be repeated
                         (results.json and report.html then have these only)
  --implementation NAME  those with this in their names only; may be repeated
  --threads N,N,...      numbers of threads            [default: 1,2,4,8]
  --targets              the targets too where a filter would leave them out; without
                         a filter, nothing else
  --instructions         count instructions too, by valgrind, in a quick run; a full run
                         does it where valgrind is found
  --baseline FILE        compare with the results of an earlier run
  --json [FILE]          write the results to FILE, too; they are always written to
                         target/contention/results.json
  --list                 the names of scenarios and implementations
  -h, --help             this text

Files are named as seen from the root of the repository.
Exit code: 0 if everything was measured, whether targets are met or not; 1 if two
implementations do not do the same work, or a file cannot be written; 2 for wrong
options or a baseline that cannot be read.
";

#[derive(Default)]
pub struct Options {
    pub quick: bool,
    pub scenarios: Vec<String>,
    pub implementations: Vec<String>,
    pub threads: Vec<usize>,
    pub targets: bool,
    pub instructions: bool,
    /// As it was named, and where it is.
    pub baseline: Option<(String, PathBuf)>,
    pub json: Option<PathBuf>,
}

impl Options {
    /// Whether something is left out.
    pub fn filtered(&self) -> bool {
        !self.scenarios.is_empty() || !self.implementations.is_empty()
    }
}

pub enum Command {
    Help,
    List,
    /// What this program asks of itself.
    Count(instructions::Task),
    Measure(Options),
}

pub fn parse() -> Result<Command, lexopt::Error> {
    parse_from(Parser::from_env())
}

fn parse_from(mut parser: Parser) -> Result<Command, lexopt::Error> {
    let mut options = Options {
        threads: vec![1, 2, 4, 8],
        ..Options::default()
    };
    while let Some(argument) = parser.next()? {
        match argument {
            // What cargo passes.
            Arg::Long("bench") => {}
            Arg::Long("quick") => options.quick = true,
            Arg::Long("scenario") => options.scenarios.push(parser.value()?.string()?),
            Arg::Long("implementation") => {
                options.implementations.push(parser.value()?.string()?);
            }
            Arg::Long("threads") => options.threads = threads(&parser.value()?)?,
            Arg::Long("targets") => options.targets = true,
            Arg::Long("instructions") => options.instructions = true,
            Arg::Long("baseline") => {
                let name = parser.value()?;
                options.baseline = Some((name.to_string_lossy().into_owned(), from_root(&name)));
            }
            Arg::Long("json") => options.json = file(&mut parser)?.or(options.json),
            Arg::Long("list") => return Ok(Command::List),
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            Arg::Long(instructions::OPTION) => {
                return Ok(Command::Count(instructions::Task {
                    scenario: parser.value()?.string()?,
                    implementation: parser.value()?.string()?,
                    turns: parser.value()?.parse()?,
                }));
            }
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(Command::Measure(options))
}

/// The value of an option that may have none.
fn file(parser: &mut Parser) -> Result<Option<PathBuf>, lexopt::Error> {
    if let Some(value) = parser.optional_value() {
        return Ok(Some(from_root(&value)));
    }
    let next = parser.try_raw_args();
    let next = next.and_then(|arguments| arguments.peek().map(OsStr::to_owned));
    match next {
        Some(next) if !next.to_string_lossy().starts_with('-') => {
            Ok(Some(from_root(&parser.value()?)))
        }
        _ => Ok(None),
    }
}

/// Cargo runs benchmarks in the directory of their package, one below the root.
fn from_root(path: &OsString) -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    match package.as_deref().and_then(Path::parent) {
        Some(root) => root.join(path),
        None => PathBuf::from(path),
    }
}

fn threads(value: &OsStr) -> Result<Vec<usize>, lexopt::Error> {
    let text = value.to_string_lossy();
    let number = |part: &str| match part.trim().parse() {
        Ok(number @ 1..=1_024) => Ok(number),
        _ => Err(lexopt::Error::from(format!(
            "--threads: {part:?} is not a number from 1 to 1024, as in --threads 1,2,16"
        ))),
    };
    let mut threads = text.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
    threads.sort_unstable();
    threads.dedup();
    Ok(threads)
}
