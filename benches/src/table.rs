//! Ratios beside their targets.

use crate::contest::{Effort, Entry, Figure, Samples, hold};
use crate::results::Verdict;
use crate::workload::Workload;

/// What is asked of a ratio.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// We take at most so many times what they take.
    AtMost(f64),
    /// We take at most so many times what the fastest of all those takes that have this
    /// target in a row.
    AtMostTheBest(f64),
    /// We are at least so many times as fast.
    Faster(f64),
    /// Nothing: to be looked at.
    None,
}

/// One workload against others.
pub struct Row {
    what: String,
    ours: Entry,
    theirs: Vec<(Entry, Target)>,
    within: Option<f64>,
    enough: Option<f64>,
}

impl Row {
    /// What is measured, and by how many threads.
    pub fn new(what: impl Into<String>, threads: usize, ours: Workload) -> Self {
        Self {
            what: what.into(),
            ours: Entry {
                workload: ours,
                threads,
            },
            theirs: Vec::new(),
            within: None,
            enough: None,
        }
    }

    /// Asks for so many nanoseconds at most, too.
    #[must_use]
    pub fn within(mut self, nanoseconds: f64) -> Self {
        self.within = Some(nanoseconds);
        self
    }

    /// So many nanoseconds at most are enough, whatever the others take.
    #[must_use]
    pub fn enough(mut self, nanoseconds: f64) -> Self {
        self.enough = Some(nanoseconds);
        self
    }

    /// For people.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What it is measured against, and by how many threads.
    #[must_use]
    pub fn against(mut self, target: Target, threads: usize, workload: Workload) -> Self {
        self.theirs.push((Entry { workload, threads }, target));
        self
    }
}

/// Never without its spread.
pub fn digits(figure: Figure) -> String {
    let Figure { low, median, high } = figure;
    let decimals = if median < 1_000.0 { 2 } else { 0 };
    format!("{median:.decimals$} ({low:.decimals$}..{high:.decimals$})")
}

fn named(entry: &Entry) -> String {
    match entry.threads {
        1 => entry.workload.name.clone(),
        n => format!("{}, {n} threads", entry.workload.name),
    }
}

/// Said of threads that could have run at the same time, and never did.
pub const BUSY: &str = "the machine was busy, threads took turns";

/// At most so many nanoseconds.
fn absolute(sides: &str, limit: f64, time: Figure) -> Verdict {
    Verdict {
        what: sides.to_owned(),
        asked: format!("at most {limit} ns"),
        limit,
        at_least: false,
        measured: time,
        met: time.median <= limit,
        remark: None,
    }
}

/// What is asked of ours and theirs, and what it is.
fn judge(what: String, target: Target, ours: &Samples, theirs: &Samples) -> Option<Verdict> {
    let (asked, limit, at_least) = match target {
        Target::AtMost(limit) => (format!("at most {limit} times the time"), limit, false),
        Target::Faster(times) => (format!("at least {times} times as fast"), times, true),
        Target::AtMostTheBest(_) | Target::None => return None,
    };
    let measured = if at_least {
        theirs.ratio_to(ours)
    } else {
        ours.ratio_to(theirs)
    };
    let busy = !(ours.together() && theirs.together());
    let met = if at_least {
        measured.median >= limit
    } else {
        measured.median <= limit
    };
    Some(Verdict {
        what,
        asked,
        limit,
        at_least,
        measured,
        met,
        remark: busy.then(|| BUSY.to_owned()),
    })
}

/// The fastest of those that have the target for it, what is asked, and what it took.
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

/// What was measured of a row.
pub struct Measured {
    /// For people, to be printed.
    pub text: String,
    /// What is said of each of its targets.
    pub verdicts: Vec<Verdict>,
}

/// Measures a row.
pub fn measure(row: &Row, effort: Effort) -> Measured {
    let theirs = row.theirs.iter().map(|(entry, _)| entry);
    let entries: Vec<_> = std::iter::once(&row.ours).chain(theirs).cloned().collect();
    let samples = hold(&entries, effort);
    let (ours, others) = (&samples[0], &samples[1..]);
    let mut text = format!("{}\n", row.what);
    text += &format!("  {:<46} {:>25}\n", named(&row.ours), digits(ours.time()));
    for ((entry, _), theirs) in row.theirs.iter().zip(others) {
        let (name, time) = (named(entry), digits(theirs.time()));
        let cost = digits(ours.ratio_to(theirs));
        text += &format!("  {name:<46} {time:>25}  x {cost}\n");
    }
    let verdicts = judge_all(row, ours, others);
    Measured { text, verdicts }
}

fn judge_all(row: &Row, ours: &Samples, others: &[Samples]) -> Vec<Verdict> {
    let time = ours.time();
    let us = format!("{}: {}", row.what, named(&row.ours));
    let enough = row.enough.filter(|limit| time.median <= *limit);
    if let Some(limit) = enough {
        return vec![absolute(&us, limit, time)];
    }
    let mut verdicts = Vec::new();
    verdicts.extend(row.within.map(|limit| absolute(&us, limit, time)));
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

/// All targets in one table. Gives how many were missed.
pub fn conclude(verdicts: &[Verdict]) -> usize {
    println!("\n{:<110} {:<8} {:>24}", "target", "", "measured");
    for verdict in verdicts {
        let sign = if verdict.at_least { ">=" } else { "<=" };
        let met = if verdict.met { "ok" } else { "MISSED" };
        println!(
            "{:<110} {sign} {:<5} {:>24}  {met}",
            verdict.what,
            verdict.limit,
            digits(verdict.measured)
        );
        if let Some(remark) = &verdict.remark {
            println!("    {remark}");
        }
    }
    let missed = verdicts.iter().filter(|verdict| !verdict.met).count();
    println!("{} targets, {missed} missed", verdicts.len());
    missed
}

/// What the figures of [`measure`] are.
pub fn explain() {
    println!("\nNanoseconds per operation and thread: median (quartiles). All of a block by");
    println!("turns in one run; \"x\" is the median of the ratios, ours to theirs.\n");
}

/// Measures each row and prints it; then all targets in one table. Gives how many
/// were missed.
pub fn print(rows: &[Row], effort: Effort) -> usize {
    explain();
    let mut verdicts = Vec::new();
    for row in rows {
        let measured = measure(row, effort);
        print!("{}", measured.text);
        verdicts.extend(measured.verdicts);
    }
    conclude(&verdicts)
}
