//! Mutants: small changes of `src/`, each of which a model or a test must notice. `ci/mutate.sh`.
//!
//! A mutant that survives stands in the list of reasons, or the command fails.
//!
//! * [`mutant`]: kinds of mutants, and what becomes of them
//! * [`order`], [`logic`], [`weaken`]: the mutants of each kind
//! * [`switched`]: the mutants of the first two kinds, in one copy of the crate
//! * [`wanted`], [`diff`]: which mutants are examined
//! * [`tree`], [`build`]: the copy of the project, and what is built of it
//! * [`check`], [`process`]: models and tests, bounded
//! * [`verdict`]: who notices a mutant
//! * [`reasons`], [`report`]: the files that are kept
//! * [`written`]: the atomic operations of a file

mod build;
mod check;
mod diff;
mod logic;
mod mutant;
mod order;
mod process;
mod reasons;
mod report;
mod switched;
mod tree;
mod verdict;
mod wanted;
mod weaken;
mod written;

use crate::{Outcome, read};
use mutant::{Kind, Mutant};
use order::lists::Breadth;
use reasons::{Reasons, has_function, place};
use report::{Report, judge};
use std::collections::{BTreeMap, BTreeSet};
use wanted::Wanted;

const USAGE: &str = "\
usage: ci/mutate.sh [KIND] all | FILE... | changed [N] | commit [N] | quick [N] [FILE...] | list [FILE...] | stale
KIND is order, logic, wide or weaken; see the head of ci/mutate.sh";

pub fn run(args: &[&str]) -> Outcome {
    let (kinds, breadth, args) = match args {
        ["wide", rest @ ..] => (vec![Kind::Order], Breadth::Callers, rest),
        [kind, rest @ ..] if Kind::from_name(kind).is_some() => (
            Kind::from_name(kind).into_iter().collect(),
            Breadth::Operations,
            rest,
        ),
        ["stale"] => (Kind::ALL.to_vec(), Breadth::Operations, args),
        _ => (vec![Kind::Order, Kind::Logic], Breadth::Operations, args),
    };
    let wanted = Wanted::parse(args).ok_or(USAGE)?;
    std::fs::create_dir_all(tree::folder()).map_err(|e| format!("target/mutate: {e}"))?;
    let reasons = Reasons::read()?;
    let mut is_good = true;
    for kind in kinds {
        is_good &= match wanted {
            Wanted::Stale => stale(kind, &reasons)?,
            _ => examine(kind, breadth, &wanted, &reasons)?,
        };
    }
    Ok(is_good)
}

/// The mutants of a kind.
enum Program {
    Switched(switched::Program),
    Weaken(weaken::Program),
}

impl Program {
    fn read(kind: Kind, breadth: Breadth) -> Result<Self, String> {
        Ok(match kind {
            Kind::Order => Self::Switched(order::program(breadth)?),
            Kind::Logic => Self::Switched(logic::program()?),
            Kind::Weaken => Self::Weaken(weaken::Program::read()?),
        })
    }

    fn mutants(&self) -> &[Mutant] {
        match self {
            Self::Switched(program) => &program.mutants,
            Self::Weaken(program) => &program.mutants,
        }
    }

    /// The files that must be examined when they change.
    fn files(&self) -> Result<BTreeSet<String>, String> {
        match self {
            Self::Switched(program) if program.kind == Kind::Logic => logic::files(),
            Self::Switched(program) => Ok(program.mutants.iter().map(|m| m.file.clone()).collect()),
            Self::Weaken(program) => Ok(program.files()),
        }
    }
}

/// See [`Job::most`](verdict::Job::most). Each survivor costs all of it. For order mutants it is as long as
/// the longest models take; logic mutants are many, and most are noticed in a moment.
fn most(kind: Kind) -> f64 {
    match kind {
        Kind::Logic => 30.0,
        _ => 200.0,
    }
}

/// Examines or lists the mutants of a kind.
fn examine(kind: Kind, breadth: Breadth, wanted: &Wanted, reasons: &Reasons) -> Outcome {
    let mut program = Program::read(kind, breadth)?;
    let all = program.mutants().to_vec();
    let mut chosen = wanted.choose(kind, &program.files()?, &all, reasons)?;
    if matches!(wanted, Wanted::List(_)) {
        for &i in &chosen.mutants {
            println!("{} {}", kind.name(), all[i].name());
        }
        println!("{} mutants", chosen.mutants.len());
        return Ok(true);
    }
    // The line of a file counts no mutants of a wide search.
    if breadth != Breadth::Operations {
        chosen.whole.clear();
    }
    if chosen.whole.is_empty() && chosen.mutants.is_empty() {
        println!("{}: no mutants to examine", kind.name());
        return Ok(true);
    }
    let (mutants, is_quick) = (&chosen.mutants, wanted.is_quick());
    let mut complaints = Vec::new();
    let verdicts = match &mut program {
        Program::Switched(_) if mutants.is_empty() => BTreeMap::new(),
        Program::Switched(program) => {
            let canaries = match kind {
                Kind::Order => order::CANARIES,
                _ => &[],
            };
            switched::examine(program, &chosen, canaries, most(kind), is_quick, reasons)?
        }
        Program::Weaken(program) => {
            let of_mutants = mutants.iter().map(|&i| &all[i].file);
            let files = of_mutants.chain(&chosen.whole).cloned().collect();
            let (verdicts, found) = program.examine(mutants, &files, is_quick, reasons)?;
            complaints = found;
            verdicts
        }
    };
    let is_good = judge(kind, &all, &chosen, &verdicts, reasons)?;
    let failed = |complaint: &String| println!("FAILED: {complaint}");
    complaints.iter().for_each(failed);
    Ok(is_good && complaints.is_empty())
}

/// Prints which files must be examined again, and returns whether all reasons are of mutants that
/// may still exist, and all weakened operations have been examined. Logic mutants are known by their functions only: cargo-mutants may not be here.
fn stale(kind: Kind, reasons: &Reasons) -> Outcome {
    let program = match kind {
        Kind::Logic => None,
        _ => Some(Program::read(kind, Breadth::Operations)?),
    };
    let files = program.as_ref().map_or_else(logic::files, Program::files)?;
    let report = Report::read();
    let stale = report.stale(kind, &files)?;
    for (file, last) in &stale {
        let since = last.map_or("not examined yet".to_owned(), |(_, date)| {
            format!("changed since {date}")
        });
        println!("{} {file}: {since}", kind.name());
    }
    if !stale.is_empty() {
        println!(
            "{} files: `ci/mutate.sh {} changed`",
            stale.len(),
            kind.name()
        );
    }
    let is_dead = |name: &&str| match &program {
        Some(program) => !program
            .mutants()
            .iter()
            .any(|mutant| mutant.name() == *name),
        None => {
            let (file, function) = place(name);
            !read(file).is_ok_and(|text| has_function(&text, function))
        }
    };
    let dead: Vec<&str> = reasons.names(kind).filter(is_dead).collect();
    for name in &dead {
        eprintln!(
            "{} has the reason of a mutant that is none any more: {} {name}",
            reasons::FILE,
            kind.name()
        );
    }
    let is_current = kind != Kind::Weaken || stale.is_empty();
    if !is_current {
        eprintln!(
            "ci/mutate/report.txt is older than a file with weakened operations: `ci/mutate.sh weaken changed`"
        );
    }
    Ok(dead.is_empty() && is_current)
}
