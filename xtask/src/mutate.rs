//! Mutants: small changes of `src/`, each of which a model or a test must notice. `ci/mutate.sh`.
//!
//! A mutant that survives stands in the list of reasons, or the command fails.
//!
//! * [`mutant`]: kinds of mutants, what becomes of them, and reasons why they survive
//! * [`order`], [`logic`], [`weaken`]: the mutants of each kind
//! * [`switched`]: the mutants of the first two kinds, in one copy of the crate
//! * [`wanted`]: which mutants are examined
//! * [`copy`]: the copy of the project, and what is built of it
//! * [`check`]: models and tests, and which of them notices a mutant
//! * [`report`]: the file that keeps the verdicts

mod check;
mod copy;
mod logic;
mod mutant;
mod order;
mod report;
mod switched;
mod wanted;
mod weaken;

use crate::command::{Outcome, read};
use mutant::{Kind, Mutant, Reasons, has_function, place};
use report::{Report, judge};
use std::collections::{BTreeMap, BTreeSet};
use wanted::Wanted;

const USAGE: &str = "\
usage: ci/mutate.sh [KIND] all | FILE... | changed [N] | commit [N] | stale
KIND is order, logic or weaken; see the head of ci/mutate.sh";

pub fn run(args: &[&str]) -> Outcome {
    let kind = args.first().and_then(|name| Kind::from_name(name));
    let args = &args[usize::from(kind.is_some())..];
    let wanted = Wanted::parse(args).ok_or(USAGE)?;
    let kinds = match kind {
        Some(kind) => vec![kind],
        None if wanted == Wanted::Stale => Kind::ALL.to_vec(),
        None => vec![Kind::Order, Kind::Logic],
    };
    std::fs::create_dir_all(copy::FOLDER).map_err(|e| format!("{}: {e}", copy::FOLDER))?;
    let reasons = Reasons::read()?;
    let mut is_good = true;
    for kind in kinds {
        is_good &= match wanted {
            Wanted::Stale => stale(kind, &reasons)?,
            _ => examine(kind, &wanted, &reasons)?,
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
    fn read(kind: Kind) -> Result<Self, String> {
        Ok(match kind {
            Kind::Order => Self::Switched(order::program()?),
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
}

/// Returns the files that must be examined when they change.
fn files(kind: Kind, mutants: &[Mutant]) -> Result<BTreeSet<String>, String> {
    match kind {
        Kind::Logic => logic::files(),
        Kind::Order => Ok(mutants.iter().map(|m| m.file.clone()).collect()),
        Kind::Weaken => weaken::files(),
    }
}

/// Examines mutants of a kind.
fn examine(kind: Kind, wanted: &Wanted, reasons: &Reasons) -> Outcome {
    let mut program = Program::read(kind)?;
    let all = program.mutants().to_vec();
    let chosen = wanted.choose(kind, &files(kind, &all)?, &all, reasons)?;
    if chosen.whole.is_empty() && chosen.mutants.is_empty() {
        println!("{}: no mutants to examine", kind.name());
        return Ok(true);
    }
    let (verdicts, complaints) = match &mut program {
        Program::Switched(_) if chosen.mutants.is_empty() => (BTreeMap::new(), Vec::new()),
        Program::Switched(program) => (switched::examine(program, &chosen, reasons)?, Vec::new()),
        Program::Weaken(program) => program.examine(&chosen, reasons)?,
    };
    judge(kind, &all, &chosen, &verdicts, reasons, complaints)
}

/// Prints which files must be examined again, and returns whether all reasons are of mutants that
/// may still exist, and all weakened operations have been examined. Logic mutants are known by their
/// functions only, and their files only where cargo-mutants is: it may not be here.
fn stale(kind: Kind, reasons: &Reasons) -> Outcome {
    let mutants = match kind {
        Kind::Logic => Vec::new(),
        _ => Program::read(kind)?.mutants().to_vec(),
    };
    let report = Report::read();
    let files = match kind {
        Kind::Logic => logic::files().unwrap_or_default(),
        _ => files(kind, &mutants)?,
    };
    let stale = report.stale(kind, &files)?;
    for (file, last) in &stale {
        let since = last.map_or("never examined".to_owned(), |last| {
            format!("changed since {}", last.date)
        });
        println!("{} {file}: {since}", kind.name());
    }
    let is_dead = |name: &&str| match kind {
        Kind::Logic => {
            let (file, function) = place(name);
            !read(file).is_ok_and(|text| has_function(&text, function))
        }
        _ => !mutants.iter().any(|mutant| mutant.name() == *name),
    };
    let dead: Vec<&str> = reasons.names(kind).filter(is_dead).collect();
    for name in &dead {
        eprintln!(
            "{} has the reason of a mutant that is gone: {} {name}",
            mutant::REASONS,
            kind.name()
        );
    }
    let is_current = kind != Kind::Weaken || stale.is_empty();
    if !is_current {
        eprintln!(
            "weakened operations have changed since the report: `ci/mutate.sh weaken changed`"
        );
    }
    Ok(dead.is_empty() && is_current)
}
