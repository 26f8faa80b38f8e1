//! Memory orderings, each weakened by one step: a model must then fail, and the comment in the
//! source must name it. Read-modify-writes, each split into a load and a store: a model must fail.
//! No mutant is compiled: the models can weaken an operation when they start.
//!
//! Running the models shows which orderings they reach; only the source shows which they do not
//! reach.

use super::check::{self, baseline};
use super::copy::{HERE, sources};
use super::mutant::{Kind, Mutant, Reasons, Verdict};
use super::report::Chosen;
use super::verdict::{self, Job, MOST_IF_EXPLAINED};
use super::written::{Written, written};
use crate::command::read;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// Statistics, settings and numbers are plain atomics in loom builds too, so no model can tell
/// whether they order anything: they must not mean to.
const COUNTERS: &str = "src/sync/counter.rs";

/// Part of the paths of operations that are not mutated.
const APART: [&str; 2] = ["src/model.rs", "src/sync/"];

/// What a read-modify-write becomes, beside weaker orderings.
const SPLIT: &str = "split";

/// The orderings of `src/`, and their mutants.
pub struct Program {
    orderings: Vec<Ordering>,
    pub mutants: Vec<Mutant>,
    /// By mutant: the ordering, and what becomes of it.
    weakened: Vec<(usize, &'static str)>,
}

/// One ordering of an atomic operation.
struct Ordering {
    /// `FILE:LINE:COLUMN:PART`, as the models print it.
    site: String,
    ordering: String,
    at: Written,
}

fn weaker(part: &str, ordering: &str) -> &'static [&'static str] {
    match ordering {
        // loom knows sequentially consistent fences.
        "SeqCst" if part == "fence" => &["AcqRel"],
        "Acquire" | "Release" => &["Relaxed"],
        // loom takes a sequentially consistent access for AcqRel.
        "AcqRel" | "SeqCst" => &["Acquire", "Release"],
        _ => &[],
    }
}

/// Returns what the orderings of an operation are for, in the words of `releasepool::model`.
fn parts(operation: &str) -> &'static [&'static str] {
    match operation {
        "load" => &["load"],
        "store" => &["store"],
        "fence" => &["fence"],
        _ => &["rmw", "failure"],
    }
}

impl Ordering {
    /// Returns what a model prints that reaches it.
    fn line(&self) -> String {
        format!("{} {}", self.site, self.ordering)
    }
}

impl Program {
    /// Reads all atomic operations, but for the door to loom itself and what only models use.
    pub fn read() -> Result<Self, String> {
        let mut program = Self {
            orderings: Vec::new(),
            mutants: Vec::new(),
            weakened: Vec::new(),
        };
        for (file, text) in sources()? {
            let mut found = written(&file, &text)?;
            found.sort();
            found.into_iter().for_each(|at| program.add(at));
        }
        Ok(program)
    }

    fn add(&mut self, at: Written) {
        for (part, from) in parts(&at.operation).iter().zip(&at.orderings) {
            let operation = &at.operation;
            let weaker = weaker(part, from).iter();
            let split = (*part == "rmw").then_some(&SPLIT);
            for &to in weaker.chain(split) {
                let what = match to {
                    SPLIT => format!("{operation} split into a load and a store"),
                    _ => format!("{operation} {part} {from} -> {to}"),
                };
                self.weakened.push((self.orderings.len(), to));
                self.mutants.push(Mutant {
                    file: at.file.clone(),
                    function: at.function.clone(),
                    what,
                    lines: at.line..at.line + 1,
                });
            }
            self.orderings.push(Ordering {
                site: format!("{}:{}:{}:{part}", at.file, at.line, at.column),
                ordering: from.clone(),
                at: at.clone(),
            });
        }
    }

    /// Returns which model notices each of these mutants, and what else is wrong in these files.
    pub fn examine(
        &self,
        chosen: &Chosen,
        reasons: &Reasons,
    ) -> Result<(BTreeMap<usize, Verdict>, Vec<String>), String> {
        let checks = check::all(&HERE.build()?[0], &[])?;
        let sites = self.orderings.iter().enumerate();
        let sites: BTreeMap<String, usize> = sites.map(|(i, o)| (o.line(), i)).collect();
        // What is reached, but not found in the source.
        let unseen = Mutex::new(BTreeSet::new());
        let reached = |_: &[u8], printed: &str| {
            let lines = printed
                .lines()
                .filter_map(|line| line.strip_prefix("site "));
            let lines = lines.filter(|line| !APART.iter().any(|apart| line.starts_with(apart)));
            let (found, others): (Vec<_>, Vec<_>) =
                lines.partition(|line| sites.contains_key(*line));
            unseen
                .lock()
                .expect("no panic in here")
                .extend(others.into_iter().map(str::to_owned));
            found.into_iter().map(|line| sites[line]).collect()
        };
        let known = baseline(checks, |_| None, reached)?;
        let job = |&mutant: &usize| {
            let (place, to) = self.weakened[mutant];
            let Ordering { site, at, .. } = &self.orderings[place];
            let is_explained = reasons.explain(Kind::Weaken, &self.mutants[mutant]);
            Job {
                mutant,
                switch: ("RELEASEPOOL_MODEL_WEAKENED", format!("{site}={to}")),
                place,
                named: at.models.clone(),
                most: if is_explained {
                    MOST_IF_EXPLAINED
                } else {
                    f64::INFINITY
                },
                // With a weaker ordering there may be far more to explore.
                patience: 1000.0,
            }
        };
        let jobs = chosen.mutants.iter().map(job).collect();
        let verdicts = verdict::all(&self.mutants, jobs, &known);
        // If something was not found in the source, the rest is worth nothing.
        let unseen = unseen.into_inner().expect("no panic in here");
        let complaint = |line| format!("not found in the source, but reached: {line}");
        let mut complaints: Vec<String> = unseen.into_iter().map(complaint).collect();
        for (&mutant, verdict) in &verdicts {
            let (place, to) = self.weakened[mutant];
            let Ordering { site, at, .. } = &self.orderings[place];
            let Verdict::NoticedByModel(by) = verdict else {
                continue;
            };
            let is_it = |name: &String| by.starts_with(&format!("model {name}, "));
            if to != SPLIT && !at.models.iter().any(is_it) {
                complaints.push(format!(
                    "the comment at {site} names {:?}, but {by} fails",
                    at.models
                ));
            }
        }
        let of_mutants = chosen
            .mutants
            .iter()
            .map(|&mutant| &self.mutants[mutant].file);
        let examined: BTreeSet<_> = of_mutants.chain(&chosen.whole).collect();
        for (i, Ordering { site, at, .. }) in self.orderings.iter().enumerate() {
            let is_reached = known.iter().any(|known| known.reached.contains(&i));
            if examined.contains(&at.file) && !is_reached {
                complaints.push(format!("no model reaches {site} in {}", at.function));
            }
        }
        let counters = written(COUNTERS, &read(COUNTERS)?)?;
        let mut orderings = counters.iter().flat_map(|at| &at.orderings);
        if counters.is_empty() || orderings.any(|ordering| ordering != "Relaxed") {
            complaints.push(format!("{COUNTERS} orders something, which no model sees"));
        }
        Ok((verdicts, complaints))
    }
}

/// Returns the files with atomic operations.
pub fn files() -> Result<BTreeSet<String>, String> {
    let operations = Program::read()?.orderings.into_iter();
    Ok(operations.map(|ordering| ordering.at.file).collect())
}
