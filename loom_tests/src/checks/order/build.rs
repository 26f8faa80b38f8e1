//! The copy, built, without the mutants that do not compile.

use super::program::{Program, folder, tree};
use releasepool_order_mutants::{Culprits, Diagnostic, culprits, executables};
use std::path::PathBuf;
use std::process::Command;

/// Programs of the copy.
pub struct Built {
    /// The models.
    pub models: PathBuf,
    /// The unit tests, and the integration tests.
    pub tests: Vec<PathBuf>,
}

/// How the copy is built.
#[derive(Clone, Copy)]
struct Way {
    folder: &'static str,
    config: &'static str,
    check: &'static [&'static str],
    build: &'static [&'static str],
}

const LOOM: Way = Way {
    folder: "loom",
    config: "build.rustflags=['--cfg=loom','--cfg=crossbeam_loom','--cap-lints=allow']",
    check: &[
        "check",
        "--release",
        "--features=loom",
        "--lib",
        "--manifest-path=Cargo.toml",
    ],
    build: &[
        "build",
        "--release",
        "--manifest-path=loom_tests/Cargo.toml",
        "--no-default-features",
    ],
};

const NATIVE: Way = Way {
    folder: "native",
    config: "build.rustflags=['--cap-lints=allow']",
    check: &[
        "check",
        "--profile=mutants",
        "--features=allocator-api2",
        "--lib",
    ],
    build: &[
        "test",
        "--no-run",
        "--profile=mutants",
        "--features=allocator-api2",
        "--lib",
        "--test=all",
    ],
};

/// Writes the copy and builds it, both ways. What the compiler complains about is taken out,
/// until it does not.
pub fn build(program: &mut Program) -> Result<Built, String> {
    program.recall_invalid();
    loop {
        let mut dropped = 0;
        for way in [NATIVE, LOOM] {
            while let Some(n) = check(program, way)? {
                dropped += n;
            }
        }
        if dropped == 0 {
            break;
        }
    }
    program.note_invalid();
    let models = executables(&cargo(LOOM, LOOM.build)?.messages);
    let tests = executables(&cargo(NATIVE, NATIVE.build)?.messages);
    match (models.as_slice(), tests.len()) {
        ([models], 2) => Ok(Built {
            models: models.into(),
            tests: tests.iter().map(PathBuf::from).collect(),
        }),
        _ => Err(format!(
            "not the programs that were expected: {models:?}, {tests:?}"
        )),
    }
}

/// Compiles the copy as far as errors go; how many mutants have been taken out, `None` if it
/// compiles.
fn check(program: &mut Program, way: Way) -> Result<Option<usize>, String> {
    let places = program.write()?;
    let said = cargo(way, way.check)?;
    if said.success {
        return Ok(None);
    }
    let errors = Diagnostic::all(&said.messages);
    let Culprits {
        mutants,
        blocks,
        others,
    } = culprits(&errors, &places);
    let mut dropped = mutants.len();
    for mutant in mutants {
        program.drop_mutant(mutant);
    }
    for (block, why) in blocks {
        let n = program.drop_block(block);
        println!(
            "a list of {} with {n} mutants cannot be switched: {why}",
            program.place(block)
        );
        dropped += n;
    }
    if dropped == 0 {
        return Err(format!(
            "the copy does not compile\n{}{}",
            others.join("\n"),
            said.errors
        ));
    }
    println!("{dropped} do not compile ({})", way.folder);
    Ok(Some(dropped))
}

struct Said {
    success: bool,
    messages: String,
    errors: String,
}

fn cargo(way: Way, args: &[&str]) -> Result<Said, String> {
    let mut command = Command::new("cargo");
    command
        .args(args)
        .args(["--message-format=json", "--config", way.config]);
    command.arg("--target-dir").arg(folder().join(way.folder));
    // Most of the copy stays as it is from one round to the next.
    command
        .env("CARGO_INCREMENTAL", "1")
        .env_remove("RUSTFLAGS");
    let output = command.current_dir(tree()).output();
    let output = output.map_err(|e| format!("cargo cannot be run: {e}"))?;
    Ok(Said {
        success: output.status.success(),
        messages: String::from_utf8_lossy(&output.stdout).into_owned(),
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
