//! The checkers, checked: each must report a bug that is planted in a copy of the project.
//!
//! The copy has a target directory of its own and goes at the end with all that was built of it,
//! so nothing that has a bug in it is left for others to run.

use crate::command::{not_run, working_files};
use crate::{Outcome, read, rust};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Below `target/`, and so below the root: cargo finds the settings there.
const COPY: &str = "target/planted";
const LOG: &str = "target/planted.log";
const PATCHES: &str = "ci/sanitize/planted";
/// Where the scripts of the patches build, below `target/`.
const BUILDS: &[&str] = &[
    "asan",
    "loom",
    "loom-asan",
    "miri",
    "shuttle",
    "tsan",
    "valgrind",
];

/// A patch, and what stands above it.
#[derive(Debug, PartialEq, Eq)]
struct Plant {
    name: String,
    /// A description of the bug.
    bug: String,
    /// Which script is run.
    run: Vec<String>,
    /// Which words the checker must say: any other failure, such as a compile error, is none of
    /// its doing.
    reports: String,
    /// Which other checker does not notice the bug, if that is what the patch shows.
    passes: Option<Vec<String>>,
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Reported,
    Skipped(String),
    Failed(String),
}

/// Plants these bugs, or all.
pub fn check(names: &[&str]) -> Outcome {
    let mut plants = Vec::new();
    for path in rust::files(PATCHES, "patch")? {
        let plant = Plant::read(&path)?;
        if names.is_empty() || names.contains(&&*plant.name) {
            plants.push(plant);
        }
    }
    if let Some(name) = names.iter().find(|&&n| plants.iter().all(|p| p.name != n)) {
        return Err(format!("there is no {PATCHES}/{name}.patch"));
    }
    let copy = Copy::make()?;
    let mut table = format!(
        "{:<20} {:<62} {:>7}  reported as",
        "planted", "bug", "seconds"
    );
    let mut is_good = true;
    for plant in &plants {
        println!(
            "\n== {}: {}; {} ==",
            plant.name,
            plant.bug,
            plant.run.join(" ")
        );
        let start = Instant::now();
        let verdict = copy.look(plant)?;
        is_good &= !matches!(verdict, Verdict::Failed(_));
        let said = match &verdict {
            Verdict::Reported => &plant.reports,
            Verdict::Skipped(said) => said,
            Verdict::Failed(why) => &format!("FAILED: {why}"),
        };
        let seconds = start.elapsed().as_secs();
        table += &format!(
            "\n{:<20} {:<62} {seconds:>7}  {said}",
            plant.name, plant.bug
        );
    }
    drop(copy);
    println!("\n{table}");
    Ok(is_good)
}

impl Plant {
    fn read(path: &str) -> Result<Self, String> {
        let name = Path::new(path).file_stem().unwrap_or_default();
        Self::parse(&name.to_string_lossy(), &read(path)?).map_err(|e| format!("{path}: {e}"))
    }

    fn parse(name: &str, text: &str) -> Result<Self, String> {
        let optional = |key: &str| {
            let mut lines = text.lines().take_while(|line| !line.starts_with("--- "));
            let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
            value.map(str::trim).filter(|value| !value.is_empty())
        };
        let field = |key: &str| {
            let value = optional(key);
            value.ok_or_else(|| format!("there is no line `{key}: ...` above the patch"))
        };
        let words = |text: &str| text.split(' ').map(str::to_owned).collect();
        Ok(Self {
            name: name.to_owned(),
            bug: field("bug")?.to_owned(),
            run: words(field("run")?),
            reports: field("reports")?.to_owned(),
            passes: optional("passes").map(words),
        })
    }

    /// Returns the verdict on a run of the script.
    fn verdict(&self, exit: Option<i32>, log: &str) -> Verdict {
        if let Some(skipped) = log.lines().find(|line| line.starts_with("SKIPPED")) {
            Verdict::Skipped(skipped.to_owned())
        } else if exit == Some(0) {
            Verdict::Failed("nothing was reported".to_owned())
        } else if log.contains(&self.reports) {
            Verdict::Reported
        } else {
            let exit = exit.map_or("by a signal".to_owned(), |code| code.to_string());
            let wanted = &self.reports;
            Verdict::Failed(format!("exit {exit}, but the output lacks {wanted:?}"))
        }
    }
}

/// The copy of the project; it goes when this is dropped.
struct Copy(PathBuf);

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(LOG);
        if let Err(e) = std::fs::remove_dir_all(&self.0) {
            eprintln!("{} is still there: {e}", self.0.display());
        }
    }
}

impl Copy {
    /// The working files as they are, but for cargo's settings, which come from the root anyhow.
    fn make() -> Result<Self, String> {
        let root = std::env::current_dir().map_err(|e| format!("where is this? {e}"))?;
        let copy = root.join(COPY);
        let failed = |e: std::io::Error| format!("{}: {e}", copy.display());
        // One that was interrupted.
        if copy.exists() {
            std::fs::remove_dir_all(&copy).map_err(failed)?;
        }
        std::fs::create_dir_all(&copy).map_err(failed)?;
        let this = Self(copy.clone());
        let files = working_files()?.into_iter();
        for file in files.filter(|file| !file.starts_with(".cargo/")) {
            let to = copy.join(&file);
            let parent = to.parent().unwrap_or(&copy);
            std::fs::create_dir_all(parent).map_err(failed)?;
            std::fs::copy(&file, &to).map_err(|e| format!("{file} cannot be copied: {e}"))?;
        }
        this.take_builds(&root.join("target"))?;
        Ok(this)
    }

