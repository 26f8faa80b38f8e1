//! Logic mutants of the concurrent core, made by cargo-mutants: conditions, computations and
//! results are changed. A test must notice each, or failing that a model.

use super::build::LOOM;
use super::check::{self, Check};
use super::mutant::{Kind, Mutant, Verdict};
use super::process::in_parallel;
use super::reasons::Reasons;
use super::tree::{self, folder};
use crate::command::{output, step};
use crate::{read, rust};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const SETTINGS: &str = ".cargo/mutants.toml";

/// The time in which models may notice a mutant. One that does not end notices, too.
const LIMIT: Duration = Duration::from_secs(1200);

pub struct Program {
    pub mutants: Vec<Mutant>,
    /// In the same order, as cargo-mutants lists them.
    made: Vec<Value>,
}

impl Program {
    pub fn read() -> Result<Self, String> {
        let list = output(Command::new("cargo").args(["mutants", "--list", "--json"]))?;
        let made: Vec<Value> =
            serde_json::from_str(&list).map_err(|e| format!("cargo mutants --list: {e}"))?;
        let parse = |made| parse(made).ok_or_else(|| format!("no mutant: {made}"));
        let mutants = made.iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Self { mutants, made })
    }

    /// Returns whether a test or a model notices each of these mutants.
    pub fn examine(
        &self,
        chosen: &BTreeSet<usize>,
        is_quick: bool,
        reasons: &Reasons,
    ) -> Result<BTreeMap<usize, Verdict>, String> {
        let mut command = Command::new("cargo");
        command
            .args(["mutants", "--no-shuffle", "--output"])
            .arg(folder());
        // nextest stops at the first test that fails; a user may not have it.
        let nextest = Command::new("cargo")
            .args(["nextest", "--version"])
            .output();
        if nextest.is_ok_and(|output| output.status.success()) {
            command
                .args(["--test-tool", "nextest"])
                .env("NEXTEST_PROFILE", "mutants");
        }
        if chosen.len() < self.mutants.len() {
            let path = folder().join("settings.toml");
            let made: Vec<&Value> = chosen.iter().map(|&i| &self.made[i]).collect();
            let settings = only(&read(SETTINGS)?, &made)?;
            std::fs::write(&path, settings).map_err(|e| format!("{}: {e}", path.display()))?;
            command.arg("--config").arg(path);
        }
        // 2 says that some were missed, 3 that some did not end.
        let status = step(&mut command)?;
        if !matches!(status.code(), Some(0 | 2 | 3)) {
            return Err(format!("cargo mutants failed: {status}"));
        }
        let path = folder().join("mutants.out/outcomes.json");
        let outcomes: Value = serde_json::from_str(&read(&path.to_string_lossy())?)
            .map_err(|e| format!("{}: {e}", path.display()))?;
        let outcomes = outcomes["outcomes"].as_array().into_iter().flatten();
        let outcomes: BTreeMap<&str, &str> = outcomes.filter_map(outcome).collect();
        let mut verdicts = BTreeMap::new();
        for &i in chosen {
            let name = self.made[i]["name"].as_str().unwrap_or_default();
            let verdict = match outcomes.get(name) {
                Some(&"Unviable") => Verdict::DoesNotCompile,
                Some(&"CaughtMutant") => Verdict::NoticedByTest("a test".to_owned()),
                Some(&"Timeout") => Verdict::NoticedByTest("a test that does not end".to_owned()),
                Some(&"MissedMutant") => {
                    let is_explained = reasons.reason(Kind::Logic, &self.mutants[i]).is_some();
                    let by = match is_explained || is_quick {
                        true => None,
                        false => model(&self.made[i])?,
                    };
                    by.map_or(Verdict::Survived(1), Verdict::NoticedByModel)
                }
                _ => return Err(format!("cargo mutants does not say what became of {name}")),
            };
            println!("{}: {verdict}", self.mutants[i].name());
            verdicts.insert(i, verdict);
        }
        Ok(verdicts)
    }
}

/// Returns the files that the settings name. They need not have mutants.
pub fn files() -> Result<BTreeSet<String>, String> {
    let settings: toml_edit::DocumentMut = parse_settings(&read(SETTINGS)?)?;
    let globs = settings["examine_globs"].as_array().into_iter().flatten();
    let globs: Vec<&str> = globs.filter_map(|glob| glob.as_str()).collect();
    let is_named = |file: &String| {
        let matches = |glob: &&str| match glob.strip_suffix("**") {
            Some(folder) => file.starts_with(folder),
            None => file == glob,
        };
        globs.iter().any(matches) && !rust::is_test_file(file)
    };
    Ok(rust::files("src", "rs")?
        .into_iter()
        .filter(is_named)
        .collect())
}

fn parse_settings(text: &str) -> Result<toml_edit::DocumentMut, String> {
    text.parse().map_err(|e| format!("{SETTINGS}: {e}"))
}

/// Returns the settings, limited to these mutants. The files are named, too: cargo-mutants makes
/// mutants of the fields of structures whatever names it is to look for.
fn only(settings: &str, made: &[&Value]) -> Result<String, String> {
    let mut settings = parse_settings(settings)?;
    let texts = |of| made.iter().filter_map(move |made| made[of].as_str());
    let special = |c: char| r"\.+*?()|[]{}^$#&-~".contains(c);
    let escaped = |c: char| special(c).then_some('\\').into_iter().chain([c]);
    let exactly = |name: &str| format!("^{}$", name.chars().flat_map(escaped).collect::<String>());
    let files: BTreeSet<&str> = texts("file").collect();
    settings["examine_globs"] = toml_edit::value(files.into_iter().collect::<toml_edit::Array>());
    let names = texts("name").map(exactly).collect::<toml_edit::Array>();
    settings["examine_re"] = toml_edit::value(names);
    Ok(settings.to_string())
}

