//! Order mutants: statements of `src/` in the wrong order; a model or a test must notice each.
//!
//! Weakening an ordering does not show whether a model would notice that a statement stands on
//! the wrong side of it. So in a copy of the crate, in each function that synchronizes,
//! statements are swapped, moved and deleted, each such mutant behind a switch; what compiles is
//! run. What no model and no test notices stands in `loom_tests/order/justified.txt` with its
//! reason, or fails.
//!
//! * [`wanted`]: which mutants are examined
//! * [`program`]: the mutants, and the copy of the crate with all of them in it
//! * [`build`]: the copy, built, without the mutants that do not compile
//! * [`process`]: programs that may hang, or take all memory
//! * [`baseline`]: what each model and test reaches, and how long it takes
//! * [`verdict`]: who notices a mutant
//! * [`report`]: the file that is kept

mod baseline;
mod build;
mod process;
mod program;
mod report;
mod verdict;
mod wanted;

use super::justified::Justified;
use releasepool_order_mutants::Breadth;
use std::process::ExitCode;

/// Mutants that nothing notices, each with its reason.
const JUSTIFIED: &str = "loom_tests/order/justified.txt";

/// `cargo weaken -- --order ...`; without arguments, all files.
pub fn order(args: &[&str]) -> ExitCode {
    match examine(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether all is well.
fn examine(args: &[&str]) -> Result<bool, String> {
    let (breadth, args) = match args {
        ["wide", args @ ..] => (Breadth::Callers, args),
        args => (Breadth::Operations, args),
    };
    let wanted = wanted::Wanted::parse(args)?;
    let mut program = program::Program::read(breadth)?;
    let chosen = wanted.choose(&program)?;
    if wanted.only_lists() {
        for &number in &chosen.mutants {
            println!("{}", program.name(number));
        }
        println!("{} mutants", chosen.mutants.len());
        return Ok(true);
    }
    if chosen.files.is_empty() {
        println!("nothing has changed");
        return Ok(true);
    }
    for skipped in program
        .skipped
        .iter()
        .filter(|s| chosen.files.contains(&s.file))
    {
        println!(
            "not mutated: {} {}: it {}",
            skipped.file, skipped.function, skipped.reason
        );
    }
    let canaries = verdict::canaries(&program)?;
    program.keep(chosen.mutants.iter().chain(&canaries).copied());
    println!(
        "{} mutants in {} files",
        chosen.mutants.len(),
        chosen.files.len()
    );
    let built = build::build(&mut program)?;
    let left = chosen
        .mutants
        .iter()
        .filter(|&&n| program.compiles(n))
        .count();
    println!("{left} compile");
    let baseline = baseline::Baseline::of(&program, &built, wanted.is_quick())?;
    let justified = Justified::read(JUSTIFIED, 1);
    let mut verdicts = verdict::all(
        &program,
        &built,
        &baseline,
        &chosen.mutants,
        &canaries,
        &justified,
    )?;
    verdicts.retain(|number, _| chosen.mutants.contains(number));
    let outcome = report::Outcome::new(&program, &chosen, &verdicts, &justified);
    outcome.print();
    if wanted.is_of_whole_files() && breadth == Breadth::Operations {
        outcome.keep()?;
    }
    Ok(outcome.is_good())
}
