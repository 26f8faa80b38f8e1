//! `Model`, and how one is checked.

use super::probe::take_deaths;
use releasepool::model::{self, Builder, Failure, Mode, Report, Site, Weaker};
use std::ops::Range;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// One model. Its threads end with `model::thread_exit`; the runner ends the main thread, and then
/// asserts that no object is alive.
pub struct Model {
    pub name: &'static str,
    pub about: &'static str,
    /// The bound on preemptions, if the model does not finish without one; its reason is in a
    /// comment.
    pub bound: Option<usize>,
    /// The bound in [`Mode::Plain`], if it is another one there.
    pub plain_bound: Option<usize>,
    /// Exactly the outcomes that all executions together must reach, so that a model that stops
    /// interleaving fails.
    pub outcomes: &'static [&'static str],
    /// The outcomes in [`Mode::Plain`], if loom reaches fewer there.
    pub plain_outcomes: Option<&'static [&'static str]>,
    /// True if waits with a limit end when no thread can run.
    pub time_passes: bool,
    /// For canaries: part of the message that loom must fail with.
    pub must_fail: Option<&'static str>,
    /// Runs one execution; returns its outcome.
    pub body: fn() -> String,
}

impl Model {
    /// Makes a model; `outcomes` are two at least, or none if it must fail.
    pub const fn new(
        name: &'static str,
        about: &'static str,
        outcomes: &'static [&'static str],
        body: fn() -> String,
    ) -> Self {
        assert!(
            outcomes.len() != 1,
            "one outcome does not show that the threads have met: see `Overlap`"
        );
        Self {
            name,
            about,
            bound: None,
            plain_bound: None,
            outcomes,
            plain_outcomes: None,
            time_passes: false,
            must_fail: None,
            body,
        }
    }

    /// Sets the outcomes of [`Mode::Plain`], if they are fewer: there a thread's load hides what
    /// other threads do between it and the thread's next operation.
    pub const fn plain(mut self, outcomes: &'static [&'static str]) -> Self {
        self.plain_outcomes = Some(outcomes);
        self
    }

    /// Lets time pass: for models of time-outs. In other models time does not pass, so that a
    /// missed wake-up is a deadlock.
    pub const fn timed(mut self) -> Self {
        self.time_passes = true;
        self
    }

    pub const fn bounded(mut self, preemptions: usize) -> Self {
        self.bound = Some(preemptions);
        self
    }

    /// Sets another bound for [`Mode::Plain`], where executions are fewer.
    pub const fn plain_bounded(mut self, preemptions: usize) -> Self {
        self.plain_bound = Some(preemptions);
        self
    }

    /// Returns the bound on preemptions in a mode.
    pub fn bound_in(&self, mode: &str) -> Option<usize> {
        match mode {
            "plain" => self.plain_bound.or(self.bound),
            _ => self.bound,
        }
    }
}

/// `ci/mutate.sh weaken` sets this to `file:line:column:part=Ordering`, or `=split`.
const WEAKENED: &str = "RELEASEPOOL_MODEL_WEAKENED";

pub const MODES: [&str; 2] = ["plain", "rmw"];

/// How a model is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    Explore,
    /// Explores every interleaving, but does not write a failing one to a file.
    Brief,
    /// Samples interleavings by these seeds.
    Sample(Range<u64>),
}

