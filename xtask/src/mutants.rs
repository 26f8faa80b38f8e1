//! Logic mutants of the concurrent core, made by cargo-mutants: `ci/mutants.sh`.
//!
//! * [`listed`]: mutants by name, and those that are justified
//! * [`models`]: the models, run on what no test notices
//! * [`report`]: the file that is kept

mod listed;
mod models;
mod report;

use crate::command::{git, not_run, output, step};
use crate::{Outcome, read};
use listed::{Justified, Mutant};
use report::Report;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Where cargo-mutants works.
const OUT: &str = "target/mutants";
/// Where it says what came of it.
const RESULTS: &str = "target/mutants/mutants.out";
const SETTINGS: &str = ".cargo/mutants.toml";
/// How many mutants of a change are examined unless it is said.
const SAMPLE: usize = 40;
const USAGE: &str = "all, FILE..., changed [N] or commit [N]: see the head of ci/mutants.sh";

#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    All,
    Files(Vec<String>),
    /// In lines that changed since the report was made; at most so many.
    Changed(usize),
    /// In lines that the last commit changed; at most so many.
    Commit(usize),
}

impl Wanted {
    fn parse(args: &[&str]) -> Result<Self, String> {
        let number = |text: &str| text.parse().map_err(|_| USAGE.to_owned());
        Ok(match args {
            [] => return Err(USAGE.to_owned()),
            ["all"] => Self::All,
            ["changed"] => Self::Changed(SAMPLE),
            ["changed", most] => Self::Changed(number(most)?),
            ["commit"] => Self::Commit(SAMPLE),
            ["commit", most] => Self::Commit(number(most)?),
            files => Self::Files(files.iter().map(|&file| file.to_owned()).collect()),
        })
    }
}

pub fn examine(args: &[&str]) -> Outcome {
    let wanted = Wanted::parse(args)?;
    let failed = |e: std::io::Error| format!("{OUT} cannot be written: {e}");
    std::fs::create_dir_all(OUT).map_err(failed)?;
    let mut options = vec!["--no-shuffle".to_owned()];
    // nextest stops at the first test that fails; a user may not have it.
    let nextest = Command::new("cargo")
        .args(["nextest", "--version"])
        .output();
    let has_nextest = nextest.is_ok_and(|output| output.status.success());
    if has_nextest {
        options.extend(["--test-tool", "nextest"].map(str::to_owned));
    }
    let files = match wanted {
        Wanted::All => candidates()?,
        Wanted::Files(files) => files,
        Wanted::Changed(most) | Wanted::Commit(most) => {
            let diff = match wanted {
                Wanted::Changed(_) => changes()?,
                _ => commit()?,
            };
            if diff.is_empty() {
                println!("nothing has changed");
                return Ok(true);
            }
            let path = format!("{OUT}/change.diff");
            std::fs::write(&path, diff).map_err(failed)?;
            options.extend(["--in-diff".to_owned(), path]);
            let list = cargo_mutants(&["--list"], &options, has_nextest);
            let count = output(&mut { list })?.lines().count();
            println!("{count} mutants in what changed");
            if count == 0 {
                return Ok(true);
            }
            let parts = parts(count, most);
            if parts > 1 {
                println!("only a sample: one in {parts} (ci/mutants.sh changed {count} runs all)");
                options.extend(["--shard".to_owned(), format!("0/{parts}")]);
                options.extend(["--sharding", "round-robin"].map(str::to_owned));
            }
            Vec::new()
        }
    };
    if !files.is_empty() {
        // What is asked for here is all; the settings name the same files and more.
        let path = format!("{OUT}/settings.toml");
        std::fs::write(&path, without_globs(&read(SETTINGS)?)?).map_err(failed)?;
        options.extend(["--config".to_owned(), path]);
        let named = files.iter().flat_map(|file| ["--file", file]);
        options.extend(named.map(str::to_owned));
    }
    let status = step(&mut cargo_mutants(
        &["--output", OUT],
        &options,
        has_nextest,
    ))?;
    // 2 says that some were missed, 3 that some did not end: looked at below.
    match status.code() {
        Some(0 | 2 | 3) => judge(&files),
        Some(code) => std::process::exit(code),
        None => Err(format!("cargo mutants failed: {status}")),
    }
}

/// In how many parts this many mutants are cut, so that one has at most `most`.
fn parts(count: usize, most: usize) -> usize {
    count.div_ceil(most.max(1)).max(1)
}

fn cargo_mutants(first: &[&str], options: &[String], has_nextest: bool) -> Command {
    let mut command = Command::new("cargo");
    command.arg("mutants").args(first).args(options);
    if has_nextest {
        command.env("NEXTEST_PROFILE", "mutants");
    }
    command
}

/// The files that mutants are made of.
fn candidates() -> Result<Vec<String>, String> {
    let list = output(Command::new("cargo").args(["mutants", "--list-files"]))?;
    Ok(list.lines().map(str::to_owned).collect())
}

