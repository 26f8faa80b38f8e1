//! Finds the check that notices a mutant.

use super::check::{Known, Switch, in_parallel, pass_together};
use super::mutant::{Mutant, Verdict};
use std::collections::{BTreeMap, BTreeSet};
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

/// Returns which check notices each of these mutants. Those that have noticed others of its function are asked
/// first.
pub fn all(all: &[Mutant], jobs: Vec<Job>, known: &[Known]) -> BTreeMap<usize, Verdict> {
    let noticed: Mutex<BTreeMap<(&str, &str), BTreeSet<String>>> = Mutex::default();
    let noticed = || noticed.lock().expect("no panic in here");
    let verdicts = in_parallel(jobs, |job| {
        let mutant = &all[job.mutant];
        let function = (&*mutant.file, &*mutant.function);
        let hints = noticed().get(&function).cloned().unwrap_or_default();
        let verdict = examine(&job, known, &hints);
        println!("{}: {verdict}", mutant.name());
        if let Verdict::NoticedByModel(by) | Verdict::NoticedByTest(by) = &verdict {
            noticed().entry(function).or_default().insert(by.clone());
        }
        (job.mutant, verdict)
    });
    verdicts.into_iter().collect()
}

/// Runs the checks that reach a mutant until one notices.
fn examine(job: &Job, known: &[Known], hints: &BTreeSet<String>) -> Verdict {
    let checks = in_order(job, known, hints);
    let limit = |seconds: f64| Duration::from_secs_f64(job.patience * seconds + 10.0);
    let fails = |known: &Known| !known.check.passes(&job.switch, limit(known.seconds));
    // Tests twice: none is to fail by chance.
    let notices = |known: &&&Known| fails(known) && (!known.check.is_test || fails(known));
    let mut rest = &checks[..];
    while !rest.is_empty() {
        let (now, then) = rest.split_at(together(rest));
        rest = then;
        if now.len() > 1 {
            let tests: Vec<_> = now.iter().map(|known| &known.check).collect();
            let seconds = now.iter().map(|known| known.seconds).sum();
            if pass_together(&tests, &job.switch, limit(seconds)) {
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
fn in_order<'k>(job: &Job, known: &'k [Known], hints: &BTreeSet<String>) -> Vec<&'k Known> {
    let reaches = |known: &&Known| known.reached.contains(&job.place);
    let mut checks: Vec<_> = known.iter().filter(reaches).collect();
    let is_named = |known: &Known| job.named.iter().any(|model| known.check.is_of(model));
    checks.sort_by_key(|known| {
        let (check, breadth) = (&known.check, known.reached.len());
        let is_hint = hints.contains(&check.name);
        let steps = if is_hint {
            0
        } else {
            (known.seconds / STEP) as u64
        };
        (!is_named(known), steps, !is_hint, check.is_test, breadth)
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

    #[test]
    fn specific_and_quick_checks_come_first_and_no_more_than_may_run() {
        let known = [
            known("test few", 0.1, 1),
            known("model slow, rmw", 3.0, 1),
            known("model many, rmw", 0.1, 9),
            known("model few, rmw", 0.1, 2),
            known("model long, rmw", 1.0, 1),
            known("test many", 0.1, 9),
            known("model elsewhere, rmw", 0.1, 0),
        ];
        let owned = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        for (most, named, hints, wanted) in [
            (
                99.0,
                &[][..],
                &[][..],
                "few, many, test few, test many, long, slow",
            ),
            (
                99.0,
                &["many"],
                &["test many", "model slow, rmw"],
                "many, slow, test many, few, test few, long",
            ),
            (0.25, &[], &[], "few, many"),
            (0.0, &[], &[], "few"),
            (0.25, &["slow"], &[], "slow, few, many"),
        ] {
            let job = Job {
                mutant: 0,
                switch: ("", String::new()),
                place: 1,
                named: owned(named),
                most,
                patience: 1.0,
            };
            let checks = in_order(&job, &known, &owned(hints).into_iter().collect());
            let names: Vec<_> = checks.iter().map(|known| &*known.check.name).collect();
            let names = names.join(", ").replace("model ", "").replace(", rmw", "");
            assert_eq!(names, wanted);
        }
    }

    #[test]
    fn quick_tests_of_one_program_run_together() {
        let quick: Vec<_> = (0..99).map(|_| known("test quick", 0.001, 1)).collect();
        let quick: Vec<&Known> = quick.iter().collect();
        assert_eq!([together(&quick), together(&quick[..7])], [TOGETHER, 7]);
        assert_eq!(together(&[&known("model few, rmw", 0.1, 2), quick[0]]), 1);
    }
}
