//! How the time of the run is divided among its parts.

use crate::args::Options;
use crate::job::schedule::End;
use std::time::{Duration, Instant};

/// The length of the run if the command line names none.
const LENGTH: Duration = Duration::from_secs(10);

/// The least time for comparisons in a run without a bound, whose main job may have taken more than
/// its part.
const COMPARISONS: Duration = Duration::from_secs(5);

/// The parts of a bounded run's time at which the main job and the verification end. The process
/// needs some time for its end, too.
const MAIN_JOB: f64 = 0.4;
const MAIN_JOB_ALONE: f64 = 0.7;
const VERIFICATION: f64 = 0.6;
const ALL: f64 = 0.97;

pub struct Plan {
    start: Instant,
    length: Duration,
    /// True if the run must end in time, even if not every document has been parsed then.
    is_bounded: bool,
    rounds: Option<u64>,
    compares: bool,
}

impl Plan {
    /// Makes the plan of a run that begins now.
    pub fn new(options: &Options) -> Self {
        Self {
            start: Instant::now(),
            length: options.seconds.unwrap_or(LENGTH),
            is_bounded: options.seconds.is_some(),
            rounds: options.rounds,
            compares: !options.no_compare,
        }
    }

    fn at(&self, part: f64) -> Instant {
        self.start + self.length.mul_f64(part)
    }

    /// Returns when the main job, which has so many documents, has to end.
    pub fn main_job(&self, documents: usize) -> End {
        if let Some(rounds) = self.rounds {
            return End::Rounds(rounds);
        }
        End::At {
            time: self.at(if self.compares {
                MAIN_JOB
            } else {
                MAIN_JOB_ALONE
            }),
            at_least: if self.is_bounded { 1 } else { documents as u64 },
        }
    }

    /// Returns when the verification has to end; `None` if it must not be cut short.
    pub fn verification(&self) -> Option<Instant> {
        let part = if self.compares { VERIFICATION } else { ALL };
        self.is_bounded.then(|| self.at(part))
    }

    /// Returns whether anything is to be compared after the verification.
    pub fn compares(&self) -> bool {
        self.compares
    }

    /// Returns how much time is left for comparisons.
    pub fn left(&self) -> Duration {
        let left = self.at(ALL).saturating_duration_since(Instant::now());
        if self.is_bounded {
            left
        } else {
            left.max(COMPARISONS)
        }
    }

    /// Returns how long the run has taken so far.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn plan(options: &[&str]) -> Plan {
        Plan::new(&Options::parse_from([&["share"], options].concat()))
    }

    #[test]
    fn seconds_bound_all_parts() {
        let plan = plan(&["--seconds", "100"]);
        let End::At { time, at_least } = plan.main_job(1000) else {
            panic!("a run for a time");
        };
        let end = plan.start + Duration::from_secs(100);
        assert!(at_least <= 1 && time < plan.verification().unwrap());
        assert!(plan.verification().unwrap() < end);
        assert!(Instant::now() + plan.left() < end);
    }

    #[test]
    fn a_run_without_a_bound_parses_each_document() {
        let plan = plan(&[]);
        assert!(matches!(
            plan.main_job(1000),
            End::At { at_least: 1000, .. }
        ));
        assert!(plan.verification().is_none());
    }

    #[test]
    fn a_run_in_rounds_leaves_time_for_comparisons() {
        let mut plan = plan(&["--rounds", "7"]);
        assert!(matches!(plan.main_job(1000), End::Rounds(7)));
        plan.length = Duration::ZERO;
        assert_eq!(plan.left(), COMPARISONS);
    }

    #[test]
    fn without_comparisons_the_main_job_takes_longer() {
        let end = |plan: Plan| match plan.main_job(1) {
            End::At { time, .. } => time - plan.start,
            End::Rounds(_) => panic!("a run for a time"),
        };
        assert!(end(plan(&["--no-compare"])) > end(plan(&[])));
    }
}
