//! The jobs that a contributor runs: before a commit, before a merge, and after a change of a
//! pinned file.

use crate::command::step;
use crate::{Outcome, cells, docs, imports, layers, test_lists};
use std::process::Command;

/// Models that take a moment, by a part of their names: counts, inboxes, the registry, tokens, handoffs.
const MODELS: [&str; 5] = ["count", "inbox", "registry", "timeline", "handoff"];

/// Five minutes: format, lint, tests, and some of the models.
pub fn quick() -> Outcome {
    let lint = "clippy --all-targets -- -D warnings";
    for args in ["fmt --all --check", lint, "test"] {
        if !run("cargo", args)? {
            return Ok(false);
        }
    }
    let checks = [
        imports::check,
        layers::check,
        docs::check,
        cells::check,
        test_lists::check,
    ];
    for check in checks {
        if !check()? {
            return Ok(false);
        }
    }
    for model in MODELS {
        if !run("cargo", &format!("loom {model}"))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// All that CI runs.
pub fn full() -> Outcome {
    run(".ci/run", "")
}

/// Writes anew what is compared with pinned files, and says which limits are edited by hand.
pub fn renew() -> Outcome {
    for (script, args) in [
        ("ci/api.sh", "renew"),
        ("ci/bench/assembly.sh", "renew"),
        ("ci/mutate.sh", "order changed"),
        ("ci/mutate.sh", "weaken changed"),
        ("ci/mutate.sh", "logic changed 40"),
        ("ci/bench/instructions.sh", ""),
    ] {
        if !run(script, args)? {
            eprintln!(
                "{script} has failed: see above what to change by hand, then go on with the next one"
            );
            return Ok(false);
        }
    }
    println!(
        "If a count of instructions has shrunk, lower its limit in benches/instructions/main.rs."
    );
    Ok(true)
}

/// Runs a program with these arguments; returns whether it was successful. In the environment of
/// `cargo`, so that it finds the same toolchain.
fn run(program: &str, args: &str) -> Result<bool, String> {
    let mut command = Command::new(program);
    Ok(step(command.args(args.split_whitespace()))?.success())
}
