//! `cargo xtask`: what a contributor runs, and what the scripts in `ci/` do that is more than running
//! commands.

mod cells;
mod command;
mod guide;
mod layers;
mod mass;
mod mutate;
mod rust;
mod std_arc;
mod test_lists;

use command::{Outcome, step};
use std::path::Path;
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo xtask COMMAND
    quick                           before a commit: format, lint, tests, short models (five minutes)
    full                            before a merge: all that CI runs
    renew                           after a change of pinned files: writes them anew
and, called by the scripts in ci/:
    cells                           what models do not see in src/ (ci/lint.sh)
    guide PAGE                      the commands that a page shows print what it shows (ci/inspect.sh)
    mass [renew]                    lines of code and files of each part, and the most that it may have (ci/lint.sh)
    layers                          folders of src/ that use what is above them, and circles of files (ci/lint.sh)
    std-arc                         std's tests and examples of Arc, with Ref (ci/test.sh)
    tests [LIST]                    the tests of a list of ci/tests.txt; without one, checks all lists (ci/lint.sh)
    mutate [KIND] all | FILE... | changed [N] | commit [N] | stale | prove [PART]
                                    mutants, which models and tests must notice (ci/mutate.sh)";

/// Before a commit: format, lint, tests, and models that take a moment: of counts, inboxes, the registry, tokens
/// and handoffs. Five minutes.
const QUICK: &[&str] = &[
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
const RENEW: &[&str] = &[
    "ci/api.sh renew",
    "ci/mutate.sh weaken changed",
    "ci/mutate.sh changed 40",
    // Its limits are edited by hand; if a count has shrunk, too.
    "ci/bench/instructions.sh",
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    if let Err(e) = std::env::set_current_dir(&root) {
        eprintln!("{} cannot be entered: {e}", root.display());
        return ExitCode::FAILURE;
    }
    let outcome = match args[..] {
        ["quick"] => run_each(QUICK),
        ["full"] => run_each(&[".ci/run"]),
        ["renew"] => run_each(RENEW),
        ["cells"] => cells::check(),
        ["guide", page] => guide::check(page),
        ["mass"] => mass::check(),
        ["mass", "renew"] => mass::renew(),
        ["layers"] => layers::check(),
        ["std-arc"] => std_arc::check(),
        ["tests"] => test_lists::check(),
        ["tests", list] => test_lists::print(list),
        ["mutate", ref wanted @ ..] => mutate::run(wanted),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs commands up to the first that fails.
fn run_each(commands: &[&str]) -> Outcome {
    for command in commands {
        let mut words = command.split(' ');
        let mut program = Command::new(words.next().unwrap_or_default());
        if !step(program.args(words))?.success() {
            return Ok(false);
        }
    }
    Ok(true)
}