    /// Copies what the scripts have built already, if they have: then only the project is built
    /// once more, not what it depends on, which for some includes std.
    fn take_builds(&self, from: &Path) -> Result<(), String> {
        let to = self.0.join("target");
        std::fs::create_dir_all(&to).map_err(|e| format!("{}: {e}", to.display()))?;
        for name in BUILDS {
            let build = from.join(name);
            if build.is_dir() {
                // Times decide what cargo builds anew.
                let mut command = Command::new("cp");
                command.args(["-a", "--reflink=auto"]).arg(&build).arg(&to);
                let status = command.status().map_err(|e| not_run(&command, &e))?;
                if !status.success() {
                    return Err(format!("{} cannot be copied", build.display()));
                }
            }
        }
        Ok(())
    }

    fn look(&self, plant: &Plant) -> Result<Verdict, String> {
        if !self.patch(plant, &[])? {
            return Ok(Verdict::Failed(format!(
                "the patch does not apply any more: bring {PATCHES}/{}.patch up to date",
                plant.name
            )));
        }
        let (exit, mut log) = self.run(&plant.run)?;
        let mut verdict = plant.verdict(exit, &log);
        if verdict == Verdict::Reported {
            excerpt(&log, &plant.reports);
            if let Some(other) = &plant.passes {
                let exit;
                (exit, log) = self.run(other)?;
                if exit != Some(0) {
                    verdict = Verdict::Failed(format!("`{}` does not pass", other.join(" ")));
                }
            }
        }
        if matches!(verdict, Verdict::Failed(_)) {
            tail(&log, 40);
        }
        if !self.patch(plant, &["-R"])? {
            return Err(format!("{} cannot be taken back", plant.name));
        }
        Ok(verdict)
    }

    /// Applies the patch, or takes it back.
    fn patch(&self, plant: &Plant, options: &[&str]) -> Result<bool, String> {
        let mut command = Command::new("git");
        command.arg("apply").args(options);
        command.arg(format!("../../{PATCHES}/{}.patch", plant.name));
        let status = self.command(&mut command).status();
        Ok(status.map_err(|e| not_run(&command, &e))?.success())
    }

    /// Runs a script; returns its exit code and all that it says.
    fn run(&self, run: &[String]) -> Result<(Option<i32>, String), String> {
        let failed = |e: std::io::Error| format!("{LOG} cannot be written: {e}");
        let log = std::fs::File::create(LOG).map_err(failed)?;
        let errors = log.try_clone().map_err(failed)?;
        let mut command = Command::new(&run[0]);
        command.args(&run[1..]);
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        let status = self.command(&mut command).status();
        let exit = status.map_err(|e| not_run(&command, &e))?.code();
        let log = std::fs::read(LOG).map_err(|e| format!("{LOG} cannot be read: {e}"))?;
        Ok((exit, String::from_utf8_lossy(&log).into_owned()))
    }

    /// In the copy; git is not to look for the repository around it, and cargo is to build in it.
    fn command<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let above = self.0.parent().unwrap_or(&self.0);
        command
            .current_dir(&self.0)
            .env("GIT_CEILING_DIRECTORIES", above)
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("CARGO_BUILD_TARGET_DIR")
            .env_remove("CARGO_BUILD_BUILD_DIR")
    }
}

/// Prints the first line with these words, and three more.
fn excerpt(log: &str, words: &str) {
    let from = log.lines().skip_while(|line| !line.contains(words));
    for line in from.take(4) {
        println!("{}", line.chars().take(150).collect::<String>());
    }
}

fn tail(log: &str, count: usize) {
    let lines: Vec<_> = log.lines().collect();
    for line in &lines[lines.len().saturating_sub(count)..] {
        println!("{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "bug: a link is written late\nrun: cargo xtask cells --x\nreports: a raw write, and\n\n\
                         --- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-a\n+bug: no\n";

    #[test]
    fn the_head_of_a_patch_is_read() {
        let plant = Plant::parse("x", PATCH).unwrap();
        assert_eq!(plant.bug, "a link is written late");
        assert_eq!(plant.run, ["cargo", "xtask", "cells", "--x"]);
        assert_eq!(plant.reports, "a raw write, and");
        assert_eq!(plant.passes, None);
        let with_other = format!("passes: cargo loom\n{PATCH}");
        let passes = Plant::parse("x", &with_other).unwrap().passes.unwrap();
        assert_eq!(passes, ["cargo", "loom"]);
        for missing in ["bug: ", "run: ", "reports: "] {
            assert!(Plant::parse("x", &PATCH.replace(missing, "")).is_err());
        }
    }

    #[test]
    fn only_the_words_of_the_checker_are_a_report() {
        let plant = Plant::parse("x", PATCH).unwrap();
        let said = "a.rs:1: a raw write, and nothing";
        assert_eq!(plant.verdict(Some(1), said), Verdict::Reported);
        assert_eq!(plant.verdict(None, said), Verdict::Reported);
        let is_failure = |exit, log| matches!(plant.verdict(exit, log), Verdict::Failed(_));
        assert!(is_failure(Some(0), said));
        assert!(is_failure(Some(101), "error: could not compile"));
        let skipped = "x\nSKIPPED ci/sanitize/asan.sh: no nightly";
        let verdict = Verdict::Skipped("SKIPPED ci/sanitize/asan.sh: no nightly".to_owned());
        assert_eq!(plant.verdict(Some(0), skipped), verdict);
    }
}
