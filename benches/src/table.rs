//! Rows: comparisons of workloads, and their targets.

use crate::comparison::{Judged, Spread, least_rounds};
use crate::contest::{Effort, Entry, Samples, parallelism, run};
use crate::results::{Measured, Side, Verdict};
use crate::workload::{Role, Workload};
use crate::{markdown, terminal};

/// A target for a ratio.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// Our workload takes at most this many times as long.
    AtMost(f64),
    /// Our workload takes at most this many times as long as the fastest of the workloads in the row
    /// that have this target.
    AtMostTheBest(f64),
    /// Our workload is at least this many times as fast.
    Faster(f64),
    /// There is no target.
    None,
}

/// A workload of ours, compared with others.
pub struct Row {
    /// The title, which no other kind of work has.
    pub what: String,
    /// The number of threads of our workload.
    pub threads: usize,
    /// The number of threads besides the measured ones.
    pub helpers: usize,
    /// Our workload and the others.
    entries: Vec<(Entry, Target)>,
    within: Option<f64>,
    always_within: Option<f64>,
    enough: Option<f64>,
}

impl Row {
    /// Creates a row for a workload of ours on this many threads.
    pub fn new(what: impl Into<String>, threads: usize, workload: &Workload) -> Self {
        let ours = Entry::new(threads, &workload.clone().role(Role::Ours));
        Self {
            what: what.into(),
            threads,
            helpers: 0,
            entries: vec![(ours, Target::None)],
            within: None,
            always_within: None,
            enough: None,
        }
    }

    /// Creates a row that compares the first workload, which is ours, with the others, without targets.
    pub fn of(what: impl Into<String>, threads: usize, workloads: &[Workload]) -> Self {
        Self::new(what, threads, &workloads[0]).beside(threads, &workloads[1..])
    }

    /// Adds a target: at most this many nanoseconds.
    #[must_use]
    pub fn within(mut self, nanoseconds: f64) -> Self {
        self.within = Some(nanoseconds);
        self
    }

    /// Adds a target: at most this many nanoseconds in every single round.
    #[must_use]
    pub fn always_within(mut self, nanoseconds: f64) -> Self {
        self.always_within = Some(nanoseconds);
        self
    }

    /// Lets at most this many nanoseconds meet the targets, however long the others take.
    #[must_use]
    pub fn enough(mut self, nanoseconds: f64) -> Self {
        self.enough = Some(nanoseconds);
        self
    }

    /// Adds a workload to compare ours with.
    #[must_use]
    pub fn against(mut self, target: Target, threads: usize, workload: &Workload) -> Self {
        let mut entry = Entry::new(threads, workload);
        // If `entry` has our name, it is our workload on another number of threads.
        if entry.workload.name == self.entries[0].0.workload.name {
            entry.workload.role = Role::Ours;
        }
        self.entries.push((entry, target));
        self
    }

    /// Adds workloads without targets.
    #[must_use]
    pub fn beside<'w>(
        mut self,
        threads: usize,
        workloads: impl IntoIterator<Item = &'w Workload>,
    ) -> Self {
        for workload in workloads {
            self = self.against(Target::None, threads, workload);
        }
        self
    }

    /// Returns true if anything is asked of our workload.
    pub fn has_target(&self) -> bool {
        let asks = |(_, target): &(Entry, Target)| !matches!(target, Target::None);
        let limit = self.within.or(self.always_within);
        limit.is_some() || self.entries.iter().any(asks)
    }

    /// Measures the row.
    pub fn measure(&self, effort: Effort) -> Measured {
        let entries: Vec<_> = self
            .entries
            .iter()
            .map(|(entry, _)| entry.clone())
            .collect();
        let most = entries.iter().map(|entry| entry.threads).max().unwrap_or(0);
        let oversubscribed = most + self.helpers > parallelism();
        let effort = if oversubscribed {
            effort.oversubscribed()
        } else {
            effort
        };
        let side = |(entry, samples): (&Entry, Samples)| Side {
            name: entry.workload.name.clone(),
            role: entry.workload.role,
            threads: entry.threads,
            samples,
        };
        let samples = run(&entries, effort);
        let sides: Vec<_> = entries.iter().zip(samples).map(side).collect();
        Measured {
            what: self.what.clone(),
            threads: self.threads,
            oversubscribed,
            targets: judge_all(self, &sides),
            sides,
        }
    }
}

