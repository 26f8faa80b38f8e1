//! The command line.

use clap::Parser;
use std::path::{Path, PathBuf};

const ABOUT: &str = "\
Measures the cost of sharing counted objects and pools between threads: releasepool
and its alternatives on 1, 2, 4 and 8 threads, and the project's targets.";

const AFTER: &str = "\
Paths of files are relative to the root of the repository.
Exit code: 0 if everything was measured, even if targets are missed; 1 if two
implementations do different work, or a file cannot be written; 2 for wrong options
or a baseline that cannot be read.";

#[derive(Parser)]
#[command(
    name = "contention",
    about = ABOUT,
    after_help = AFTER,
    override_usage = "cargo bench --bench contention [-- OPTIONS]",
    args_override_self = true
)]
pub struct Options {
    /// Take fewer samples: everything in about two minutes
    #[arg(long)]
    pub quick: bool,

    /// Measure only this scenario, or those with names that begin with NAME-; may
    /// be repeated. results.json and report.html then have only these
    #[arg(long = "scenario", value_name = "NAME", verbatim_doc_comment)]
    pub scenarios: Vec<String>,

    /// Measure only implementations with NAME in their names; may be repeated
    #[arg(long = "implementation", value_name = "NAME")]
    pub implementations: Vec<String>,

    /// Numbers of threads, 1 to 1024
    #[arg(long, value_name = "N,N,...", default_value = "1,2,4,8")]
    #[arg(value_parser = threads)]
    pub threads: Threads,

    /// Check the targets too if scenarios or implementations are selected;
    /// otherwise check only the targets
    #[arg(long, verbatim_doc_comment)]
    pub targets: bool,

    /// Count instructions in a quick run too; a full run does so if valgrind
    /// is installed
    #[arg(long, verbatim_doc_comment)]
    pub instructions: bool,

    /// Compare with the results of an earlier run
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,

    /// Also write the results to FILE; they are always written to
    /// target/contention/results.json
    #[arg(long, value_name = "FILE", num_args = 0..=1, verbatim_doc_comment)]
    json: Option<Option<PathBuf>>,

    /// Print the names of scenarios and implementations
    #[arg(long)]
    pub list: bool,

    /// The benchmark's call of itself under callgrind: scenario, implementation, turns
    #[arg(long, hide = true, num_args = 3)]
    pub count_turns: Option<Vec<String>>,

    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

/// An alias, as clap would repeat the option for a `Vec`.
type Threads = Vec<usize>;

impl Options {
    /// Returns true if some scenarios or implementations are left out.
    pub fn filtered(&self) -> bool {
        !self.scenarios.is_empty() || !self.implementations.is_empty()
    }

    /// Returns the path of `--json`.
    pub fn json(&self) -> Option<PathBuf> {
        self.json.as_ref()?.as_deref().map(from_root)
    }
}

/// Resolves a path: cargo runs benchmarks in the directory of their package, which is in the root.
pub fn from_root(path: &Path) -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    match package.as_deref().and_then(Path::parent) {
        Some(root) => root.join(path),
        None => path.to_owned(),
    }
}

fn threads(text: &str) -> Result<Threads, String> {
    let number = |part: &str| match part.trim().parse() {
        Ok(number @ 1..=1_024) => Ok(number),
        _ => Err(format!("{part:?} is not a number from 1 to 1024")),
    };
    let mut threads = text.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
    threads.sort_unstable();
    threads.dedup();
    Ok(threads)
}
