//! The command line.

use crate::capture::Source;
use clap::{ArgGroup, Args, Parser, Subcommand};
use std::path::PathBuf;

const ABOUT: &str = "\
Shows what is alive in a running release build that uses releasepool, what holds it, and
what leaks. The program needs no feature and no instrumentation. A process is stopped
while its memory is copied, about 0.3 ms for each MiB, and then goes on; `leaks` stops it
up to three times.";

const EXIT_CODES: &str = "\
Exit code: 0 if the command was carried out, 1 if `leaks --fail` has found leaks, 2 for
wrong input or if the target cannot be inspected.";

/// The command line of `releasepool-inspect`.
#[derive(Debug, Parser)]
#[command(name = "releasepool-inspect", version, about = ABOUT, after_help = EXIT_CODES)]
pub struct Arguments {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show objects and bytes by type, threads, pools, inboxes and backlogs
    Top(Look),
    /// Show the shortest paths from roots to an object, or how the objects of a type are held
    Why(About),
    /// Show what refers to an object, or to the objects of a type
    Holders(About),
    /// Show what an object, or the objects of a type, refer to, and what would be freed with them
    Held(About),
    /// Show what leaks: cycles, references without a holder, pools that nothing drains
    Leaks {
        /// The program to inspect, and the form of the output.
        #[command(flatten)]
        look: Look,
        /// Look at a process up to this many times, and report only what leaks in all looks, so that
        /// nothing is reported that was just in flight
        #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
        looks: u32,
        /// Exit with code 1 if there are leaks; hints do not count
        #[arg(long)]
        fail: bool,
    },
    /// Show what has changed between two snapshots of one process
    Diff {
        /// The earlier snapshot
        before: PathBuf,
        /// The later snapshot
        after: PathBuf,
        /// The form of the output.
        #[command(flatten)]
        output: Output,
    },
    /// Save what is found, for `diff` or for later
    Snapshot {
        /// The program to inspect, and the form of the output.
        #[command(flatten)]
        look: Look,
        /// Save a snapshot that --snapshot and `diff` read
        #[arg(short = 'o', long = "output", value_name = "FILE")]
        file: PathBuf,
    },
}

/// The program to inspect, and the subject of the command.
#[derive(Debug, Args)]
pub struct About {
    /// An address, such as 0x7f3210, or a type: its name, the end of its name, or any part of it that
    /// no other type's name has
    #[arg(value_name = "ADDRESS|TYPE")]
    pub subject: String,
    /// The program to inspect, and the form of the output.
    #[command(flatten)]
    pub look: Look,
}

/// The program to inspect, and the form of the output.
#[derive(Debug, Args)]
pub struct Look {
    /// The program to inspect.
    #[command(flatten)]
    pub from: From,
    /// The form of the output.
    #[command(flatten)]
    pub output: Output,
}

/// The program to inspect.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("source").required(true))]
pub struct From {
    /// A running process
    #[arg(long, value_name = "PID", group = "source")]
    pid: Option<u32>,
    /// A core file
    #[arg(long, value_name = "FILE", group = "source")]
    core: Option<PathBuf>,
    /// The program's file, if it is not where the core file says
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pid", "snapshot"])]
    program: Option<PathBuf>,
    /// A snapshot that the command `snapshot` has saved
    #[arg(long, value_name = "FILE", group = "source")]
    snapshot: Option<PathBuf>,
}

impl From {
    /// Returns what to inspect.
    pub fn source(&self) -> Source {
        match (self.pid, &self.core, &self.snapshot) {
            (Some(pid), ..) => Source::Pid(pid),
            (_, Some(core), _) => Source::Core {
                core: core.clone(),
                program: self.program.clone(),
            },
            (_, _, Some(snapshot)) => Source::Snapshot(snapshot.clone()),
            _ => unreachable!("the group `source` is required"),
        }
    }
}

/// The form of the output.
#[derive(Debug, Args)]
pub struct Output {
    /// Print JSON, whose format the README describes
    #[arg(long)]
    pub json: bool,
    /// Show at most this many types, groups or paths; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

impl Output {
    /// Returns how many rows to show at most.
    pub fn limit(&self) -> Option<usize> {
        (self.limit > 0).then_some(self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::{Arguments, Command};
    use clap::{CommandFactory, Parser};

    #[test]
    fn command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn source_is_one_of_three() {
        let parse = |line: &str| Arguments::try_parse_from(line.split(' '));
        for line in [
            "x leaks",
            "x leaks --pid game",
            "x leaks --pid 1 --core a",
            "x leaks --pid 1 --program a",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
        for line in [
            "x leaks --pid 1",
            "x why Player --snapshot a",
            "x top --core a --program b",
        ] {
            assert!(parse(line).is_ok(), "{line}");
        }
        let parsed = parse("x leaks --fail --limit 0 --pid 1").expect("a good line");
        let Command::Leaks { look, fail, .. } = parsed.command else {
            panic!("{parsed:?}");
        };
        assert!(fail && look.output.limit().is_none());
    }
}
