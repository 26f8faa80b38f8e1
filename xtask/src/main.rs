//! `cargo xtask`: what a contributor runs, and what the scripts in `ci/` do that is more than running
//! commands.

mod cells;
mod command;
mod guide;
mod jobs;
mod layers;
mod mass;
mod mutate;
mod rust;
mod std_arc;
mod test_lists;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND
    quick                           before a commit: format, lint, tests, short models (five minutes)
    full                            before a merge: all that CI runs
    renew                           after a change of pinned files: writes them anew
and, called by the scripts in ci/:
    cells [--list]                  what models do not see in src/ (ci/lint.sh)
    guide PAGE                      the commands that a page shows print what it shows (ci/inspect.sh)
    mass [renew]                    lines of code and files of each part, and the most that it may have (ci/lint.sh)
    layers                          folders of src/ that use what is above them, and circles of files (ci/lint.sh)
    std-arc                         std's tests and examples of Arc, with Ref (ci/test.sh)
    tests [LIST]                    the tests of a list of ci/tests.txt; without one, checks all lists (ci/lint.sh)
    mutate [KIND] all | FILE... | changed [N] | commit [N] | list [FILE...] | stale
                                    mutants, which models and tests must notice (ci/mutate.sh)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    if let Err(e) = std::env::set_current_dir(&root) {
        eprintln!("{} cannot be entered: {e}", root.display());
        return ExitCode::FAILURE;
    }
    let outcome = match args[..] {
        ["quick"] => jobs::run(jobs::QUICK),
        ["full"] => jobs::run(&[".ci/run"]),
        ["renew"] => jobs::run(jobs::RENEW),
        ["cells"] => cells::check(),
        ["cells", "--list"] => cells::list(),
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
