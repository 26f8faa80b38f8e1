//! The test of the models: every ordering that they reach is weakened by a step,
//! and some model must then fail.

use super::model::{MODES, Model};
use super::run::{Report, check, in_parallel};
use std::collections::BTreeMap;
use std::process::ExitCode;

fn weaker(ordering: &str) -> &'static [&'static str] {
    match ordering {
        "Acquire" | "Release" => &["Relaxed"],
        "AcqRel" | "SeqCst" => &["Acquire", "Release"],
        _ => &[],
    }
}

type Job = (&'static Model, &'static str);

/// Weakens the orderings of files whose path contains `filter`, and prints a row
/// for each.
pub fn weaken_all(filter: &str) -> ExitCode {
    // Quickest first, so that most mutants die early.
    let models = super::all().into_iter().filter(|m| m.must_fail.is_none());
    let jobs: Vec<Job> = models
        .flat_map(|m| MODES.map(|(mode, _)| (m, mode)))
        .collect();
    let mut reached: Vec<(Job, Report)> = Vec::new();
    in_parallel(
        jobs,
        |(m, mode)| check(m, mode, "-"),
        |job, report| reached.push((job, report)),
    );
    if let Some(((model, mode), _)) = reached.iter().find(|(_, report)| !report.passed) {
        eprintln!("{} fails in mode {mode} as it is", model.name);
        return ExitCode::FAILURE;
    }
    reached.sort_by(|(_, a), (_, b)| a.seconds.total_cmp(&b.seconds));

    let mut sites: BTreeMap<&str, &str> = BTreeMap::new();
    for (site, ordering) in reached.iter().flat_map(|(_, report)| &report.sites) {
        if site.contains(filter) && !site.contains("src/model.rs") {
            sites.insert(site, ordering);
        }
    }
    let mutants: Vec<(&str, &str, &str)> = sites
        .iter()
        .flat_map(|(site, ordering)| weaker(ordering).iter().map(|to| (*site, *ordering, *to)))
        .collect();
    let count = mutants.len();
    let mut survivors = 0;
    let kill = |&(site, _, to): &(&str, &str, &str)| {
        let weakened = format!("{site}={to}");
        let able = reached
            .iter()
            .filter(|(_, r)| r.sites.iter().any(|(s, _)| s == site));
        able.map(|((model, mode), _)| (*model, *mode, check(model, mode, &weakened)))
            .find(|(_, _, report)| !report.passed)
    };
    in_parallel(mutants, kill, |(site, from, to), killer| match killer {
        Some((model, mode, report)) => {
            let (name, n) = (model.name, report.executions);
            println!("killed    {site} {from} -> {to} by {name}, {mode}, execution {n}");
        }
        None => {
            survivors += 1;
            println!("SURVIVED  {site} {from} -> {to}");
        }
    });
    println!(
        "{} sites, {count} mutants, {survivors} survived",
        sites.len()
    );
    ExitCode::from(u8::from(survivors > 0))
}
