//! The command line.

use clap::Parser;

const ABOUT: &str = "\
Measures counted objects and pools, what sharing them between threads costs, and memory:
releasepool and its alternatives on 1, 2, 4 and 8 threads, and the project's targets.";

const AFTER: &str = "\
The results are also a page, target/contention/report.html.
Exit code: 0 if everything was measured, even if targets are missed; 1 if two
implementations do different work, or a file cannot be written; 2 for wrong options.";

#[derive(Parser)]
#[command(
    name = "contention",
    about = ABOUT,
    after_help = AFTER,
    override_usage = "cargo bench --bench contention [-- OPTIONS] [WORDS]",
    args_override_self = true
)]
pub struct Options {
    /// Take fewer samples: everything in about two minutes
    #[arg(long)]
    pub quick: bool,

    /// Measure only the rows with one of these in their titles [default: scenarios,
    /// and what has targets]
    #[arg(value_name = "WORDS", verbatim_doc_comment)]
    pub words: Vec<String>,

    /// Numbers of threads, 1 to 1024
    #[arg(long, value_name = "N,N,...", default_value = "1,2,4,8")]
    #[arg(value_parser = threads)]
    pub threads: Threads,

    /// Measure only what has targets
    #[arg(long)]
    pub targets: bool,

    /// Measure all rows, and write their table to benches/TABLE.md, or to FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    #[arg(default_missing_value = "benches/TABLE.md")]
    pub markdown: Option<String>,

    /// Print all scenarios and implementations, and what they are
    #[arg(long)]
    pub list: bool,

    /// Print how the rows that --markdown writes begin
    #[arg(long)]
    pub rows: bool,

    /// Measure only the peak memory of each allocator
    #[arg(long)]
    pub peak: bool,

    /// Measure only what a stalled reader holds back
    #[arg(long)]
    pub held: bool,

    /// The benchmark's call of itself for what needs a process: name
    #[arg(long, hide = true)]
    pub apart: Option<String>,

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
