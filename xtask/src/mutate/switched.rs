//! Mutants that all stand in one copy of the crate, behind a switch: one of them is chosen when a model
//! or a test starts.
//!
//! * [`render`]: a file with all its mutants in it
//! * [`errors`]: which mutants the compiler complains about
//! * [`program`]: all of `src/`, and the copy

mod errors;
mod program;
mod render;

pub use program::{Block, Program};
pub use render::Edit;

use super::build::{FEATURES, LOOM, NATIVE};
use super::check::{self, baseline};
use super::mutant::Verdict;
use super::reasons::Reasons;
use super::report::{Chosen, keep};
use super::verdict::{self, Job, MOST_IF_EXPLAINED};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Returns which check notices each of these mutants, and keeps in the report what became of each file, so
/// that a run that is stopped can go on with the other files. `canaries` are mutants that are known to be bugs:
/// they are examined whatever else is, and if one is not noticed, no other result counts. `most` is
/// [`Job::most`] of mutants without a reason.
pub fn examine(
    program: &mut Program,
    chosen: &Chosen,
    canaries: &[&str],
    most: f64,
    is_quick: bool,
    reasons: &Reasons,
) -> Result<BTreeMap<usize, Verdict>, String> {
    let Chosen {
        mutants: chosen,
        whole,
    } = chosen;
    let files: BTreeSet<String> = chosen
        .iter()
        .map(|&i| program.mutants[i].file.clone())
        .collect();
    let skipped = program.skipped.iter();
    for (file, skipped) in skipped.filter(|(file, _)| files.contains(file)) {
        println!("not mutated: {file} {skipped}");
    }
    let canaries = indices(canaries, program)?;
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
        Some(("RELEASEPOOL_REACHED", path.to_string_lossy().into_owned()))
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
        let reason = reasons.reason(program.kind, &program.mutants[mutant]);
        Job {
            mutant,
            switch: ("RELEASEPOOL_MUTANT", (mutant + 1).to_string()),
            place: program.block(mutant),
            // What only confirms a reason need not take long.
            named: match reason {
                Some(_) => Vec::new(),
                None => program.named(program.block(mutant)),
            },
            most: reason.map_or(most, |_| MOST_IF_EXPLAINED),
            patience: 5.0,
        }
    };
    let examined = |mutants: &BTreeSet<usize>| {
        let jobs = mutants.iter().filter(|i| left.contains(i)).map(job);
        let mut verdicts = verdict::all(&program.mutants, jobs.collect(), &known);
        let invalid = mutants.difference(&left);
        verdicts.extend(invalid.map(|&mutant| (mutant, Verdict::DoesNotCompile)));
        verdicts
    };
    let of_canaries = examined(&canaries);
    let is_missed = |i: &usize| {
        !matches!(
            of_canaries[i],
            Verdict::NoticedByModel(_) | Verdict::NoticedByTest(_)
        )
    };
    if let Some(missed) = canaries.iter().copied().find(is_missed) {
        let name = program.mutants[missed].name();
        return Err(format!(
            "this canary was not noticed, so no other result counts: {name}"
        ));
    }
    let mut verdicts = BTreeMap::new();
    for file in files {
        let of_file = |i: &usize| program.mutants[*i].file == file;
        let of_file = examined(&chosen.iter().copied().filter(of_file).collect());
        let whole = whole
            .iter()
            .filter(|whole| **whole == file)
            .cloned()
            .collect();
        keep(program.kind, &program.mutants, &whole, &of_file, reasons)?;
        verdicts.extend(of_file);
    }
    Ok(verdicts)
}

/// Returns the indices of the canaries.
fn indices(canaries: &[&str], program: &Program) -> Result<BTreeSet<usize>, String> {
    let index = |canary: &&str| {
        let found = program
            .mutants
            .iter()
            .position(|mutant| mutant.name() == *canary);
        found.ok_or_else(|| format!("this canary is no mutant any more: {canary}"))
    };
    canaries.iter().map(index).collect()
}
