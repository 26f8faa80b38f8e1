//! The jobs that a contributor runs, as the commands that they consist of.

use crate::command::{Outcome, step};
use std::process::Command;

/// Before a commit: format, lint, tests, and models that take a moment: of counts, inboxes, the registry, tokens
/// and handoffs. Five minutes.
pub const QUICK: &[&str] = &[
    "cargo fmt --all --check",
    "cargo clippy --all-targets -- -D warnings",
    "cargo test",
    "cargo xtask layers",
    "cargo xtask mass",
    "cargo xtask cells",
    "cargo xtask tests",
    "ci/docs.sh names",
    "cargo loom count",
    "cargo loom inbox",
    "cargo loom registry",
    "cargo loom timeline",
    "cargo loom handoff",
];

/// After a change of what pinned files tell: writes them anew.
pub const RENEW: &[&str] = &[
    "ci/api.sh renew",
    "ci/mutate.sh order changed",
    "ci/mutate.sh weaken changed",
    "ci/mutate.sh logic changed 40",
    // Its limits are edited by hand; if a count has shrunk, too.
    "ci/bench/instructions.sh",
];

/// Runs commands up to the first that fails.
pub fn run(commands: &[&str]) -> Outcome {
    for command in commands {
        let mut words = command.split(' ');
        let mut program = Command::new(words.next().unwrap_or_default());
        if !step(program.args(words))?.success() {
            return Ok(false);
        }
    }
    Ok(true)
}
