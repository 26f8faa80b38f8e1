//! Comparisons of workloads, and their targets.

use crate::comparison::{Judged, Spread};
use crate::contest::{Effort, Entry, Samples, run};
use crate::results::{Measured, Side, Verdict};
use crate::terminal;
use crate::workload::{Role, Workload};

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
    what: String,
    ours: Entry,
    theirs: Vec<(Entry, Target)>,
    within: Option<f64>,
    enough: Option<f64>,
}

impl Row {
    /// Creates a row for a workload of ours on this many threads.
    pub fn new(what: impl Into<String>, threads: usize, workload: &Workload) -> Self {
        Self {
            what: what.into(),
            ours: Entry::new(threads, &workload.clone().role(Role::Ours)),
            theirs: Vec::new(),
            within: None,
            enough: None,
        }
    }

    /// Adds a target: at most this many nanoseconds.
    #[must_use]
    pub fn within(mut self, nanoseconds: f64) -> Self {
        self.within = Some(nanoseconds);
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
        // If it has our name, it is our workload on another number of threads.
        if entry.workload.name == self.ours.workload.name {
            entry.workload.role = Role::Ours;
        }
        self.theirs.push((entry, target));
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

    /// Returns the title.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Returns the number of threads.
    pub fn threads(&self) -> usize {
        self.ours.threads
    }

    /// Returns true if anything is asked of our workload.
    pub fn has_target(&self) -> bool {
        let asks = |(_, target): &(Entry, Target)| !matches!(target, Target::None);
        self.within.is_some() || self.theirs.iter().any(asks)
    }
}

/// A remark on threads that could have run at the same time, but never did.
pub const BUSY: &str = "the machine was busy, so the threads took turns";

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
    let title = |side: &Side| side.title(row.ours.threads);
    let mut verdicts = Vec::new();
    verdicts.extend(row.within.map(|limit| absolute(limit, ours)));
    let mut best: Option<(&Side, f64)> = None;
    for ((_, target), theirs) in row.theirs.iter().zip(&sides[1..]) {
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

/// Returns the rows that a command line asks for: those with one of its words in their titles, if it has any;
/// with `--targets`, those that have targets.
pub fn asked(rows: Vec<Row>, arguments: &[String]) -> impl Iterator<Item = Row> {
    let (options, parts): (Vec<_>, Vec<_>) = arguments.iter().partition(|a| a.starts_with("--"));
    let only_targets = options.iter().any(|option| *option == "--targets");
    rows.into_iter().filter(move |row| {
        let is_named = parts.iter().any(|part| row.what.contains(*part));
        (parts.is_empty() || is_named) && (row.has_target() || !only_targets)
    })
}

/// Measures a row.
pub fn measure(row: &Row, effort: Effort) -> Measured {
    let theirs = row.theirs.iter().map(|(entry, _)| entry);
    let entries: Vec<_> = std::iter::once(&row.ours).chain(theirs).cloned().collect();
    let side = |(entry, samples): (&Entry, Samples)| Side {
        name: entry.workload.name.clone(),
        role: entry.workload.role,
        threads: entry.threads,
        note: None,
        samples,
        instructions: None,
    };
    let sides: Vec<_> = entries
        .iter()
        .zip(run(&entries, effort))
        .map(side)
        .collect();
    Measured {
        what: row.what.clone(),
        about: Vec::new(),
        threads: row.ours.threads,
        oversubscribed: false,
        targets: judge_all(row, &sides),
        sides,
    }
}

/// Measures and prints each row.
pub fn print(rows: impl IntoIterator<Item = Row>, effort: Effort) -> Vec<Measured> {
    terminal::explain();
    let mut all = Vec::new();
    for row in rows {
        let measured = measure(&row, effort);
        terminal::measured(&measured);
        all.push(measured);
    }
    all
}
