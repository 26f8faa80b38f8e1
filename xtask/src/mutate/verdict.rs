//! Finds the check that notices a mutant.

use super::check::{Known, run_together};
use super::mutant::{Mutant, Verdict};
use super::process::{Switch, in_parallel};
use super::tree::folder;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

/// Checks whose times differ by less, in seconds, count as equally quick. Quick ones come first, so that as
/// many as possible are run.
const STEP: f64 = 0.2;

/// How many tests are run in one process at most, and how many seconds they take. If all pass, that is quicker.
const TOGETHER: usize = 40;
const TOGETHER_SECONDS: f64 = 2.0;

/// [`Job::most`] for a mutant that has a reason: its checks only confirm that it still survives.
pub const MOST_IF_EXPLAINED: f64 = 10.0;

/// A mutant that is built, and what is known of it before it is examined.
pub struct Job {
    /// Its index among all mutants.
    pub mutant: usize,
    pub switch: Switch,
    /// The place of the source that a check must reach.
    pub place: usize,
    /// The models that the source names; they are asked first, however long they take.
    pub named: Vec<String>,
    /// The longest time in seconds, without a mutant, that its checks take together. Those that
    /// reach little else come first; most of the others only happen to run the same code.
    pub most: f64,
    /// How many times as long as without a mutant a check may take.
    pub patience: f64,
}

/// The check that noticed each mutant the last time, by the mutant's name.
type Noticed = BTreeMap<String, String>;

/// Returns which check notices each of these mutants.
pub fn all(all: &[Mutant], jobs: Vec<Job>, known: &[Known]) -> BTreeMap<usize, Verdict> {
    let file = folder().join("noticed.txt");
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    let noticed = lines.map(|(name, check)| (name.to_owned(), check.to_owned()));
    let noticed: Mutex<Noticed> = Mutex::new(noticed.collect());
    let verdicts = in_parallel(jobs, |job| {
        let name = all[job.mutant].name();
        let hints = hints(&noticed.lock().expect("no panic in here"), &all[job.mutant]);
        let verdict = examine(&job, known, &hints);
        println!("{name}: {verdict}");
        if let Verdict::NoticedByModel(by) | Verdict::NoticedByTest(by) = &verdict {
            let mut noticed = noticed.lock().expect("no panic in here");
            noticed.insert(name, by.clone());
            let line = |(name, check): (&String, &String)| format!("{name}\t{check}\n");
            // It is only to be quicker the next time.
            let _ = std::fs::write(&file, noticed.iter().map(line).collect::<String>());
        }
        (job.mutant, verdict)
    });
    verdicts.into_iter().collect()
}

/// Returns the checks that noticed a mutant, with 0; others of its function, with 1; and others of
/// its file, with 2.
fn hints(noticed: &Noticed, mutant: &Mutant) -> BTreeMap<String, usize> {
    let (name, file) = (mutant.name(), format!("{} ", mutant.file));
    let function = format!("{file}{} -- ", mutant.function);
    let mut hints = BTreeMap::new();
    for (other, check) in noticed.iter().filter(|(other, _)| other.starts_with(&file)) {
        let rank = match *other == name {
            true => 0,
            false => 2 - usize::from(other.starts_with(&function)),
        };
        let best = hints.entry(check.clone()).or_insert(rank);
        *best = rank.min(*best);
    }
    hints
}

/// Runs the checks that reach a mutant until one notices.
fn examine(job: &Job, known: &[Known], hints: &BTreeMap<String, usize>) -> Verdict {
    let checks = in_order(job, known, hints);
    let limit = |seconds: f64| Duration::from_secs_f64(job.patience * seconds + 10.0);
    let fails = |known: &Known| {
        let ended = known.check.run(Some(&job.switch), limit(known.seconds));
        !ended.passed
    };
    // Tests twice: none is to fail by chance.
    let notices = |known: &&&Known| fails(known) && (!known.check.is_test || fails(known));
    let mut rest = &checks[..];
    while !rest.is_empty() {
        let (now, then) = rest.split_at(together(rest));
        rest = then;
        if now.len() > 1 {
            let tests: Vec<_> = now.iter().map(|known| &known.check).collect();
            let seconds = now.iter().map(|known| known.seconds).sum();
            if run_together(&tests, &job.switch, limit(seconds)).passed {
                continue;
            }
        }
        if let Some(Known { check, .. }) = now.iter().find(notices) {
            return match check.is_test {
                false => Verdict::NoticedByModel(check.name.clone()),
                true => Verdict::NoticedByTest(check.name.clone()),
            };
        }
    }
    Verdict::Survived(checks.len())
}

