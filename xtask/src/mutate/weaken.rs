//! Memory orderings, each weakened by one step: a model must then fail, and the comment in the
//! source must name it. Read-modify-writes, each split into a load and a store: a model must fail.
//! No mutant is compiled: the models can weaken an operation when they start.
//!
//! Running the models shows which orderings they reach; only the source shows which they do not
//! reach.

use super::build::HERE;
use super::check::{self, baseline};
use super::mutant::{Kind, Mutant, Verdict};
use super::reasons::Reasons;
use super::tree::sources;
use super::verdict::{self, Job, MOST_IF_EXPLAINED};
use super::written::{Written, written};
use crate::read;
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
            let Written {
                file,
                line,
                column,
                function,
                operation,
                ..
            } = &at;
            let mut mutants = Vec::new();
            for &to in weaker(part, from) {
                let what = format!("{operation} {part} {from} -> {to}");
                mutants.push((to, what));
            }
            if *part == "rmw" {
                mutants.push((SPLIT, format!("{operation} split into a load and a store")));
            }
            for (to, what) in mutants {
                self.weakened.push((self.orderings.len(), to));
                self.mutants.push(Mutant {
                    file: file.clone(),
                    function: function.clone(),
                    what,
                    lines: *line as usize..*line as usize + 1,
                });
            }
            self.orderings.push(Ordering {
                site: format!("{file}:{line}:{column}:{part}"),
                ordering: from.clone(),
                at: at.clone(),
            });
        }
    }

    /// Returns which model notices each of these mutants, and what else is wrong in these files.
    pub fn examine(
        &self,
        chosen: &BTreeSet<usize>,
        files: &BTreeSet<String>,
        is_quick: bool,
        reasons: &Reasons,
    ) -> Result<(BTreeMap<usize, Verdict>, Vec<String>), String> {
        let checks = check::all(&HERE.build()?[0], &[])?;
        let sites = self.orderings.iter().enumerate();
        let sites: BTreeMap<String, usize> = sites.map(|(i, o)| (o.line(), i)).collect();
        let unseen = Mutex::new(BTreeSet::new());
        let reached = |_: &[u8], printed: &str| {
            let mut found = BTreeSet::new();
            for line in printed
                .lines()
                .filter_map(|line| line.strip_prefix("site "))
            {
                match sites.get(line) {
                    Some(&i) => drop(found.insert(i)),
                    None if APART.iter().any(|apart| line.starts_with(apart)) => {}
                    None => drop(
                        unseen
                            .lock()
                            .expect("no panic in here")
                            .insert(line.to_owned()),
                    ),
                }
            }
            found
        };
        let known = baseline(checks, is_quick, |_| None, reached)?;
        let job = |&mutant: &usize| {
            let (place, to) = self.weakened[mutant];
            let Ordering { site, at, .. } = &self.orderings[place];
            let reason = reasons.reason(Kind::Weaken, &self.mutants[mutant]);
            Job {
                mutant,
                switch: ("RELEASEPOOL_MODEL_WEAKENED", format!("{site}={to}")),
                place,
                named: at.models.clone(),
                most: reason.map_or(f64::INFINITY, |_| MOST_IF_EXPLAINED),
                // With a weaker ordering there may be far more to explore.
                patience: 1000.0,
            }
        };
        let jobs = chosen.iter().map(job).collect();
        let verdicts = verdict::all(&self.mutants, jobs, &known);
        // If something was not found in the source, the rest is worth nothing.
        let unseen = unseen.into_inner().expect("no panic in here").into_iter();
        let unseen = unseen.map(|line| format!("not found in the source, but reached: {line}"));
        let mut complaints: Vec<String> = unseen.collect();
        for (&mutant, verdict) in &verdicts {
            let (place, to) = self.weakened[mutant];
            let Ordering { site, at, .. } = &self.orderings[place];
            let Verdict::NoticedByModel(by) = verdict else {
                continue;
            };
            let is_it = |name: &String| by.starts_with(&format!("model {name}, "));
            if to != SPLIT && !is_quick && !at.models.iter().any(is_it) {
                let named = &at.models;
                complaints.push(format!(
                    "the comment at {site} names {named:?}, but {by} fails"
                ));
            }
        }
        for (i, Ordering { site, at, .. }) in self.orderings.iter().enumerate() {
            let is_reached = known.iter().any(|known| known.reached.contains(&i));
            if !is_quick && files.contains(&at.file) && !is_reached {
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

    /// Returns the files with atomic operations.
    pub fn files(&self) -> BTreeSet<String> {
        self.orderings
            .iter()
            .map(|ordering| ordering.at.file.clone())
            .collect()
    }
}
