//! Measures a scenario: all its contestants by turns, for each number of threads.

use crate::check::Peaks;
use crate::scenario::{Contestant, Scenario};
use crate::{instructions, machine};
use releasepool_benches::contest::{Effort, Entry, Samples, run};
use releasepool_benches::results::{Measured, Side};
use releasepool_benches::table::BUSY;
use std::time::Duration;

/// A scenario on one number of threads.
pub struct Step<'s> {
    scenario: &'s Scenario,
    pub threads: usize,
    oversubscribed: bool,
}

/// Returns the title of a scenario's rows, which begins with the name for `--scenario`.
pub fn title(scenario: &Scenario) -> String {
    format!("{}: {}", scenario.id, scenario.title)
}

/// Returns a step for each number of threads that some contestant can have.
pub fn steps<'s>(scenario: &'s Scenario, threads: &[usize]) -> Vec<Step<'s>> {
    let step = |&threads: &usize| Step {
        scenario,
        threads,
        oversubscribed: threads + scenario.helpers > machine::parallelism(),
    };
    let steps = threads.iter().map(step);
    steps.filter(|s| s.contestants().next().is_some()).collect()
}

impl<'s> Step<'s> {
    fn contestants(&self) -> impl Iterator<Item = &'s Contestant> {
        let several = self.threads > 1;
        let all = self.scenario.contestants.iter();
        all.filter(move |contestant| !(several && contestant.single_threaded()))
    }

    fn effort(&self, quick: bool) -> Effort {
        // If threads share a processor, a sample spans several of their time slices. A shorter one
        // would measure threads that were alone on it.
        let (sample, total, least) = match (quick, self.oversubscribed) {
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

    /// Measures the step.
    pub fn measure(&self, quick: bool, count: bool, peaks: &Peaks) -> Measured {
        let contestants: Vec<_> = self.contestants().collect();
        let entry = |contestant: &&Contestant| Entry::new(self.threads, &(contestant.measured)());
        let entries: Vec<_> = contestants.iter().map(entry).collect();
        let samples = run(&entries, self.effort(quick));
        let count = count && self.scenario.countable && self.threads == 1;
        let sides = contestants.into_iter().zip(samples);
        let side = |(contestant, samples)| self.side(contestant, samples, count, peaks);
        Measured {
            what: title(self.scenario),
            about: vec![
                self.scenario.what.to_owned(),
                self.scenario.remarks.to_owned(),
            ],
            threads: self.threads,
            oversubscribed: self.oversubscribed,
            sides: sides.map(side).collect(),
            targets: Vec::new(),
        }
    }

    fn side(&self, contestant: &Contestant, samples: Samples, count: bool, peaks: &Peaks) -> Side {
        let id = (self.scenario.id, contestant.name);
        let peak = peaks
            .iter()
            .find(|(scenario, name, _)| (*scenario, *name) == id);
        let notes = [
            contestant.note.map(str::to_owned),
            peak.map(|(.., n)| format!("at most {n} objects alive at the same time, on 1 thread")),
            (!samples.together()).then(|| BUSY.to_owned()),
        ];
        let notes: Vec<_> = notes.into_iter().flatten().collect();
        let counted = count.then(|| instructions::count(self.scenario, contestant));
        if let Some(Err(error)) = &counted {
            eprintln!("{}, {}: {error}", self.scenario.id, contestant.name);
        }
        Side {
            name: contestant.name.to_owned(),
            role: contestant.role,
            threads: self.threads,
            note: (!notes.is_empty()).then(|| notes.join("; ")),
            samples,
            instructions: counted.and_then(Result::ok),
        }
    }
}