/// Returns the checks that reach a mutant: those that the source names and those of its function's hints
/// before the others; of these the quick ones first, models before tests, and those that reach little else
/// first; and, besides those that are named, no more than may run.
fn in_order<'k>(job: &Job, known: &'k [Known], hints: &BTreeMap<String, usize>) -> Vec<&'k Known> {
    let reaches = |known: &&Known| known.reached.contains(&job.place);
    let mut checks: Vec<_> = known.iter().filter(reaches).collect();
    let is_named = |known: &Known| job.named.iter().any(|model| known.check.is_of(model));
    checks.sort_by_key(|known| {
        let (check, breadth) = (&known.check, known.reached.len());
        let hint = hints.get(&check.name).unwrap_or(&3);
        let steps = match hint {
            0 | 1 => 0,
            _ => (known.seconds / STEP) as u64,
        };
        (!is_named(known), steps, hint, check.is_test, breadth)
    });
    let mut seconds = 0.0;
    let fits = |known: &&&Known| {
        is_named(known) || {
            seconds += known.seconds;
            seconds <= job.most
        }
    };
    let fitting = checks.iter().take_while(fits).count();
    checks.truncate(fitting.max(1));
    checks
}

/// Returns how many checks at the beginning are run in one process: quick tests of one program.
fn together(checks: &[&Known]) -> usize {
    let mut seconds = 0.0;
    let fits = |known: &&&Known| {
        seconds += known.seconds;
        let check = &known.check;
        check.is_test && check.program == checks[0].check.program && seconds < TOGETHER_SECONDS
    };
    checks.iter().take(TOGETHER).take_while(fits).count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutate::check::Check;

    fn known(name: &str, seconds: f64, reached: usize) -> Known {
        let check = Check {
            name: name.to_owned(),
            is_test: name.starts_with("test "),
            ..Check::default()
        };
        let reached = (1..1 + reached).collect();
        Known {
            check,
            seconds,
            reached,
        }
    }

    fn names(most: f64, named: &[&str], hints: &[(&str, usize)]) -> Vec<String> {
        let known = [
            known("test few", 0.1, 1),
            known("model slow, rmw", 3.0, 1),
            known("model many, rmw", 0.1, 9),
            known("model few, rmw", 0.1, 2),
            known("model long, rmw", 1.0, 1),
            known("test many", 0.1, 9),
            known("model elsewhere, rmw", 0.1, 0),
        ];
        let job = Job {
            mutant: 0,
            switch: ("", String::new()),
            place: 1,
            named: named.iter().map(|&name| name.to_owned()).collect(),
            most,
            patience: 1.0,
        };
        let hints = hints
            .iter()
            .map(|(name, rank)| ((*name).to_owned(), *rank))
            .collect();
        let checks = in_order(&job, &known, &hints).into_iter();
        checks
            .map(|known| known.check.name.replace("model ", "").replace(", rmw", ""))
            .collect()
    }

    #[test]
    fn the_most_specific_checks_come_first_and_the_slow_ones_last() {
        assert_eq!(
            names(99.0, &[], &[]),
            ["few", "many", "test few", "test many", "long", "slow"]
        );
        let hints = [("test many", 0), ("model slow, rmw", 1)];
        let hinted = names(99.0, &["many"], &hints);
        assert_eq!(
            hinted,
            ["many", "test many", "slow", "few", "test few", "long"]
        );
    }

    #[test]
    fn no_more_checks_than_may_run_but_one() {
        assert_eq!(names(0.25, &[], &[]), ["few", "many"]);
        assert_eq!(names(0.0, &[], &[]), ["few"]);
        assert_eq!(names(0.25, &["slow"], &[]), ["slow", "few", "many"]);
    }

    #[test]
    fn hints_are_of_the_mutant_then_of_its_function_then_of_its_file() {
        let names = ["a.rs f -- x", "a.rs f -- y", "a.rs g -- x", "b.rs f -- x"];
        let noticed = names
            .map(|name| (name.to_owned(), format!("check of {name}")))
            .into();
        let mutant = Mutant {
            file: "a.rs".to_owned(),
            function: "f".to_owned(),
            what: "x".to_owned(),
            lines: 1..2,
        };
        let ranks: Vec<usize> = hints(&noticed, &mutant).into_values().collect();
        assert_eq!(ranks, [0, 1, 2]);
    }

    #[test]
    fn quick_tests_of_one_program_run_together() {
        let quick: Vec<_> = (0..99).map(|_| known("test quick", 0.001, 1)).collect();
        let quick: Vec<&Known> = quick.iter().collect();
        assert_eq!([together(&quick), together(&quick[..7])], [TOGETHER, 7]);
        assert_eq!(together(&[&known("model few, rmw", 0.1, 2), quick[0]]), 1);
    }
}
