//! Sentences on a scenario. All of them are computed from the samples of the run, so that none can
//! contradict the figures beside it.

use crate::comparison::{Outcome, Spread};
use crate::results::{Point, Question, Results, Scenario, Series};
use crate::text::{counted, number};

/// A sentence, and the result that it states.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The number of threads that it is about.
    pub threads: usize,
    /// The result. The first side is the implementation that the question names first; of
    /// [`Question::Scaling`] it is the larger number of threads.
    pub outcome: Outcome,
    /// The sentence.
    pub text: String,
}

/// Decides which of two points took longer, as [`Spread::outcome`] does. Threads that took turns on
/// one processor show nothing.
pub fn outcome(spread: &Spread, one: &Point, other: &Point) -> Outcome {
    match spread.outcome() {
        found if found.is_conclusive() && !(one.together && other.together) => Outcome::TooNoisy,
        found => found,
    }
}

/// Returns the numbers of threads that are compared: 1, 2, and the largest measured one that is not
/// larger than the number of processors. If none of these was measured, returns the smallest one that
/// was.
pub fn columns(results: &Results) -> Vec<usize> {
    let mut measured: Vec<_> = results.points().map(|(.., point)| point.threads).collect();
    measured.sort_unstable();
    measured.dedup();
    let fits = |threads: &&usize| **threads <= results.machine.parallelism;
    let most = measured.iter().rev().find(fits).copied();
    let wanted = |threads: &usize| *threads <= 2 || Some(*threads) == most;
    let first = measured.first().copied();
    let mut columns: Vec<_> = measured.into_iter().filter(wanted).collect();
    if columns.is_empty() {
        columns.extend(first);
    }
    columns
}

/// Returns the sentences on a scenario, with these numbers of threads.
pub fn findings(scenario: &Scenario, columns: &[usize]) -> Vec<Finding> {
    let series = |name: &String| scenario.series.iter().find(|s| s.implementation == *name);
    let of_question = |question: &Question| -> Vec<Finding> {
        match question {
            Question::Between(one, other) => match series(one).zip(series(other)) {
                Some((one, other)) => {
                    let columns = columns.iter().copied();
                    columns.filter_map(|n| between(one, other, n)).collect()
                }
                None => Vec::new(),
            },
            Question::Scaling(one) => {
                let one = series(one);
                let columns = columns.iter().copied().filter(|&threads| threads > 1);
                columns.filter_map(|n| scaling(one?, n)).collect()
            }
        }
    };
    scenario.questions.iter().flat_map(of_question).collect()
}

/// Formats the beginning of a sentence.
fn with_threads(threads: usize, oversubscribed: bool) -> String {
    let more = if oversubscribed {
        ", more than processors"
    } else {
        ""
    };
    format!("{}{more}", counted(threads, "thread"))
}

/// Says why nothing is concluded.
fn inconclusive(outcome: Outcome, spread: &Spread, one: &Point, other: &Point) -> String {
    let rounds = counted(spread.rounds(), "round");
    if outcome == Outcome::TooFew {
        return format!("nothing is concluded from {rounds}");
    }
    let figure = spread.figure();
    let (low, high) = (number(figure.low), number(figure.high));
    let turns = if one.together && other.together {
        ""
    } else {
        "; the machine was busy, so the threads took turns"
    };
    format!("too noisy to tell ({low} to {high} times in half of {rounds}{turns})")
}

/// Formats how many times as long the slower side takes.
pub fn times(outcome: Outcome, spread: &Spread) -> String {
    let median = spread.figure().median;
    let slower = if outcome == Outcome::Faster {
        1.0 / median
    } else {
        median
    };
    format!("{} times as long", number(slower))
}

fn between(one: &Series, other: &Series, threads: usize) -> Option<Finding> {
    let (a, b) = (one.point(threads)?, other.point(threads)?);
    let (one, other) = (&one.implementation, &other.implementation);
    let begins = with_threads(threads, a.oversubscribed || b.oversubscribed);
    let Some(spread) = a.over(b) else {
        return Some(Finding {
            threads,
            outcome: Outcome::TooFew,
            text: format!("{begins}: {one} and {other} have no round in common."),
        });
    };
    let outcome = outcome(&spread, a, b);
    let says = match outcome {
        Outcome::Faster => format!("{other} takes {} as {one}", times(outcome, &spread)),
        Outcome::Slower => format!("{one} takes {} as {other}", times(outcome, &spread)),
        Outcome::Even => format!("{one} and {other} are even"),
        _ => format!(
            "{one} and {other}: {}",
            inconclusive(outcome, &spread, a, b)
        ),
    };
    Some(Finding {
        threads,
        outcome,
        text: format!("{begins}: {says}."),
    })
}

fn scaling(one: &Series, threads: usize) -> Option<Finding> {
    let (several, single) = (one.point(threads)?, one.point(1)?);
    let spread = several.over_unpaired(single)?;
    let outcome = outcome(&spread, several, single);
    let name = &one.implementation;
    let says = match outcome {
        Outcome::Faster => format!(
            "{name} takes less time per operation than with 1, which takes {}",
            times(outcome, &spread)
        ),
        Outcome::Slower => format!(
            "{name} takes {} per operation as with 1",
            times(outcome, &spread)
        ),
        Outcome::Even => format!("{name} takes as long per operation as with 1"),
        _ => format!(
            "{name}, compared with 1: {}",
            inconclusive(outcome, &spread, several, single)
        ),
    };
    Some(Finding {
        threads,
        outcome,
        text: format!("{}: {says}.", with_threads(threads, several.oversubscribed)),
    })
}
