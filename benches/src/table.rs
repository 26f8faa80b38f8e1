//! Ratios beside their targets.

use crate::contest::{Effort, Entry, Figure, Samples, hold};
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
        }
    }

    /// Asks for so many nanoseconds at most, too.
    #[must_use]
    pub fn within(mut self, nanoseconds: f64) -> Self {
        self.within = Some(nanoseconds);
        self
    }

    /// What it is measured against, and by how many threads.
    #[must_use]
    pub fn against(mut self, target: Target, threads: usize, workload: Workload) -> Self {
        self.theirs.push((Entry { workload, threads }, target));
        self
    }
}

fn digits(figure: Figure) -> String {
    let Figure { low, median, high } = figure;
    format!("{median:.2} ({low:.2}..{high:.2})")
}

fn named(entry: &Entry) -> String {
    match entry.threads {
        1 => entry.workload.name.clone(),
        n => format!("{}, {n} threads", entry.workload.name),
    }
}

/// The measured side of a target, and whether it is met.
fn judge(target: Target, cost: Figure, gain: Figure) -> Option<(String, bool)> {
    match target {
        Target::AtMost(limit) => Some((
            format!("<= {limit:<5} {:>24}", digits(cost)),
            cost.median <= limit,
        )),
        Target::Faster(times) => Some((
            format!(">= {times:<5} {:>24}", digits(gain)),
            gain.median >= times,
        )),
        Target::AtMostTheBest(_) | Target::None => None,
    }
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

/// Measures each row and prints it; then all targets in one table. Gives how many
/// were missed.
pub fn print(rows: &[Row], effort: Effort) -> usize {
    println!("\nNanoseconds per operation and thread: median (quartiles). All of a block by");
    println!("turns in one run; \"x\" is the median of the ratios, ours to theirs.\n");
    let mut targets = Vec::new();
    for row in rows {
        let theirs = row.theirs.iter().map(|(entry, _)| entry);
        let entries: Vec<_> = std::iter::once(&row.ours).chain(theirs).cloned().collect();
        let samples = hold(&entries, effort);
        let ours = &samples[0];
        println!("{}", row.what);
        println!("  {:<46} {:>25}", named(&row.ours), digits(ours.time()));
        if let Some(limit) = row.within {
            let time = ours.time();
            targets.push((
                format!("{}: {}, nanoseconds", row.what, named(&row.ours)),
                format!("<= {limit:<5} {:>24}", digits(time)),
                time.median <= limit,
            ));
        }
        for ((entry, target), theirs) in row.theirs.iter().zip(&samples[1..]) {
            let cost = ours.ratio_to(theirs);
            let (name, time) = (named(entry), digits(theirs.time()));
            println!("  {name:<46} {time:>25}  x {}", digits(cost));
            if let Some((measured, met)) = judge(*target, cost, theirs.ratio_to(ours)) {
                let sides = format!("{}: {} / {name}", row.what, named(&row.ours));
                targets.push((sides, measured, met));
            }
        }
        if let Some((name, limit, theirs)) = best(&row.theirs, &samples[1..]) {
            let target = Target::AtMost(limit);
            let cost = ours.ratio_to(theirs);
            if let Some((measured, met)) = judge(target, cost, theirs.ratio_to(ours)) {
                let sides = format!("{}: {} / {name}", row.what, named(&row.ours));
                targets.push((sides, measured, met));
            }
        }
    }
    println!("\n{:<110} {:<8} {:>24}", "target", "", "measured");
    for (sides, measured, met) in &targets {
        let met = if *met { "ok" } else { "MISSED" };
        println!("{sides:<110} {measured}  {met}");
    }
    let missed = targets.iter().filter(|(_, _, met)| !met).count();
    println!("{} targets, {missed} missed", targets.len());
    missed
}
