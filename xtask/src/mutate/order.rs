//! Order mutants: in every function that synchronizes with other threads, statements are swapped,
//! moved and deleted.
//!
//! Weakening an ordering does not show whether a model would notice that a statement stands on the
//! wrong side of it. All mutants stand in one copy of the crate, behind a switch, and one of them
//! is chosen when a model or a test starts.
//!
//! * [`operations`]: which statements synchronize
//! * [`lists`]: the lists of statements of a file
//! * [`make`]: the mutants of a list
//! * [`text`]: how mutants are named
//! * [`render`]: the file with all its mutants in it
//! * [`errors`]: which mutants the compiler complains about
//! * [`program`]: all of `src/`, and the copy
//! * [`tokens`]: calls, found without types

mod errors;
pub mod lists;
mod make;
pub mod operations;
pub mod program;
mod render;
mod text;
mod tokens;

use super::build::{FEATURES, LOOM, NATIVE};
use super::check::{self, baseline};
use super::mutant::{Kind, Verdict};
use super::reasons::Reasons;
use super::verdict::{self, Job, MOST_IF_EXPLAINED};
use program::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Mutants that are known to be bugs. They are examined whatever else is: if one is not
/// noticed, no other result counts.
const CANARIES: &[&str] = &[
    // A message that is found without its link.
    "src/thread/inbox.rs Inbox::push -- swap: message.node().next.set(next); <-> match self.head.compare_exchange_weak( head, message.0.as_pt..",
    // A message that is released before it counts.
    "src/thread/orphans.rs Orphans::adopt -- delete: self.outstanding .fetch_add(weight as usize, Ordering::Relax..",
];

/// See [`Job::most`]. Each survivor costs all of it; it is as long as the longest models take.
const MOST: f64 = 200.0;

/// Returns which check notices each of these mutants.
pub fn examine(
    program: &mut Program,
    chosen: &BTreeSet<usize>,
    is_quick: bool,
    reasons: &Reasons,
) -> Result<BTreeMap<usize, Verdict>, String> {
    let files: BTreeSet<&String> = chosen.iter().map(|&i| &program.mutants[i].file).collect();
    let skipped = program.skipped.iter();
    for (file, (function, reason)) in skipped.filter(|(file, _)| files.contains(file)) {
        println!("not mutated: {file} {function}: it {reason}");
    }
    let canaries = canaries(program)?;
    let wanted: BTreeSet<usize> = canaries.union(chosen).copied().collect();
    program.compile(&wanted)?;
    let tests = [NATIVE.build()?, FEATURES.build()?].concat();
    let checks = check::all(&LOOM.build()?[0], &tests)?;
    let left: BTreeSet<usize> = wanted
        .into_iter()
        .filter(|&i| program.compiles(i))
        .collect();
    println!(
        "{} mutants, {} compile",
        chosen.len(),
        chosen.intersection(&left).count()
    );
    let blocks = program.blocks().max(1);
    let switch = |file: &Path| {
        std::fs::write(file, vec![0_u8; blocks]).expect("target/ can be written");
        let path = std::path::absolute(file).expect("there is a working directory");
        Some((
            "RELEASEPOOL_ORDER_REACHED",
            path.to_string_lossy().into_owned(),
        ))
    };
    let reached = |bytes: &[u8], _: &str| {
        let blocks = bytes.iter().enumerate();
        blocks
            .filter(|(_, byte)| **byte != 0)
            .map(|(block, _)| block)
            .collect()
    };
    let known = baseline(checks, is_quick, switch, reached)?;
    let job = |&mutant: &usize| {
        let reason = reasons.reason(Kind::Order, &program.mutants[mutant]);
        Job {
            mutant,
            switch: ("RELEASEPOOL_ORDER_MUTANT", (mutant + 1).to_string()),
            place: program.block(mutant),
            named: Vec::new(),
            most: reason.map_or(MOST, |_| MOST_IF_EXPLAINED),
            patience: 5.0,
        }
    };
    let jobs = left.iter().map(job).collect();
    let mut verdicts = verdict::all(&program.mutants, jobs, &known);
    let is_missed = |i: &usize| matches!(verdicts.get(i), None | Some(Verdict::Survived(_)));
    if let Some(missed) = canaries.iter().copied().find(is_missed) {
        let name = program.mutants[missed].name();
        return Err(format!(
            "this canary was not noticed, so no other result counts: {name}"
        ));
    }
    verdicts.retain(|mutant, _| chosen.contains(mutant));
    let invalid = chosen.difference(&left);
    verdicts.extend(invalid.map(|&mutant| (mutant, Verdict::DoesNotCompile)));
    Ok(verdicts)
}

/// Returns the indices of the canaries.
fn canaries(program: &Program) -> Result<BTreeSet<usize>, String> {
    let index = |canary: &&str| {
        let found = program
            .mutants
            .iter()
            .position(|mutant| mutant.name() == *canary);
        found.ok_or_else(|| format!("this canary is no mutant any more: {canary}"))
    };
    CANARIES.iter().map(index).collect()
}