impl How {
    /// Returns the arguments for a child process.
    pub fn args(&self) -> Vec<String> {
        match self {
            Self::Explore => Vec::new(),
            Self::Brief => vec!["--brief".to_owned()],
            Self::Sample(seeds) => {
                vec![
                    "--seed".to_owned(),
                    format!("{}..{}", seeds.start, seeds.end),
                ]
            }
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

impl Model {
    fn builder(&self) -> Builder {
        let mut builder = Builder::new()
            .name(self.name)
            .outcomes(self.outcomes)
            .replay_with("cargo loom --replay");
        if let Some(bound) = self.bound {
            builder = builder.preemption_bound(bound);
        }
        if let Some(plain) = self.plain_outcomes {
            builder = builder.outcomes_in(Mode::Plain, plain);
        }
        if self.time_passes {
            builder = builder.let_time_pass();
        }
        if let Some(message) = self.must_fail {
            builder = builder.must_fail(message);
        }
        builder
    }

    fn run(&self, builder: &Builder) -> Result<Report, Failure> {
        // Events would print lines in each execution.
        releasepool::event::set_hook(Some(Box::new(|_| ())));
        let body = self.body;
        std::thread::spawn(watch);
        builder.run(move || {
            BEGUN.fetch_add(1, Ordering::Relaxed);
            // A failed execution leaves its event table behind.
            take_deaths();
            body()
        })
    }
}

/// How many executions have begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Ends the process when one execution takes a minute, where a millisecond is usual: it hangs.
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

/// Checks one model in this process, and prints the results for the parent process.
pub fn child(model: &Model, mode: &str, how: &How) -> ExitCode {
    let Some(mode) = Mode::from_name(mode) else {
        return ExitCode::from(2);
    };
    let mut builder = model.builder().mode(mode);
    if let (Mode::Plain, Some(bound)) = (mode, model.plain_bound) {
        builder = builder.preemption_bound(bound);
    }
    let is_sample = matches!(how, How::Sample(_));
    if mode == Mode::Plain && model.plain_outcomes.is_some() && !is_sample {
        builder = builder.any_outcome();
    }
    model::record_sites();
    if let Ok(what) = std::env::var(WEAKENED) {
        model::weaken(Some(parse_weakened(&what)));
    }
    match how {
        How::Explore => {}
        How::Brief => builder = builder.without_file(),
        How::Sample(seeds) => builder = builder.seeds(seeds.clone()),
    }
    let start = Instant::now();
    let result = model.run(&builder);
    let executions = match &result {
        Ok(report) => report.executions,
        Err(failure) => failure.execution().unwrap_or(1),
    };
    println!("checked {executions} {:.3}", start.elapsed().as_secs_f64());
    for (site, ordering) in model::sites() {
        println!("site {} {ordering:?}", format_site(&site));
    }
    match result {
        Ok(_) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the one interleaving in `file`, with a log.
pub fn replay(file: &str, find: impl FnOnce(&str) -> Option<&'static Model>) -> ExitCode {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let Some(name) = text.lines().find_map(|line| line.strip_prefix("name=")) else {
        eprintln!("{file} does not hold the interleaving of a model");
        return ExitCode::from(2);
    };
    let Some(model) = find(name) else {
        return ExitCode::from(2);
    };
    match model.run(&model.builder().replay(file)) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Writes a site as `file:line:column:part`, with the file relative to the package's root.
fn format_site(site: &Site) -> String {
    let file = site
        .file
        .rfind("/src/")
        .map_or(&*site.file, |at| &site.file[at + 1..]);
    format!("{file}:{}:{}:{}", site.line, site.column, site.part)
}

/// Parses `file:line:column:part=Ordering`; the end of the file's path is enough.
fn parse_weakened(text: &str) -> (Site, Weaker) {
    let parse = || {
        let (site, weaker) = text.rsplit_once('=')?;
        let mut parts = site.rsplitn(4, ':');
        let part = parts.next()?;
        let column = parts.next()?.parse().ok()?;
        let line = parts.next()?.parse().ok()?;
        let file = parts.next()?.to_owned();
        let part = ["load", "store", "rmw", "failure", "fence"]
            .into_iter()
            .find(|p| *p == part)?;
        let weaker = match weaker {
            "Relaxed" => Weaker::Ordering(Ordering::Relaxed),
            "Acquire" => Weaker::Ordering(Ordering::Acquire),
            "Release" => Weaker::Ordering(Ordering::Release),
            "AcqRel" => Weaker::Ordering(Ordering::AcqRel),
            "split" => Weaker::Split,
            _ => return None,
        };
        Some((
            Site {
                file,
                line,
                column,
                part,
            },
            weaker,
        ))
    };
    parse().unwrap_or_else(|| panic!("not an operation to weaken: {text}"))
}
