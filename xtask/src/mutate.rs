//! Mutants: small changes of `src/`, each of which a model or a test must notice. `ci/mutate.sh`.
//!
//! A mutant that survives stands in the list of reasons, or the command fails.
//!
//! * [`mutant`]: kinds of mutants, what becomes of them, and reasons why they survive
//! * [`order`], [`logic`], [`omit`], [`weaken`]: the mutants of each kind
//! * [`places`]: functions, and what can be switched in them
//! * [`switched`]: the mutants of the first three kinds, in one copy of the crate
//! * [`wanted`]: which mutants are examined
//! * [`copy`]: the copy of the project, and what is built of it
//! * [`check`]: models and tests, and which of them notices a mutant
//! * [`progress`]: what a run has found so far
//! * [`report`]: the file that keeps the verdicts
//! * [`prove`]: other checks, which reasons name

mod check;
mod copy;
mod logic;
mod mutant;
mod omit;
mod order;
mod places;
mod progress;
mod prove;
mod report;
mod switched;
mod wanted;
mod weaken;

use crate::command::Outcome;
use check::Asked;
use mutant::{Kind, Mutant, Reasons};
use report::{Chosen, Report, judge};
use std::collections::BTreeSet;
use wanted::Wanted;

const USAGE: &str = "\
usage: ci/mutate.sh [KIND] all | FILE... | changed [N] | commit [N] | stale | prove [PART]
KIND is order, logic, omit or weaken; see the head of ci/mutate.sh";

pub fn run(args: &[&str]) -> Outcome {
    let kind = args.first().and_then(|name| Kind::from_name(name));
    let args = &args[usize::from(kind.is_some())..];
    let wanted = Wanted::parse(args).ok_or(USAGE)?;
    std::fs::create_dir_all(copy::FOLDER).map_err(|e| format!("{}: {e}", copy::FOLDER))?;
    let reasons = Reasons::read()?;
    match (&wanted, kind) {
        (Wanted::Stale, _) => stale(&reasons),
        (Wanted::Prove(part), _) => prove::prove(&switched()?, &reasons, part),
        (_, Some(Kind::Weaken)) => examine_weakened(&wanted, &reasons),
        (_, Some(kind)) => examine_switched(&[kind], &wanted, &reasons),
        (_, None) => examine_switched(&[Kind::Order, Kind::Logic, Kind::Omit], &wanted, &reasons),
    }
}

/// The mutants of all kinds but that of orderings.
fn switched() -> Result<switched::Program, String> {
    let mut program = switched::Program::new()?;
    order::add(&mut program);
    logic::add(&mut program)?;
    omit::add(&mut program);
    program.number_names();
    Ok(program)
}

/// Returns the files that must be examined when they change.
fn files(kind: Kind, mutants: &[Mutant]) -> Result<BTreeSet<String>, String> {
    match kind {
        Kind::Weaken => weaken::files(),
        _ => {
            let of_kind = mutants.iter().filter(|mutant| mutant.kind == kind);
            Ok(of_kind.map(|mutant| mutant.file.clone()).collect())
        }
    }
}

fn asked(wanted: &Wanted) -> Asked {
    Asked {
        hints: Report::read().hints(),
        all: matches!(wanted, Wanted::Files(_) | Wanted::Changed(None)),
    }
}

/// Examines mutants that are built into a copy.
fn examine_switched(kinds: &[Kind], wanted: &Wanted, reasons: &Reasons) -> Outcome {
    let mut program = switched()?;
    let mut chosen = Chosen::default();
    for &kind in kinds {
        let all = &program.mutants;
        let of_kind = wanted.choose(kind, &files(kind, all)?, all, reasons)?;
        chosen.mutants.extend(of_kind.mutants);
        chosen.whole.extend(of_kind.whole);
    }
    if chosen.mutants.is_empty() {
        println!("no mutants to examine");
        return Ok(true);
    }
    let asked = asked(wanted);
    let verdicts = program.examine(&chosen, &asked)?;
    let all = &program.mutants;
    Ok(judge(all, &verdicts, reasons, asked.all, Vec::new()))
}

/// Examines weakened orderings.
fn examine_weakened(wanted: &Wanted, reasons: &Reasons) -> Outcome {
    let program = weaken::Program::read()?;
    let all = &program.mutants;
    let chosen = wanted.choose(Kind::Weaken, &files(Kind::Weaken, all)?, all, reasons)?;
    if chosen.mutants.is_empty() && chosen.whole.is_empty() {
        println!("no mutants to examine");
        return Ok(true);
    }
    let asked = asked(wanted);
    let (verdicts, complaints) = program.examine(&chosen, &asked)?;
    Ok(judge(all, &verdicts, reasons, asked.all, complaints))
}

/// Prints what must be examined still, or again. Returns whether the reasons are those of the survivors in the
/// report, and all weakened operations have been examined. Needs no list of mutants: cargo-mutants may not be
/// here.
fn stale(reasons: &Reasons) -> Outcome {
    let report = Report::read();
    let mut is_good = true;
    let mut complain = |complaint: String| {
        eprintln!("{complaint}");
        is_good = false;
    };
    for kind in Kind::ALL {
        let files = match kind {
            Kind::Weaken => weaken::files()?,
            _ => report.files(kind),
        };
        let stale = report.stale(kind, &files)?;
        for (file, last) in &stale {
            let since = last.map_or("never examined".to_owned(), |last| {
                format!("changed since {}", last.date)
            });
            println!("{} {file}: {since}", kind.name());
        }
        if kind == Kind::Weaken && !stale.is_empty() {
            complain("weakened operations have changed: `ci/mutate.sh weaken changed`".to_owned());
        }
        let survivors = report.survivors(kind);
        let examined = report.files(kind);
        let of_examined = |name: &&str| examined.contains(mutant::file_of(name));
        let names: BTreeSet<&str> = reasons.names(kind).filter(of_examined).collect();
        for name in names.iter().filter(|name| !survivors.contains_key(**name)) {
            let (of, kind) = (mutant::REASONS, kind.name());
            complain(format!("{of} has the reason of no survivor: {kind} {name}"));
        }
        let (survivors, undecided): (Vec<_>, Vec<_>) =
            survivors.iter().partition(|(_, shown)| shown.to_all());
        for (name, _) in survivors {
            if !names.contains(&**name) {
                complain(format!("survives without a reason: {} {name}", kind.name()));
            }
        }
        if !undecided.is_empty() {
            let (n, kind) = (undecided.len(), kind.name());
            println!("{kind}: {n} mutants survive, and were not shown to all checks yet");
        }
    }
    Ok(is_good)
}
