//! Memory orderings, each weakened by one step: a model must then fail, and the comment in the
//! source must name it. Read-modify-writes, each split into a load and a store: a model must fail.
//! No mutant is compiled: the models can weaken an operation when they start.
//!
//! Running the models shows which orderings they reach; only the source shows which they do not
//! reach.

use super::check::{self, Asked, Job, Show, Way, baseline};
use super::copy::{HERE, sources};
use super::mutant::{self, Kind, Mutant, Verdict};
use super::order::operations::{ATOMIC, FENCE};
use super::report::{Chosen, keep};
use crate::command::read;
use crate::rust::{self, Words, calls};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// Statistics, settings and numbers are plain atomics in loom builds too, so no model can tell
/// whether they order anything: they must not mean to.
const COUNTERS: &str = "src/sync/counter.rs";

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
        "fetch_update" => &["rmw", "failure", "load"],
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
        mutant::number(&mut program.mutants);
        Ok(program)
    }

    fn add(&mut self, at: Written) {
        // An update loads before its first exchange.
        let again = at
            .orderings
            .last()
            .filter(|_| at.operation == "fetch_update");
        let orderings = at.orderings.iter().chain(again);
        for (part, from) in parts(&at.operation).iter().zip(orderings) {
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
                    kind: Kind::Weaken,
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
        asked: &Asked,
    ) -> Result<(BTreeMap<usize, Verdict>, Vec<String>), String> {
        let checks = check::all(&HERE.build()?[0], &[], &[])?;
        let sites = self.orderings.iter().enumerate();
        let sites: BTreeMap<String, usize> = sites.map(|(i, o)| (o.line(), i)).collect();
        // What is reached, but not found in the source.
        let unseen = Mutex::new(BTreeSet::new());
        let reached = |_: &[u8], printed: &str| {
            let lines = printed
                .lines()
                .filter_map(|line| line.strip_prefix("site "));
            let lines = lines.filter(|line| rust::is_for_all(line));
            let (found, others): (Vec<_>, Vec<_>) =
                lines.partition(|line| sites.contains_key(*line));
            unseen
                .lock()
                .expect("no panic in here")
                .extend(others.into_iter().map(str::to_owned));
            found.into_iter().map(|line| sites[line]).collect()
        };
        let way = Way {
            switch: "RELEASEPOOL_MODEL_WEAKENED",
            notes: None,
            at_once: 1,
            // With a weaker ordering there may be far more to explore.
            patience: 1000.0,
        };
        let known = baseline(checks, &way, reached)?;
        let job = |&mutant: &usize| {
            let (place, to) = self.weakened[mutant];
            let Ordering { site, at, .. } = &self.orderings[place];
            Job {
                mutant,
                switch: format!("{site}={to}"),
                places: BTreeSet::from([place]),
                named: at.models.clone(),
            }
        };
        let jobs = chosen.mutants.iter().map(job).collect();
        let show = Show::new(&self.mutants, &known, &way, asked)?;
        let verdicts = show.verdicts(&show.to_all(show.alone(jobs)));
        keep(&self.mutants, &chosen.whole, &verdicts)?;
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
        let examined: BTreeSet<_> = of_mutants
            .chain(chosen.whole.iter().map(|(_, file)| file))
            .collect();
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

/// One atomic operation, as it stands in the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Written {
    /// From the root of the package, with slashes.
    pub file: String,
    pub line: usize,
    /// Of the operation's name, from 1: what `#[track_caller]` gives.
    pub column: usize,
    /// The function that it is in.
    pub function: String,
    pub operation: String,
    /// One, or those of success and failure.
    pub orderings: Vec<String>,
    /// The models that the comment above it names.
    pub models: Vec<String>,
}

/// The atomic operations in one file, in the order in which they stand there: calls of an operation's name with an
/// `Ordering::` among the arguments. Tests are left out.
///
/// # Errors
/// If it is no Rust.
fn written(file: &str, text: &str) -> Result<Vec<Written>, String> {
    let words = Words::of(rust::tokens(rust::parse(file, text)?));
    let texts = words.texts();
    let functions = rust::items(&texts, "fn");
    // Where the last operation or function begins: comments are read from there on.
    let (mut after_last, mut from) = (0, 0);
    let mut found = Vec::new();
    for call in calls(&texts) {
        let orderings = orderings(&call.arguments);
        if orderings.is_empty() || !is_operation(call.name) {
            continue;
        }
        let byte = |at: usize| words.spans[at].byte_range().start;
        let begun = (from..call.at)
            .rev()
            .find(|&at| texts[at] == "fn" && rust::is_name(texts[at + 1]));
        after_last = begun.map_or(after_last, |at| byte(at + 1));
        let at = words.spans[call.at].start();
        found.push(Written {
            file: file.to_owned(),
            line: at.line,
            column: at.column + 1,
            function: functions[call.at].map_or("", |at| texts[at + 1]).to_owned(),
            operation: call.name.to_owned(),
            orderings,
            models: models(&text[after_last..byte(call.at)]),
        });
        (after_last, from) = (byte(call.at), call.at);
    }
    Ok(found)
}

fn is_operation(name: &str) -> bool {
    name == FENCE || ATOMIC.contains(&name)
}

/// The names behind `Ordering::`, but for those of operations among the arguments.
fn orderings(arguments: &[&str]) -> Vec<String> {
    let (mut found, mut rest) = (Vec::new(), arguments);
    while let Some((word, after)) = rest.split_first() {
        rest = match (*word, after) {
            ("Ordering", ["::", name, after @ ..]) => {
                found.push((*name).to_owned());
                after
            }
            (name, ["(", ..]) if is_operation(name) => &after[rust::closing(after)..],
            _ => after,
        };
    }
    found
}

/// The names in the last `Model: a, b.` of these lines.
fn models(text: &str) -> Vec<String> {
    let last = text.rfind("Model: ").map_or("", |at| &text[at..]);
    rust::models_in(last).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line and column that `#[track_caller]` gives.
    #[track_caller]
    fn load(_: std::sync::atomic::Ordering) -> (usize, usize) {
        let at = std::panic::Location::caller();
        (at.line() as usize, at.column() as usize)
    }

    #[test]
    fn places_are_those_that_track_caller_gives() {
        use std::sync::atomic::Ordering;
        #[rustfmt::skip]
        let given = [
            load(Ordering::Relaxed),
            /* ≥ 1 */ load(Ordering::Acquire),
            Some(Ordering::SeqCst).map(|_| load(Ordering::SeqCst)).unwrap(),
        ];
        // So that these tests are not left out.
        let text = include_str!("weaken.rs").replace("#[cfg(test)]", "            ");
        let all = written("weaken.rs", &text).unwrap().into_iter();
        let of_this = all.filter(|w| w.function == "places_are_those_that_track_caller_gives");
        assert!(of_this.map(|w| (w.line, w.column)).eq(given));
    }

    #[test]
    fn operations_are_found_wherever_they_stand() {
        // A function, its operation and orderings, and where they stand.
        for line in "
            a compare_exchange AcqRel Acquire | fn a() { x.compare_exchange(1, f(2), Ordering::AcqRel, a::Ordering::Acquire); }
            b fence Release, a load Relaxed | fn a() { fn b() { fence(Ordering::Release); } assert!(x.load(Ordering::Relaxed)); }
            d swap AcqRel | impl A { fn c(&self) -> [u8; 2]; fn d(&self) { x.swap(1, Ordering::AcqRel) } }
            - load Relaxed | global! { static X: A = y.load(Ordering::Relaxed); }
            f store Release, f load Acquire | fn f() { a.store(b.load(Ordering::Acquire), Ordering::Release); }
            | fn f() { v.swap(1, 2); file.load(path); }
            | fn f() { other(Ordering::Relaxed); let load = Ordering::Relaxed; }
            | /* x.load(Ordering::Relaxed) */ fn f() { \"x.load(Ordering::Relaxed)\"; }
            | #[cfg(test)] mod tests { fn f() { x.load(Ordering::Relaxed); } }
            | #[cfg(all(test, not(loom)))] mod m { fn f() { x.load(Ordering::Relaxed); } }"
            .lines()
            .skip(1)
        {
            let (wanted, text) = line.split_once("| ").unwrap();
            let found = written("a.rs", text).unwrap().into_iter();
            let found = found.map(|w| format!("{} {} {}", w.function, w.operation, w.orderings.join(" ")));
            assert_eq!(found.collect::<Vec<_>>().join(", "), wanted.trim().trim_start_matches('-'));
        }
    }

    #[test]
    fn models_are_those_of_the_comment_above() {
        let text = "
            // Model: none.
            fn f() {
                // Acquire: why. Model: one, two.
                x.load(Ordering::Acquire);
                x.load(Ordering::Acquire);
            }
            fn g() { x.load(Ordering::Acquire); }
        ";
        let models = written("a.rs", text).unwrap().into_iter().map(|w| w.models);
        assert!(models.eq([vec!["one", "two"], vec![], vec![]]));
    }
}
