//! The test of the models: every ordering in the source is weakened by a step, and
//! some model must then fail.
//!
//! [`written`]: the atomic operations that are written in `src/`.

pub mod written;

use super::justified::Justified;
use super::model::{How, MODES, Model};
use super::run::{Report, check, in_parallel};
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::process::ExitCode;
use written::Written;

/// Orderings that may survive, each with its reason.
const JUSTIFIED: &str = "loom_tests/justified.txt";

fn weaker(part: &str, ordering: &str) -> &'static [&'static str] {
    match ordering {
        // loom knows sequentially consistent fences.
        "SeqCst" if part == "fence" => &["AcqRel"],
        "Acquire" | "Release" => &["Relaxed"],
        // loom takes a sequentially consistent access for AcqRel.
        "AcqRel" | "SeqCst" => &["Acquire", "Release"],
        _ => &[],
    }
}

type Job = (&'static Model, &'static str);

/// A model in a mode, and what it reaches.
struct Baseline {
    job: Job,
    report: Report,
}

/// One ordering, weakened.
struct Mutant<'w> {
    at: &'w Written,
    /// What the operation does with the ordering, as `releasepool::model` calls it.
    part: &'static str,
    from: &'w str,
    to: &'static str,
}

impl Mutant<'_> {
    fn site(&self) -> String {
        site(self.at, self.part)
    }

    /// As it stands in the list of the justified.
    fn name(&self) -> String {
        let Written {
            file,
            function,
            operation,
            ..
        } = self.at;
        let (part, from, to) = (self.part, self.from, self.to);
        format!("{file} {function} {operation} {part} {from} -> {to}")
    }
}

fn site(at: &Written, part: &str) -> String {
    format!("{}:{}:{}:{part}", at.file, at.line, at.column)
}

/// What the orderings of an operation are to it.
fn parts(at: &Written) -> impl Iterator<Item = (&'static str, &str)> {
    let names: &[&str] = match &*at.operation {
        "load" => &["load"],
        "store" => &["store"],
        "fence" => &["fence"],
        _ => &["rmw", "failure"],
    };
    let orderings = at.orderings.iter().map(String::as_str);
    names.iter().copied().zip(orderings)
}

/// Weakens the orderings of files whose path contains `filter`, and prints a row for
/// each.
pub fn weaken_all(filter: &str) -> ExitCode {
    let all_written = written::all();
    let Some(baselines) = baselines() else {
        return ExitCode::FAILURE;
    };
    let mut complaints = unseen(&all_written, &baselines);
    if !written::counters_are_relaxed() {
        complaints.push("src/sync/counter.rs orders something, which no model sees".to_owned());
    }
    let written: Vec<_> = all_written
        .iter()
        .filter(|w| w.file.contains(filter))
        .collect();
    if written.is_empty() {
        eprintln!("no atomic operation is in a file with {filter:?} in its path");
        return ExitCode::from(2);
    }

    let mutants: Vec<_> = written.iter().flat_map(|at| mutants_of(at)).collect();
    let count = mutants.len();
    let mut killers = BTreeMap::new();
    in_parallel(
        mutants,
        |mutant| kill(mutant, &baselines),
        |mutant, killer| {
            killers.insert((mutant.site(), mutant.to), killer);
            progress(killers.len(), count, "mutants");
        },
    );

    let justified = Justified::read(JUSTIFIED, 0);
    let mut survived = BTreeSet::new();
    let (mut uncovered, mut killed, mut unexplained) = (0, 0, 0);
    println!(
        "{:<42} {:<16} {:<32} {:<8} weakened to",
        "site", "in", "operation", "ordering"
    );
    for &at in &written {
        for (part, from) in parts(at) {
            let reached = reaching(&baselines, &site(at, part)).count();
            if reached == 0 {
                uncovered += 1;
                row(at, part, from, "-", "UNCOVERED: no model reaches it");
            } else if weaker(part, from).is_empty() {
                row(at, part, from, "-", &format!("reached by {reached} checks"));
            }
        }
        for mutant in mutants_of(at) {
            let verdict = match killers[&(mutant.site(), mutant.to)] {
                Some(((model, mode), executions)) => {
                    killed += 1;
                    let (by, named) = (model.name, &at.models);
                    if !named.iter().any(|name| name == by) {
                        let site = mutant.site();
                        let complaint =
                            format!("the comment at {site} names {named:?}, but {by} fails");
                        complaints.push(complaint);
                    }
                    format!("killed by {by}, {mode}, in {executions} executions")
                }
                None => {
                    let name = mutant.name();
                    let reason = justified.reason(&name);
                    survived.insert(name);
                    match reason {
                        Some(reason) => format!("survived, justified: {reason}"),
                        None => {
                            unexplained += 1;
                            format!("SURVIVED, and is not in {}", JUSTIFIED)
                        }
                    }
                }
            };
            row(at, mutant.part, mutant.from, mutant.to, &verdict);
        }
    }
    for name in justified.names().filter(|name| name.contains(filter)) {
        if !survived.contains(name) {
            complaints.push(format!("{JUSTIFIED} lists what does not survive: {name}"));
        }
    }
    println!("\n{uncovered} orderings uncovered");
    complaints.iter().for_each(|c| println!("FAILED: {c}"));
    println!(
        "{} sites, {count} mutants, {killed} killed, {} justified, {unexplained} unexplained",
        written.len(),
        count - killed - unexplained,
    );
    let failed = uncovered > 0 || unexplained > 0 || !complaints.is_empty();
    ExitCode::from(u8::from(failed))
}

