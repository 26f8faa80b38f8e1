//! What reasons say to notice their mutants: it is run in a copy of the project with the mutant, and must
//! fail; and without, and must pass.

use super::mutant::{Mutant, Reasons, file_of};
use super::switched::Program;
use crate::command::{Outcome, not_run, working_files};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

const COPY: &str = "target/mutate/alone";

/// What the first word stands for; what follows it is an argument of the command.
const CHECKS: [(&str, &str); 7] = [
    ("miri", "ci/sanitize/miri.sh defaults 1"),
    ("asan", "ci/sanitize/sanitizers.sh asan only"),
    ("instructions", "ci/bench/instructions.sh"),
    (
        "tracing",
        "cargo test --package releasepool-with-features --test all",
    ),
    ("metrics", "cargo test --package releasepool-metrics"),
    ("capi", "cargo test --package releasepool-capi"),
    ("inspect", "cargo test --package releasepool-inspect"),
];

/// Runs what reasons with `part` in their lines name.
pub fn prove(program: &Program, reasons: &Reasons, part: &str) -> Outcome {
    let mut is_good = true;
    let mut passes_without = BTreeMap::new();
    for (kind, name, by) in reasons.claims() {
        if ![name, &by].iter().any(|text| text.contains(part)) {
            continue;
        }
        let is_it = |mutant: &Mutant| mutant.kind == kind && mutant.name() == *name;
        let mutant = program.mutants.iter().position(is_it);
        let text = mutant.and_then(|mutant| program.applied(mutant));
        let file = file_of(name);
        let mut fails = |why: &str| {
            println!("FAILED: {} {name}: {by} {why}", kind.name());
            is_good = false;
        };
        let Some(text) = text else {
            fails("cannot be run with it, as it is no mutant of a function");
            continue;
        };
        if !passes_without.contains_key(&by) {
            passes_without.insert(by.clone(), passes(&by, &BTreeMap::new())?);
        }
        if !passes_without[&by] {
            fails("fails without it, too");
        } else if passes(&by, &BTreeMap::from([(file, text)]))? {
            fails("does not notice it");
        } else {
            println!("{} {name}: noticed by {by}", kind.name());
        }
    }
    Ok(is_good)
}

/// Returns whether a check passes in a copy with these files changed.
fn passes(by: &str, changed: &BTreeMap<&str, String>) -> Outcome {
    for file in working_files()? {
        let path = Path::new(COPY).join(&file);
        let old = std::fs::read(&path).unwrap_or_default();
        let new = match changed.get(&*file) {
            Some(text) => text.clone().into_bytes(),
            None => std::fs::read(&file).map_err(|e| format!("{file}: {e}"))?,
        };
        if old != new || new.is_empty() {
            let parent = path.parent().unwrap_or(Path::new("."));
            // A copy keeps the permissions.
            let copied = std::fs::create_dir_all(parent).and_then(|()| std::fs::copy(&file, &path));
            let written = copied.and_then(|_| std::fs::write(&path, new));
            written.map_err(|e| format!("{}: {e}", path.display()))?;
        }
    }
    let (word, rest) = by.split_once(' ').unwrap_or((by, ""));
    let command = CHECKS.iter().find(|(name, _)| *name == word);
    let command = command
        .ok_or_else(|| format!("no check is named {word}"))?
        .1;
    let mut words = command
        .split(' ')
        .chain(rest.split(' ').filter(|word| !word.is_empty()));
    let mut command = Command::new(words.next().unwrap_or_default());
    command
        .args(words)
        .current_dir(COPY)
        .env_remove("CARGO_TARGET_DIR");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let status = command.status().map_err(|e| not_run(&command, &e))?;
    Ok(status.success())
}
