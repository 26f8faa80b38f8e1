//! How one model is checked, in this process.

use super::model::Model;
use super::probe::take_deaths;
use releasepool::model::{self, Builder, Failure, Mode, Report, Site, Weaker};
use std::ops::Range;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// `ci/mutate.sh weaken` sets this to an operation and its change: see [`parse_weakened`].
const WEAKENED: &str = "RELEASEPOOL_MODEL_WEAKENED";

pub const MODES: [&str; 2] = ["plain", "rmw"];

/// How a model is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    Explore,
    /// Explores every interleaving, but does not write a failing one to a file.
    Brief,
    Sample(Range<u64>),
}

impl How {
    /// Returns the arguments for a child process.
    pub fn args(&self) -> Vec<String> {
        match self {
            Self::Explore => Vec::new(),
            Self::Brief => vec!["--brief".to_owned()],
            Self::Sample(seeds) => vec!["--seed".to_owned(), format!("{seeds:?}")],
        }
    }

    pub fn from_args(args: &[&str]) -> Option<Self> {
        Some(match args {
            [] => Self::Explore,
            ["--brief"] => Self::Brief,
            ["--seed", seeds] => {
                let seed = |text: &str| text.parse::<u64>().ok();
                Self::Sample(match seeds.split_once("..") {
                    Some((from, to)) => seed(from)?..seed(to)?,
                    None => seed(seeds)?..seed(seeds)?.checked_add(1)?,
                })
            }
            _ => return None,
        })
    }
}

fn builder(model: &Model) -> Builder {
    let mut builder = Builder::new()
        .name(model.name)
        .outcomes(model.outcomes)
        .replay_with("cargo loom --replay");
    if let Some(bound) = model.bound {
        builder = builder.preemption_bound(bound);
    }
    if let Some(plain) = model.plain_outcomes {
        builder = builder.outcomes_in(Mode::Plain, plain);
    }
    if model.time_passes {
        builder = builder.let_time_pass();
    }
    if let Some(message) = model.must_fail {
        builder = builder.must_fail(message);
    }
    builder
}

fn run(model: &Model, builder: &Builder) -> Result<Report, Failure> {
    // Events would print lines in each execution.
    releasepool::event::set_hook(Some(Box::new(|_| ())));
    let body = model.body.clone();
    std::thread::spawn(watch);
    builder.run(move || {
        BEGUN.fetch_add(1, Ordering::Relaxed);
        // A failed execution, as canaries have, may leave deaths behind.
        take_deaths();
        body()
    })
}

/// How many executions have begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Ends the process when one execution takes a minute, where a millisecond is usual: the execution
/// hangs.
fn watch() {
    let mut before = None;
    loop {
        let begun = BEGUN.load(Ordering::Relaxed);
        if before == Some(begun) {
            eprintln!(
                "execution {begun} hangs: a thread holds a lock that loom does not see while others run"
            );
            std::process::abort();
        }
        before = Some(begun);
        std::thread::sleep(Duration::from_secs(60));
    }
}

fn ended(result: Result<(), Failure>) -> ExitCode {
    result.map_or_else(
        |failure| {
            eprintln!("{failure}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

/// Checks one model in this process, and prints the results for the parent process.
pub fn child(model: &Model, mode: &str, how: &How) -> ExitCode {
    let Some(mode) = Mode::from_name(mode) else {
        return ExitCode::from(2);
    };
    let mut builder = builder(model).mode(mode);
    if let (Mode::Plain, Some(bound)) = (mode, model.plain_bound) {
        builder = builder.preemption_bound(bound);
    }
    let is_sample = matches!(how, How::Sample(_));
    if mode == Mode::Plain && model.plain_outcomes.is_some() && !is_sample {
        builder = builder.any_outcome();
    }
    match std::env::var(WEAKENED) {
        Ok(what) => model::weaken(Some(parse_weakened(&what))),
        // Only `ci/mutate.sh weaken` reads the sites, and recording takes a lock at each operation.
        Err(_) if *how == How::Brief => model::record_sites(),
        Err(_) => {}
    }
    match how {
        How::Explore => {}
        How::Brief => builder = builder.without_file(),
        How::Sample(seeds) => builder = builder.seeds(seeds.clone()),
    }
    let start = Instant::now();
    let result = run(model, &builder);
    let executions = match &result {
        Ok(report) => report.executions,
        Err(failure) => failure.execution().unwrap_or(1),
    };
    println!("checked {executions} {:.3}", start.elapsed().as_secs_f64());
    for (site, ordering) in model::sites() {
        println!("site {} {ordering:?}", format_site(&site));
    }
    ended(result.map(drop))
}

/// Runs the one interleaving in `file`, with a log.
pub fn replay(file: &str, find: impl FnOnce(&str) -> Option<Model>) -> ExitCode {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let Some(name) = text.lines().find_map(|line| line.strip_prefix("name=")) else {
        eprintln!("{file} does not hold the interleaving of a model");
        return ExitCode::from(2);
    };
    let Some(model) = find(name) else {
        return ExitCode::from(2);
    };
    ended(run(&model, &builder(&model).replay(file)).map(|report| println!("{report}")))
}

/// Writes a site as `file:line:column:part`, with the file relative to the package's root.
fn format_site(site: &Site) -> String {
    let file = &*site.file;
    let file = file.rfind("/src/").map_or(file, |at| &file[at + 1..]);
    format!("{file}:{}:{}:{}", site.line, site.column, site.part)
}

/// Parses `file:line:column:part=Ordering`, or `=split`: a load and a store; the path may be its end.
fn parse_weakened(text: &str) -> (Site, Weaker) {
    let parse = || {
        let (site, weaker) = text.rsplit_once('=')?;
        let places: Vec<&str> = site.rsplitn(4, ':').collect();
        let [part, column, line, file] = places[..] else {
            return None;
        };
        let parts = ["load", "store", "rmw", "failure", "fence"];
        let site = Site {
            file: file.to_owned(),
            line: line.parse().ok()?,
            column: column.parse().ok()?,
            part: parts.into_iter().find(|p| *p == part)?,
        };
        let weaker = match weaker {
            "Relaxed" => Weaker::Ordering(Ordering::Relaxed),
            "Acquire" => Weaker::Ordering(Ordering::Acquire),
            "Release" => Weaker::Ordering(Ordering::Release),
            "AcqRel" => Weaker::Ordering(Ordering::AcqRel),
            "split" => Weaker::Split,
            _ => return None,
        };
        Some((site, weaker))
    };
    parse().unwrap_or_else(|| panic!("not an operation to weaken: {text}"))
}
