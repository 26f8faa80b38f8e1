//! The models, run on a mutant that no test notices.

use super::listed::Mutant;
use super::{OUT, RESULTS};
use crate::command::{git, not_run};
use crate::read;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns whether the models fail on a copy of the project with this mutant.
pub fn notice(mutant: &Mutant) -> Result<bool, String> {
    let diff = diff_of(mutant)?;
    // Outside of this project, as cargo would add its settings to those of the copy; and the same
    // place each time, so that only this crate is built anew.
    let copy = std::env::temp_dir().join("releasepool-mutant");
    make(&copy).map_err(|e| format!("{}: {e}", copy.display()))?;
    let mut patch = Command::new("patch");
    patch.arg("-s").arg(copy.join(&mutant.file));
    let input = std::fs::File::open(&diff).map_err(|e| format!("{diff} cannot be read: {e}"))?;
    let status = patch.stdin(input).status();
    if !status.map_err(|e| not_run(&patch, &e))?.success() {
        return Err(format!("{diff} does not apply"));
    }
    let path = format!("{OUT}/loom.log");
    let failed = |e: std::io::Error| format!("{path} cannot be written: {e}");
    let log = std::fs::File::create(&path).map_err(failed)?;
    let errors = log.try_clone().map_err(failed)?;
    let mut models = Command::new("timeout");
    models.args(["1200", "cargo", "loom"]).current_dir(&copy);
    models.stdin(Stdio::null()).stdout(log).stderr(errors);
    let status = models.status().map_err(|e| not_run(&models, &e))?;
    verdict(status.code(), &read(&path)?).ok_or_else(|| format!("the models did not run: {path}"))
}

/// The change that cargo-mutants made.
fn diff_of(mutant: &Mutant) -> Result<String, String> {
    let start = format!(
        "{}_line_{}_col_{}",
        mutant.file.replace('/', "__"),
        mutant.line,
        mutant.column
    );
    let folder = format!("{RESULTS}/diff");
    let failed = |e: std::io::Error| format!("{folder} cannot be read: {e}");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        names.push(
            entry
                .map_err(failed)?
                .file_name()
                .to_string_lossy()
                .into_owned(),
        );
    }
    names.sort();
    let heading = format!("+++ {}", mutant.what);
    for name in names.iter().filter(|name| is_at(name, &start)) {
        let path = format!("{folder}/{name}");
        if read(&path)?.lines().any(|line| line == heading) {
            return Ok(path);
        }
    }
    Err(format!("there is no diff of {mutant} in {folder}"))
}

/// `START.diff`, or `START_002.diff` where several mutants are at one place.
fn is_at(name: &str, start: &str) -> bool {
    let rest = name
        .strip_prefix(start)
        .and_then(|r| r.strip_suffix(".diff"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// Makes the copy, of files that git knows; what was built of the one before stays.
fn make(copy: &Path) -> Result<(), String> {
    let failed = |e: std::io::Error| e.to_string();
    std::fs::create_dir_all(copy).map_err(failed)?;
    for entry in std::fs::read_dir(copy).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name() == "target" {
            continue;
        }
        let is_folder = entry.file_type().map_err(failed)?.is_dir();
        let removed = if is_folder {
            std::fs::remove_dir_all(entry.path())
        } else {
            std::fs::remove_file(entry.path())
        };
        removed.map_err(failed)?;
    }
    for file in git(&["ls-files", "-z"])?
        .split('\0')
        .filter(|f| !f.is_empty())
    {
        let to = copy.join(file);
        std::fs::create_dir_all(to.parent().unwrap_or(copy)).map_err(failed)?;
        std::fs::copy(file, to).map_err(|e| format!("{file}: {e}"))?;
    }
    Ok(())
}

/// Returns whether models failed; `None` if something else went wrong.
fn verdict(exit: Option<i32>, log: &str) -> Option<bool> {
    const OUT_OF_TIME: i32 = 124;
    let has_failed = |line: &str| {
        let failed = line.split_once(" checks, ")?.1.split_once(" failed")?.0;
        failed.parse::<usize>().ok()
    };
    match exit {
        Some(0) => Some(false),
        // A model that does not end notices, too.
        Some(OUT_OF_TIME) => Some(true),
        _ => log
            .lines()
            .filter_map(has_failed)
            .any(|n| n > 0)
            .then_some(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_models_that_fail_notice() {
        let log = "x\n12 checks, 3 failed, 9 executions in 1.0 s\n";
        assert_eq!(verdict(Some(0), ""), Some(false));
        assert_eq!(verdict(Some(1), log), Some(true));
        assert_eq!(verdict(Some(124), ""), Some(true));
        assert_eq!(verdict(Some(101), "error: could not compile"), None);
        let none = "12 checks, 0 failed, 9 executions in 1.0 s";
        assert_eq!(verdict(Some(1), none), None);
    }

    #[test]
    fn diffs_are_found_by_the_place() {
        let start = "src__a.rs_line_1_col_2";
        assert!(is_at("src__a.rs_line_1_col_2.diff", start));
        assert!(is_at("src__a.rs_line_1_col_2_003.diff", start));
        assert!(!is_at("src__a.rs_line_1_col_25.diff", start));
    }
}
