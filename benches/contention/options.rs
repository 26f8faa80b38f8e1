//! The command line.

use crate::scenario::Scenario;
use crate::scenarios;
use clap::Parser;

const ABOUT: &str = "\
Measures the cost of sharing counted objects and pools between threads: releasepool
and its alternatives on 1, 2, 4 and 8 threads, and the project's targets.";

const AFTER: &str = "\
The results are written to target/contention: results.json, and report.html.
Exit code: 0 if everything was measured, even if targets are missed; 1 if two
implementations do different work, or a file cannot be written; 2 for wrong options.";

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
    /// be repeated
    #[arg(long = "scenario", value_name = "NAME", verbatim_doc_comment)]
    pub scenarios: Vec<String>,

    /// Numbers of threads, 1 to 1024
    #[arg(long, value_name = "N,N,...", default_value = "1,2,4,8")]
    #[arg(value_parser = threads)]
    pub threads: Threads,

    /// Check the targets too if scenarios are selected;
    /// otherwise check only the targets
    #[arg(long, verbatim_doc_comment)]
    pub targets: bool,

    /// Measure all rows of the benchmarks core, sharing and memory, too, and
    /// write the table of all into docs/PERFORMANCE.md, or into FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, verbatim_doc_comment)]
    #[arg(default_missing_value = "docs/PERFORMANCE.md")]
    pub markdown: Option<String>,

    /// Print all scenarios and implementations, and what they are
    #[arg(long)]
    pub list: bool,

    /// Print how the rows that --markdown writes begin, except those of memory
    #[arg(long)]
    pub rows: bool,

    /// The benchmark's call of itself with another allocator: scenario, implementation
    #[arg(long, hide = true, num_args = 2)]
    pub serve: Option<Vec<String>>,

    /// The benchmark's call of itself with another allocator: scenario, implementation, threads
    #[arg(long, hide = true, num_args = 3)]
    pub count: Option<Vec<String>>,

    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

/// An alias, as clap would repeat the option for a `Vec`.
type Threads = Vec<usize>;

impl Options {
    /// Returns true if some scenarios are left out.
    pub fn filtered(&self) -> bool {
        !self.scenarios.is_empty()
    }

    /// Returns the scenarios that the options select.
    pub fn select(&self) -> Result<Vec<Scenario>, String> {
        let mut left = scenarios::all();
        if self.targets && !self.filtered() {
            left.clear();
        }
        let matches = |s: &Scenario, name| s.id == name || s.id.starts_with(&format!("{name}-"));
        for name in &self.scenarios {
            if !left.iter().any(|scenario| matches(scenario, name)) {
                return Err(format!("no scenario {name:?}; --list prints all"));
            }
        }
        left.retain(|s| !self.filtered() || self.scenarios.iter().any(|name| matches(s, name)));
        Ok(left)
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
