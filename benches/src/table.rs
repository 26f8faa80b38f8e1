//! Comparisons of workloads, and their targets.

use crate::comparison::{Judged, Spread};
use crate::contest::{Effort, Entry, Figure, Samples, run};
use crate::results::Verdict;
use crate::terminal::{self, digits};
use crate::workload::Workload;

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
            ours: Entry::new(threads, workload),
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
        self.theirs.push((Entry::new(threads, workload), target));
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
}

fn named(entry: &Entry) -> String {
    match entry.threads {
        1 => entry.workload.name.clone(),
        n => format!("{}, {n} threads", entry.workload.name),
    }
}

/// A remark on threads that could have run at the same time, but never did.
pub const BUSY: &str = "the machine was busy, so the threads took turns";

/// Judges a target in nanoseconds.
fn absolute(what: &str, limit: f64, ours: &Samples) -> Verdict {
    let samples = ours.each().to_vec();
    Verdict {
        asked: format!("at most {limit} ns"),
        ..verdict(what.to_owned(), limit, false, samples)
    }
}

/// Judges these values, of which there is one for each round.
fn verdict(what: String, limit: f64, at_least: bool, samples: Vec<Option<f64>>) -> Verdict {
    let spread = Spread::of(samples.iter().copied().flatten());
    let figure = spread.map_or(Figure::of(vec![f64::NAN]), |spread| spread.figure());
    Verdict {
        what,
        asked: String::new(),
        limit,
        at_least,
        measured: figure,
        samples,
        result: spread.map_or(Judged::TooFew, |spread| spread.judge(limit, at_least)),
        remark: None,
    }
}

/// Judges a target for a ratio. Returns `None` if it is not a target for these two sides alone.
fn judge(what: String, target: Target, ours: &Samples, theirs: &Samples) -> Option<Verdict> {
    let (at_least, limit) = match target {
        Target::AtMost(limit) => (false, limit),
        Target::Faster(limit) => (true, limit),
        Target::AtMostTheBest(_) | Target::None => return None,
    };
    let (one, other) = if at_least {
        (theirs, ours)
    } else {
        (ours, theirs)
    };
    let ratios = one.each().iter().zip(other.each());
    let ratios = ratios.map(|(one, other)| Some((*one)? / (*other)?));
    let mut verdict = verdict(what, limit, at_least, ratios.collect());
    verdict.asked = if at_least {
        format!("at least {limit} times as fast")
    } else {
        format!("at most {limit} times the time")
    };
    if !(ours.together() && theirs.together()) {
        verdict.remark = Some(BUSY.to_owned());
        verdict.result = Judged::TooNoisy;
    }
    Some(verdict)
}

/// Returns the name, limit and samples of the fastest workload with [`Target::AtMostTheBest`].
fn best<'s>(
    theirs: &[(Entry, Target)],
    samples: &'s [Samples],
) -> Option<(String, f64, &'s Samples)> {
    let rivals = theirs.iter().zip(samples);
    let rivals = rivals.filter_map(|((entry, target), samples)| match target {
        Target::AtMostTheBest(limit) => Some((entry, *limit, samples)),
        _ => None,
    });
    let (entry, limit, samples) =
        rivals.min_by(|(.., a), (.., b)| a.time().median.total_cmp(&b.time().median))?;
    Some((format!("the best, {}", named(entry)), limit, samples))
}

/// The measurements of a row.
pub struct Measured {
    /// A table of the figures.
    pub text: String,
    /// The result of each target.
    pub verdicts: Vec<Verdict>,
}

/// Measures a row.
pub fn measure(row: &Row, effort: Effort) -> Measured {
    let theirs = row.theirs.iter().map(|(entry, _)| entry);
    let entries: Vec<_> = std::iter::once(&row.ours).chain(theirs).cloned().collect();
    let samples = run(&entries, effort);
    let ours = &samples[0];
    let mut table = terminal::figures([
        (row.what.as_str(), 64),
        ("ns per operation", 27),
        ("ratio", 25),
    ]);
    for (at, (entry, samples)) in entries.iter().zip(&samples).enumerate() {
        let ratio = if at == 0 {
            String::new()
        } else {
            digits(ours.ratio_to(samples))
        };
        table.add_row([named(entry), digits(samples.time()), ratio]);
    }
    Measured {
        text: table.trim_fmt(),
        verdicts: judge_all(row, ours, &samples[1..]),
    }
}

fn judge_all(row: &Row, ours: &Samples, others: &[Samples]) -> Vec<Verdict> {
    let mut us = format!("{}: {}", row.what, named(&row.ours));
    if let Some(limit) = row.enough {
        us = format!("{}, or at most {limit} ns: {}", row.what, named(&row.ours));
        let verdict = absolute(&us, limit, ours);
        if verdict.result == Judged::Met {
            return vec![verdict];
        }
    }
    let mut verdicts = Vec::new();
    verdicts.extend(row.within.map(|limit| absolute(&us, limit, ours)));
    for ((entry, target), theirs) in row.theirs.iter().zip(others) {
        let sides = format!("{us} / {}", named(entry));
        verdicts.extend(judge(sides, *target, ours, theirs));
    }
    if let Some((name, limit, theirs)) = best(&row.theirs, others) {
        let sides = format!("{us} / {name}");
        verdicts.extend(judge(sides, Target::AtMost(limit), ours, theirs));
    }
    verdicts
}

/// Prints all targets in one table, and returns the number of missed ones.
pub fn conclude(verdicts: &[Verdict]) -> usize {
    let mut table = terminal::figures(
        ["target", "limit", "measured", "rounds", "result"].map(|title| (title, 0)),
    );
    for verdict in verdicts {
        let sign = if verdict.at_least { ">=" } else { "<=" };
        let result = match verdict.result {
            Judged::Met => "ok",
            Judged::Missed => "MISSED",
            Judged::TooNoisy => "too noisy to tell",
            Judged::TooFew => "too few rounds",
        };
        let mut what = verdict.what.clone();
        if let Some(remark) = &verdict.remark {
            what += &format!("\n  {remark}");
        }
        let limit = format!("{sign} {}", verdict.limit);
        let rounds = verdict.samples.iter().flatten().count();
        table.add_row([
            what,
            limit,
            digits(verdict.measured),
            rounds.to_string(),
            result.to_owned(),
        ]);
    }
    let count = |result| verdicts.iter().filter(|v| v.result == result).count();
    let missed = count(Judged::Missed);
    let open = count(Judged::TooNoisy) + count(Judged::TooFew);
    let table = table.trim_fmt();
    let all = verdicts.len();
    println!("\n{table}\n{all} targets, {missed} missed, {open} not decided");
    missed
}

/// Prints what the figures of [`measure`] are.
pub fn explain() {
    println!(
        "\nNanoseconds per operation and thread: median (quartiles). The workloads of a table take\n\
         turns in one run. The ratio is the time of the first one, divided by that of the workload.\n"
    );
}

/// Measures and prints each row, then all targets. Returns the number of missed targets.
pub fn print(rows: impl IntoIterator<Item = Row>, effort: Effort) -> usize {
    explain();
    let mut verdicts = Vec::new();
    for row in rows {
        let measured = measure(&row, effort);
        println!("{}\n", measured.text);
        verdicts.extend(measured.verdicts);
    }
    conclude(&verdicts)
}