/// A remark on threads that could have run at the same time, but never did.
const BUSY: &str = "the machine was busy, so the threads took turns";

/// Judges these values, of which there is one for each round.
fn verdict(asked: String, limit: f64, at_least: bool, samples: Vec<Option<f64>>) -> Verdict {
    let spread = Spread::of(samples.iter().copied().flatten());
    Verdict {
        asked,
        samples,
        result: spread.map_or(Judged::TooFew, |spread| spread.judge(limit, at_least)),
        remark: None,
    }
}

/// Judges a target in nanoseconds.
fn absolute(limit: f64, ours: &Samples) -> Verdict {
    let asked = format!("at most {limit} ns");
    verdict(asked, limit, false, ours.each().to_vec())
}

/// Judges a target in nanoseconds for every single round.
fn always(limit: f64, ours: &Samples) -> Verdict {
    let is_late = ours.each().iter().flatten().any(|time| *time > limit);
    Verdict {
        result: match is_late {
            _ if ours.rounds() < least_rounds() => Judged::TooFew,
            true => Judged::Missed,
            false => Judged::Met,
        },
        asked: format!("never more than {limit} ns"),
        ..absolute(limit, ours)
    }
}

/// Judges a target for a ratio. Returns `None` if it is not a target for these two sides alone.
fn judge(target: Target, name: &str, ours: &Samples, theirs: &Samples) -> Option<Verdict> {
    let (at_least, limit, one, other) = match target {
        Target::AtMost(limit) => (false, limit, ours, theirs),
        Target::Faster(limit) => (true, limit, theirs, ours),
        Target::AtMostTheBest(_) | Target::None => return None,
    };
    let asked = if at_least {
        format!("at least {limit} × as fast as {name}")
    } else {
        format!("at most {limit} × the time of {name}")
    };
    let ratios = one.each().iter().zip(other.each());
    let ratios = ratios.map(|(one, other)| Some((*one)? / (*other)?));
    let mut verdict = verdict(asked, limit, at_least, ratios.collect());
    if !(ours.together() && theirs.together()) {
        verdict.remark = Some(BUSY.to_owned());
        verdict.result = Judged::TooNoisy;
    }
    Some(verdict)
}

fn judge_all(row: &Row, sides: &[Side]) -> Vec<Verdict> {
    let ours = &sides[0].samples;
    let title = |side: &Side| side.title(row.threads);
    let mut verdicts = Vec::new();
    verdicts.extend(row.within.map(|limit| absolute(limit, ours)));
    verdicts.extend(row.always_within.map(|limit| always(limit, ours)));
    let mut best: Option<(&Side, f64)> = None;
    for ((_, target), theirs) in row.entries.iter().zip(sides).skip(1) {
        verdicts.extend(judge(*target, &title(theirs), ours, &theirs.samples));
        if let Target::AtMostTheBest(limit) = target
            && best.is_none_or(|(before, _)| theirs.median() < before.median())
        {
            best = Some((theirs, *limit));
        }
    }
    if let Some((theirs, limit)) = best {
        let name = format!("the best, {}", title(theirs));
        verdicts.extend(judge(Target::AtMost(limit), &name, ours, &theirs.samples));
    }
    if let Some(limit) = row.enough {
        let or = format!(", or at most {limit} ns");
        verdicts.iter_mut().for_each(|verdict| verdict.asked += &or);
        let short = absolute(limit, ours);
        let is_met = |verdict: &Verdict| verdict.result == Judged::Met;
        if is_met(&short) && !verdicts.iter().all(is_met) {
            return vec![short];
        }
    }
    verdicts
}

/// Prints how rows begin in benches/TABLE.md, for ci/lint.sh.
pub fn list(rows: &[Row]) {
    rows.iter()
        .for_each(|row| markdown::print_beginning(&row.what, row.threads));
}

/// Measures and prints each row.
pub fn print(rows: &[Row], effort: Effort) -> Vec<Measured> {
    let print = |row: &Row| {
        let measured = row.measure(effort);
        terminal::measured(&measured);
        measured
    };
    rows.iter().map(print).collect()
}
