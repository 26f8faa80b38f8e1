//! Measures a scenario: all its contestants by turns, for each number of threads.

use crate::machine;
use crate::scenario::{Contestant, Scenario};
use releasepool_benches::contest::{Effort, Entry, run};
use releasepool_benches::results::{Point, Series};
use releasepool_benches::table::BUSY;
use std::time::Duration;

/// The effort and the numbers of threads.
pub struct Plan {
    pub quick: bool,
    pub threads: Vec<usize>,
    pub parallelism: usize,
}

/// A scenario on one number of threads.
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
        // If threads share a processor, a sample spans several of their time slices. A shorter one
        // would measure threads that were alone on it.
        let (sample, total, least) = match (self.quick, step.oversubscribed) {
            (true, false) => (300, 200, 8),
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

    /// Adds the step's points to the series of the scenario's contestants.
    pub fn measure(&self, step: &Step, series: &mut [Series]) {
        let contestants: Vec<_> = step.contestants().collect();
        let entry = |contestant: &&Contestant| Entry::new(step.threads, &(contestant.measured)());
        let entries: Vec<_> = contestants.iter().map(entry).collect();
        let samples = run(&entries, self.effort(step));
        for (index, (contestant, taken)) in contestants.iter().zip(&samples).enumerate() {
            let mut all = series.iter_mut();
            let series = all.find(|series| series.implementation == contestant.name);
            let series = series.expect("each contestant has a series");
            if !taken.together() {
                let note = format!("{} threads: {BUSY}", step.threads);
                series.note = Some(match &series.note {
                    Some(before) => format!("{before}; {note}"),
                    None => note,
                });
            }
            let first = (index > 0).then_some(&samples[0]);
            let point = Point::new(step.threads, step.oversubscribed, taken, first);
            series.points.push(point);
        }
    }
}

impl<'s> Step<'s> {
    fn contestants(&self) -> impl Iterator<Item = &'s Contestant> {
        let several = self.threads > 1;
        let all = self.scenario.contestants.iter();
        all.filter(move |contestant| !(several && contestant.single_threaded()))
    }

    /// Returns the length of the step, relative to other steps.
    pub fn weight(&self) -> u64 {
        let each = if self.oversubscribed { self.threads } else { 1 };
        ((1 + self.contestants().count()) * each) as u64
    }
}
