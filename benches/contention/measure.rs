//! Measures a scenario: all that can do it by turns in one run, for each number of threads.

use crate::machine;
use crate::scenario::{Contestant, Scenario};
use releasepool_benches::contest::{Effort, Entry, hold};
use releasepool_benches::results::{Point, Series};
use releasepool_benches::table::BUSY;
use std::time::Duration;

/// How much is measured, and by how many threads.
pub struct Plan {
    pub quick: bool,
    pub threads: Vec<usize>,
    pub parallelism: usize,
}

/// One number of threads of a scenario.
pub struct Step<'s> {
    scenario: &'s Scenario,
    pub threads: usize,
    pub oversubscribed: bool,
}

impl Plan {
    pub fn new(quick: bool, threads: Vec<usize>) -> Self {
        Self {
            quick,
            threads,
            parallelism: machine::parallelism(),
        }
    }

    pub fn steps<'s>(&self, scenario: &'s Scenario) -> Vec<Step<'s>> {
        let step = |&threads: &usize| Step {
            scenario,
            threads,
            oversubscribed: threads + scenario.helpers > self.parallelism,
        };
        let steps = self.threads.iter().map(step);
        steps.filter(|s| s.contestants().next().is_some()).collect()
    }

    fn effort(&self, step: &Step) -> Effort {
        // Where threads take turns on a processor, a sample is longer than these turns are,
        // or it would show threads that were alone on it.
        let (sample, total, least) = match (self.quick, step.oversubscribed) {
            (true, false) => (300, 200, 5),
            (true, true) => (6_000, 200, 4),
            (false, false) => (1_000, 3_000, 15),
            (false, true) => (20_000, 3_000, 9),
        };
        Effort {
            sample: Duration::from_micros(sample),
            total: Duration::from_millis(total),
            least,
        }
    }

    /// Adds the step's points to the series, which are those of the scenario's contestants.
    pub fn measure(&self, step: &Step, series: &mut [Series]) {
        let contestants: Vec<_> = step.contestants().collect();
        let entry = |contestant: &&Contestant| Entry {
            workload: (contestant.measured)(),
            threads: step.threads,
        };
        let entries: Vec<_> = contestants.iter().map(entry).collect();
        let samples = hold(&entries, self.effort(step));
        for (index, (contestant, taken)) in contestants.iter().zip(&samples).enumerate() {
            let mut all = series.iter_mut();
            let series = all.find(|series| series.implementation == contestant.name);
            let series = series.expect("one for each");
            if !taken.together() {
                let note = format!("{} threads: {BUSY}", step.threads);
                series.note = Some(match &series.note {
                    Some(before) => format!("{before}; {note}"),
                    None => note,
                });
            }
            series.points.push(Point {
                threads: step.threads,
                oversubscribed: step.oversubscribed,
                time: taken.time(),
                ratio: (index > 0).then(|| taken.ratio_to(&samples[0])),
                rounds: taken.rounds(),
                instructions: None,
                before: None,
            });
        }
    }
}

impl<'s> Step<'s> {
    fn contestants(&self) -> impl Iterator<Item = &'s Contestant> {
        let several = self.threads > 1;
        let all = self.scenario.contestants.iter();
        all.filter(move |contestant| !(several && contestant.alone()))
    }

    /// How long it takes, beside other steps.
    pub fn weight(&self) -> f64 {
        let each = if self.oversubscribed {
            self.threads as f64
        } else {
            1.0
        };
        (1 + self.contestants().count()) as f64 * each
    }
}