/// The orderings of an operation, each weakened by a step.
fn mutants_of(at: &Written) -> impl Iterator<Item = Mutant<'_>> {
    parts(at).flat_map(move |(part, from)| {
        let to = weaker(part, from).iter();
        to.map(move |to| Mutant { at, part, from, to })
    })
}

/// For those who look on.
pub fn progress(done: usize, of: usize, what: &str) {
    if std::io::stderr().is_terminal() {
        let end = if done == of { "\n" } else { "" };
        eprint!("\r{done} of {of} {what}{end}");
    }
}

fn row(at: &Written, part: &str, from: &str, to: &str, verdict: &str) {
    let place = format!("{}:{}", at.file, at.line);
    let operation = match part {
        "failure" => format!("{} (failure)", at.operation),
        _ => at.operation.clone(),
    };
    println!(
        "{place:<42} {:<16} {operation:<32} {from:<8} {to:<8} {verdict}",
        at.function
    );
}

/// Every model in both modes as it is, the quickest first, so that most mutants die
/// early; `None` if one fails.
fn baselines() -> Option<Vec<Baseline>> {
    let models = super::list::all()
        .into_iter()
        .filter(|m| m.must_fail.is_none());
    let jobs: Vec<Job> = models.flat_map(|m| MODES.map(|mode| (m, mode))).collect();
    let (mut done, count) = (0, jobs.len());
    let mut baselines = Vec::new();
    in_parallel(
        jobs,
        |(m, mode)| check(m, mode, &How::Explore),
        |job, report| {
            done += 1;
            progress(done, count, "checks as they are");
            baselines.push(Baseline { job, report });
        },
    );
    if let Some(failed) = baselines.iter().find(|b| !b.report.passed) {
        let ((model, mode), stderr) = (failed.job, &failed.report.stderr);
        eprintln!("{} fails in mode {mode} as it is\n{stderr}", model.name);
        return None;
    }
    baselines.sort_by(|a, b| a.report.seconds.total_cmp(&b.report.seconds));
    Some(baselines)
}

/// The checks that reach a site.
fn reaching<'b>(baselines: &'b [Baseline], site: &str) -> impl Iterator<Item = &'b Baseline> {
    baselines
        .iter()
        .filter(move |b| b.report.sites.iter().any(|(s, _)| s == site))
}

/// Whether the models reach operations that were not found in the source, or with
/// another ordering: then the rest of the table would be worth nothing.
fn unseen(written: &[Written], baselines: &[Baseline]) -> Vec<String> {
    let known: BTreeSet<_> = written
        .iter()
        .flat_map(|at| parts(at).map(|(part, ordering)| (site(at, part), ordering.to_owned())))
        .collect();
    let reached: BTreeSet<_> = baselines.iter().flat_map(|b| &b.report.sites).collect();
    reached
        .into_iter()
        .filter(|(site, _)| {
            !["src/model.rs", "src/sync/"]
                .iter()
                .any(|own| site.starts_with(own))
        })
        .filter(|reached| !known.contains(reached))
        .map(|(site, ordering)| format!("not found in the source: {site} {ordering}"))
        .collect()
}

/// The first check that fails with this ordering, and after how many executions;
/// those that the source names are tried first.
fn kill(mutant: &Mutant<'_>, baselines: &[Baseline]) -> Option<(Job, u64)> {
    let site = mutant.site();
    let weakened = How::Weaken(format!("{site}={}", mutant.to));
    let named = |b: &&Baseline| mutant.at.models.iter().any(|name| name == b.job.0.name);
    let first = reaching(baselines, &site).filter(named);
    let then = reaching(baselines, &site).filter(|b| !named(b));
    first.chain(then).find_map(|b| {
        let (model, mode) = b.job;
        let report = check(model, mode, &weakened);
        (!report.passed).then_some((b.job, report.executions))
    })
}
