//! `cargo xtask`: what a contributor runs, and what the scripts in `ci/` do that is more than running
//! commands.
//!
//! * [`assembly`]: the assembly of the hot paths
//! * [`cells`]: writes, cells and locks in `src/` that models do not see
//! * [`docs`]: links and models that the documentation names
//! * [`guide`]: commands that a page shows, with their output
//! * [`imports`]: atomics and threads that `src/` names itself
//! * [`jobs`]: what a contributor runs
//! * [`layers`]: folders of `src/` use only those below them
//! * [`recipe`]: the examples of `docs/CHECKING.md`
//! * [`mass`]: how much of everything there is, and may be
//! * [`std_arc`]: the standard library's tests and examples of `Arc`, with `Ref`
//! * [`test_lists`]: lists of tests that scripts run or skip
//! * [`mutate`]: mutants of src/, which models and tests must notice
//! * [`planted`]: bugs that the checkers must report
//! * [`trace`]: traces of the example `share`, checked and drawn
//! * [`rust`], [`markdown`]: what is read of source files and of pages
//! * [`command`]: other programs

mod assembly;
mod cells;
mod command;
mod docs;
mod guide;
mod imports;
mod jobs;
mod layers;
mod markdown;
mod mass;
mod mutate;
mod planted;
mod recipe;
mod rust;
mod std_arc;
mod test_lists;
mod trace;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND
    quick                           before a commit: format, lint, tests, short models (five minutes)
    full                            before a merge: all that CI runs
    renew                           after a change of pinned files: writes them anew
and, called by the scripts in ci/:
    assembly [renew]                the assembly of the hot paths is that of benches/assembly (ci/bench/assembly.sh)
    cells [--list]                  what models do not see in src/ (ci/lint.sh)
    docs                            links and models that pages name (ci/docs.sh)
    guide PAGE                      the commands that a page shows print what it shows (ci/inspect.sh)
    imports                         atomics and threads that src/ names itself (ci/lint.sh)
    mass [renew]                    lines of code and files of each part, and the most that it may have
    layers                          folders of src/ that use what is above them (ci/lint.sh)
    recipe PACKAGE PART...          the examples of docs/CHECKING.md, whose command has these parts (ci/downstream.sh)
    std-arc                         std's tests and examples of Arc, with Ref (ci/test.sh)
    tests [LIST...]                 the tests of these lists of ci/tests.txt; without one, checks all lists (ci/lint.sh)
    mutate [KIND] all | FILE... | changed [N] | commit [N] | quick [N] [FILE...] | list [FILE...] | stale
                                    mutants, which models and tests must notice (ci/mutate.sh)
    planted [NAME...]               bugs that the checkers must report (ci/sanitize/planted.sh)
    trace FILE                      checks what `share --trace` has written (ci/share.sh)
    trace FILE -o SVG [--from MS --for MS]    draws it, or a part of it (docs/trace.svg)";

/// True if all is well; an error says why that cannot be told.
type Outcome = Result<bool, String>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let here = std::env::current_dir().unwrap_or_default();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    if let Err(e) = std::env::set_current_dir(&root) {
        eprintln!("{} cannot be entered: {e}", root.display());
        return ExitCode::FAILURE;
    }
    let outcome = match args[..] {
        ["quick"] => jobs::quick(),
        ["full"] => jobs::full(),
        ["renew"] => jobs::renew(),
        ["assembly"] => assembly::check(),
        ["assembly", "renew"] => assembly::renew(),
        ["cells"] => cells::check(),
        ["cells", "--list"] => cells::list(),
        ["docs"] => docs::check(),
        ["guide", page] => guide::check(page),
        ["imports"] => imports::check(),
        ["mass"] => mass::check(),
        ["mass", "renew"] => mass::renew(),
        ["layers"] => layers::check(),
        ["recipe", package, ref parts @ ..] => recipe::check(package, parts),
        ["std-arc"] => std_arc::check(),
        ["tests"] => test_lists::check(),
        ["tests", "--whole", ref lists @ ..] => test_lists::print(lists, true),
        ["tests", ref lists @ ..] => test_lists::print(lists, false),
        ["mutate", ref wanted @ ..] => mutate::run(wanted),
        ["planted", ref names @ ..] => planted::check(names),
        ["trace", file] => trace::check(&here.join(file)),
        ["trace", file, "-o", svg, ref options @ ..] => {
            trace::draw(&here.join(file), &here.join(svg), options)
        }
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

/// Reads a file of the project.
fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{path} cannot be read: {e}"))
}
