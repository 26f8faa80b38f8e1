//! What a model is, and how one is checked.

use releasepool::model::{self, Mode, Site};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// One model. Its threads end with `model::thread_exit`; the main one is ended by
/// the runner, which then asserts that no object lives.
pub struct Model {
    pub name: &'static str,
    pub about: &'static str,
    /// Preemptions, if all of them would take too long; the reason stands beside it.
    pub bound: Option<usize>,
    /// The outcomes that all executions together must reach: no more, no fewer. A
    /// model that stops interleaving fails by this.
    pub outcomes: &'static [&'static str],
    /// The outcomes in [`Mode::Plain`], where loom may see less.
    pub plain_outcomes: Option<&'static [&'static str]>,
    /// True if waits end by their limit when nothing else can happen.
    pub time_passes: bool,
    /// For canaries: part of the message that loom must fail with.
    pub must_fail: Option<&'static str>,
    /// One execution; gives its outcome.
    pub body: fn() -> String,
}

impl Model {
    pub const fn new(
        name: &'static str,
        about: &'static str,
        outcomes: &'static [&'static str],
        body: fn() -> String,
    ) -> Self {
        Self {
            name,
            about,
            bound: None,
            outcomes,
            plain_outcomes: None,
            time_passes: false,
            must_fail: None,
            body,
        }
    }

    /// What is reached in [`Mode::Plain`], if that is less: there a thread's load
    /// hides what another does between it and the thread's next operation.
    pub const fn plain(mut self, outcomes: &'static [&'static str]) -> Self {
        self.plain_outcomes = Some(outcomes);
        self
    }

    /// Has time pass: for models that are about limits. In the others it stands still, so that a
    /// wake that is lost is a deadlock.
    pub const fn timed(mut self) -> Self {
        self.time_passes = true;
        self
    }

    pub const fn bounded(mut self, preemptions: usize) -> Self {
        self.bound = Some(preemptions);
        self
    }
}

pub const MODES: [(&str, Mode); 2] = [("plain", Mode::Plain), ("rmw", Mode::Rmw)];

static EXECUTIONS: AtomicUsize = AtomicUsize::new(0);
static OUTCOMES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn outcomes() -> BTreeSet<String> {
    OUTCOMES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

/// Checks one model in this process, and prints what the parent wants to know.
pub fn child(name: &str, mode: &str, weakened: &str) -> ExitCode {
    let Some(model) = super::all().into_iter().find(|m| m.name == name) else {
        eprintln!("no model {name}");
        return ExitCode::from(2);
    };
    let Some((_, mode)) = MODES.into_iter().find(|(n, _)| *n == mode) else {
        eprintln!("no mode {mode}");
        return ExitCode::from(2);
    };
    // What is worth knowing in a program is not worth a line in each execution.
    releasepool::event::set_hook(Some(Box::new(|_| ())));
    model::set_mode(mode);
    model::let_time_pass(model.time_passes);
    model::record_sites();
    if weakened != "-" {
        model::weaken(Some(parse_weakened(weakened)));
    }
    let start = Instant::now();
    // A failing model may end in an abort: loom's own clean-up panics.
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        print_checked(start);
        default_hook(info);
    }));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = model.bound;
    builder.max_branches = 50_000;
    let checked = std::panic::catch_unwind(|| {
        builder.check(|| {
            EXECUTIONS.fetch_add(1, Ordering::Relaxed);
            model::begin();
            let outcome = (model.body)();
            model::end();
            let mut outcomes = OUTCOMES.lock().unwrap_or_else(PoisonError::into_inner);
            outcomes.insert(outcome);
        });
    });
    print_checked(start);
    for (site, ordering) in model::sites() {
        println!("site {} {ordering:?}", format_site(&site));
    }
    if checked.is_err() {
        return ExitCode::FAILURE;
    }
    if model.must_fail.is_some() {
        eprintln!("this model must fail, and passed: no other result counts");
        return ExitCode::SUCCESS;
    }
    let wanted = match (mode, model.plain_outcomes) {
        (Mode::Plain, Some(plain)) => plain,
        _ => model.outcomes,
    };
    let wanted: BTreeSet<String> = wanted.iter().map(|s| (*s).to_owned()).collect();
    if outcomes() != wanted {
        eprintln!("outcomes reached: {:#?}\nwanted: {wanted:#?}", outcomes());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn print_checked(start: Instant) {
    let executions = EXECUTIONS.load(Ordering::Relaxed);
    println!("checked {executions} {:.3}", start.elapsed().as_secs_f64());
}

/// `file:line:column:part`, the file from the root of the package.
fn format_site(site: &Site) -> String {
    let file = site
        .file
        .rfind("/src/")
        .map_or(&*site.file, |at| &site.file[at + 1..]);
    format!("{file}:{}:{}:{}", site.line, site.column, site.part)
}

/// `file:line:column:part=Ordering`; of the file's path, the end is enough.
fn parse_weakened(text: &str) -> (Site, Ordering) {
    let parse = || {
        let (site, ordering) = text.rsplit_once('=')?;
        let mut parts = site.rsplitn(4, ':');
        let part = parts.next()?;
        let column = parts.next()?.parse().ok()?;
        let line = parts.next()?.parse().ok()?;
        let file = parts.next()?.to_owned();
        let part = ["load", "store", "rmw", "failure"]
            .into_iter()
            .find(|p| *p == part)?;
        let ordering = match ordering {
            "Relaxed" => Ordering::Relaxed,
            "Acquire" => Ordering::Acquire,
            "Release" => Ordering::Release,
            _ => return None,
        };
        Some((
            Site {
                file,
                line,
                column,
                part,
            },
            ordering,
        ))
    };
    parse().unwrap_or_else(|| panic!("not an ordering to weaken: {text}"))
}