/// What changed in all files since their lines in the report.
fn changes() -> Result<String, String> {
    let report = Report::parse(&read(report::FILE)?);
    let mut diff = String::new();
    for file in candidates()? {
        let since = report.content(&file);
        if since == Some(&report::content(&file)?) {
            continue;
        }
        let before = since.and_then(|since| {
            let blob = Command::new("git")
                .args(["cat-file", "blob", since])
                .output();
            let blob = blob.ok().filter(|blob| blob.status.success())?;
            let path = format!("{OUT}/before");
            std::fs::write(&path, blob.stdout).ok().map(|()| path)
        });
        // Never examined, or what was examined is not here: all of it.
        let before = before.as_deref().unwrap_or("/dev/null");
        let mut command = Command::new("git");
        command.args(["diff", "--no-ext-diff", "--no-index"]);
        command.args(["--src-prefix=a/", "--dst-prefix=b/", before, &file]);
        let output = command.output().map_err(|e| not_run(&command, &e))?;
        // It ends with 1 where there is a difference.
        diff.push_str(&String::from_utf8_lossy(&output.stdout));
    }
    Ok(diff)
}

fn commit() -> Result<String, String> {
    let files = candidates()?;
    let files = files.iter().map(String::as_str);
    let args: Vec<_> = ["diff", "--no-ext-diff", "HEAD^", "HEAD", "--"]
        .into_iter()
        .chain(files)
        .collect();
    git(&args)
}

/// The settings without the files that they name.
fn without_globs(settings: &str) -> Result<String, String> {
    let mut settings: toml_edit::DocumentMut =
        settings.parse().map_err(|e| format!("{SETTINGS}: {e}"))?;
    settings.remove("examine_globs");
    Ok(settings.to_string())
}

/// What came of the mutants of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    unviable: usize,
    tests: usize,
    models: usize,
    justified: usize,
    unexplained: usize,
}

/// Looks at what cargo-mutants left, and keeps the report of these files.
fn judge(files: &[String]) -> Outcome {
    // A file that is not there has nothing in it.
    let results = |name: &str| -> Vec<Mutant> {
        let text = std::fs::read_to_string(format!("{RESULTS}/{name}.txt"));
        text.unwrap_or_default()
            .lines()
            .filter_map(Mutant::parse)
            .collect()
    };
    let (missed, unviable) = (results("missed"), results("unviable"));
    let noticed = [results("caught"), results("timeout")].concat();
    let justified = Justified::parse(&read(listed::FILE)?)?;
    let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
    for mutant in &unviable {
        counts.entry(&mutant.file).or_default().unviable += 1;
    }
    for mutant in &noticed {
        counts.entry(&mutant.file).or_default().tests += 1;
    }
    for mutant in &missed {
        let counts = counts.entry(&mutant.file).or_default();
        if let Some(reason) = justified.reason(&mutant.name()) {
            counts.justified += 1;
            println!("justified: {}: {reason}", mutant.name());
        } else if models::notice(mutant)? {
            counts.models += 1;
            println!("noticed by a model: {mutant}");
        } else {
            counts.unexplained += 1;
            println!("NOT NOTICED, and not in {}: {mutant}", listed::FILE);
        }
    }
    let names = |mutants: &[Mutant]| mutants.iter().map(Mutant::name).collect::<BTreeSet<_>>();
    // What is listed and noticed after all is no survivor.
    let wrong = justified.noticed(&names(&noticed), &names(&missed));
    for name in &wrong {
        println!("LISTED, BUT NOTICED: {name}");
    }
    if !files.is_empty() {
        let mut report = Report::parse(&read(report::FILE)?);
        for file in files {
            let counts = counts.get(&**file).cloned().unwrap_or_default();
            report.set(file, &report::content(file)?, &counts);
        }
        let written = std::fs::write(report::FILE, report.text());
        written.map_err(|e| format!("{} cannot be written: {e}", report::FILE))?;
    }
    let sum = |of: fn(&Counts) -> usize| counts.values().map(of).sum::<usize>();
    let unexplained = sum(|c| c.unexplained) + wrong.len();
    println!(
        "{} mutants, {} do not build, {} noticed by tests, {} by models, {} justified, {unexplained} unexplained",
        missed.len() + unviable.len() + noticed.len(),
        unviable.len(),
        noticed.len(),
        sum(|c| c.models),
        sum(|c| c.justified),
    );
    Ok(unexplained == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_read() {
        assert_eq!(Wanted::parse(&["all"]), Ok(Wanted::All));
        assert_eq!(Wanted::parse(&["changed"]), Ok(Wanted::Changed(SAMPLE)));
        assert_eq!(Wanted::parse(&["commit", "2"]), Ok(Wanted::Commit(2)));
        let files = vec!["src/a.rs".to_owned(), "src/b.rs".to_owned()];
        let parsed = Wanted::parse(&["src/a.rs", "src/b.rs"]);
        assert_eq!(parsed, Ok(Wanted::Files(files)));
        assert!(Wanted::parse(&[]).is_err() && Wanted::parse(&["commit", "x"]).is_err());
    }

    #[test]
    fn a_sample_has_no_more_than_is_wanted() {
        assert_eq!([parts(1, 40), parts(40, 40), parts(41, 40)], [1, 1, 2]);
        assert_eq!([parts(7, 2), parts(7, 0)], [4, 7]);
    }

    #[test]
    fn settings_keep_all_but_the_files() {
        let settings =
            "# Why.\nexamine_globs = [\n    \"src/**\",\n]\n# Only there.\nprofile = \"x\"\n";
        let left = without_globs(settings).unwrap();
        assert!(!left.contains("src/") && left.contains("profile = \"x\""));
    }
}