/// Parses a mutant that cargo-mutants lists.
fn parse(value: &Value) -> Option<Mutant> {
    let what = value["name"].as_str()?.split_once(": ")?.1;
    let function = value["function"]["function_name"].as_str();
    let function = function.unwrap_or("-");
    let line = |end: &str| Some(value["span"][end]["line"].as_u64()? as usize);
    // The function has a place of its own in the name.
    let what = match what.strip_prefix(&format!("replace {function} ")) {
        Some(rest) => format!("replace {rest}"),
        None => what
            .strip_suffix(&format!(" in {function}"))
            .unwrap_or(what)
            .to_owned(),
    };
    Some(Mutant {
        file: value["file"].as_str()?.to_owned(),
        function: function.to_owned(),
        what,
        lines: line("start")?..line("end")? + 1,
    })
}

/// Returns the name of a mutant, and what became of it.
fn outcome(value: &Value) -> Option<(&str, &str)> {
    let name = value["scenario"]["Mutant"]["name"].as_str()?;
    Some((name, value["summary"].as_str()?))
}

/// Returns a model that fails on a copy of the project with this mutant, if there is one.
fn model(made: &Value) -> Result<Option<String>, String> {
    let file = made["file"].as_str().unwrap_or_default();
    let text = changed(&read(file)?, made).ok_or_else(|| format!("no change: {made}"))?;
    tree::write(&BTreeMap::from([(file.to_owned(), text)]))?;
    let until = Instant::now() + LIMIT;
    let first = Mutex::new(None);
    in_parallel(check::all(&LOOM.build()?[0], &[])?, |check: Check| {
        let is_noticed = first.lock().expect("no panic in here").is_some();
        let left = until.saturating_duration_since(Instant::now());
        if !is_noticed && !check.run(None, left).passed {
            *first.lock().expect("no panic in here") = Some(check.name);
        }
    });
    Ok(first.into_inner().expect("no panic in here"))
}

/// Returns the text of a file with a mutant.
fn changed(text: &str, made: &Value) -> Option<String> {
    let at = |end: &str| {
        let number = |name| Some(made["span"][end][name].as_u64()? as usize - 1);
        let line: usize = text
            .split_inclusive('\n')
            .take(number("line")?)
            .map(str::len)
            .sum();
        let (column, _) = text[line..].char_indices().nth(number("column")?)?;
        Some(line + column)
    };
    let replacement = made["replacement"].as_str()?;
    Some([&text[..at("start")?], replacement, &text[at("end")?..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(name: &str, function: &str) -> String {
        let text = format!(
            r#"{{"name":"src/a.rs:3:9: {name}","file":"src/a.rs","function":{function},"span":{{"start":{{"line":3}},"end":{{"line":5}}}}}}"#
        );
        let mutant = parse(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!((&*mutant.file, mutant.lines.clone()), ("src/a.rs", 3..6));
        mutant.name()
    }

    #[test]
    fn the_function_is_no_part_of_what_is_changed() {
        let of = r#"{"function_name":"<impl A for B>::c"}"#;
        assert_eq!(
            mutant("replace + with - in <impl A for B>::c", of),
            "src/a.rs <impl A for B>::c -- replace + with -"
        );
        assert_eq!(
            mutant("replace <impl A for B>::c -> bool with true", of),
            "src/a.rs <impl A for B>::c -- replace -> bool with true"
        );
        assert_eq!(
            mutant("replace | with ^", "null"),
            "src/a.rs - -- replace | with ^"
        );
    }

    #[test]
    fn a_mutant_replaces_what_it_spans() {
        let made = r#"{"span":{"start":{"line":2,"column":3},"end":{"line":3,"column":1}},"replacement":"+"}"#;
        let made = serde_json::from_str(made).unwrap();
        assert_eq!(changed("a\né-- b\nc\n", &made).unwrap(), "a\né-+c\n");
        assert_eq!(changed("a\n", &made), None);
    }

    #[test]
    fn settings_keep_all_but_what_they_name() {
        let settings = "# Why.\nexamine_globs = [\"src/**\"]\nprofile = \"x\"\n";
        let made = r#"{"file":"src/a.rs","name":"src/a.rs:1:2: replace f -> u8 with 0"}"#;
        let made: Value = serde_json::from_str(made).unwrap();
        let only = only(settings, &[&made, &made]).unwrap();
        assert!(
            only.starts_with("# Why.\nexamine_globs = [\"src/a.rs\"]\nprofile"),
            "{only}"
        );
        assert!(
            only.contains(r"^src/a\.rs:1:2: replace f \-> u8 with 0$"),
            "{only}"
        );
    }

    #[test]
    fn outcomes_are_those_of_mutants() {
        let of = |text| serde_json::from_str::<Value>(text).unwrap();
        let caught = of(r#"{"scenario":{"Mutant":{"name":"a"}},"summary":"CaughtMutant"}"#);
        assert_eq!(outcome(&caught), Some(("a", "CaughtMutant")));
        assert_eq!(
            outcome(&of(r#"{"scenario":"Baseline","summary":"Success"}"#)),
            None
        );
    }
}
