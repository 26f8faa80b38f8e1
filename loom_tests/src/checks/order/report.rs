//! What came of it, and the file that keeps it.

use super::JUSTIFIED;
use super::program::{Program, folder, git};
use super::verdict::Verdict;
use super::wanted::Chosen;
use crate::checks::justified::Justified;
use crate::checks::weaken::written::root;
use std::collections::{BTreeMap, BTreeSet};

/// From the root of the package.
pub const FILE: &str = "loom_tests/order/report.txt";

/// What the mutants of a file came to.
#[derive(Default)]
struct Counts {
    mutants: usize,
    do_not_compile: usize,
    models: usize,
    tests: usize,
    justified: usize,
    unexplained: usize,
}

pub struct Outcome {
    files: BTreeMap<String, Counts>,
    unexplained: Vec<String>,
    complaints: Vec<String>,
    /// Each mutant, and what came of it.
    lines: Vec<String>,
}

impl Outcome {
    pub fn new(
        program: &Program,
        chosen: &Chosen,
        verdicts: &BTreeMap<usize, Verdict>,
        justified: &Justified,
    ) -> Self {
        let counts = || Counts::default();
        let mut this = Self {
            files: chosen
                .files
                .iter()
                .map(|file| (file.clone(), counts()))
                .collect(),
            unexplained: Vec::new(),
            complaints: Vec::new(),
            lines: Vec::new(),
        };
        let mut listed: BTreeSet<&str> = BTreeSet::new();
        for &number in &chosen.mutants {
            let name = program.name(number);
            let reason = justified.reason(name);
            let counts = this
                .files
                .entry(program.file(number).to_owned())
                .or_default();
            counts.mutants += 1;
            let came_of_it = match (verdicts.get(&number), reason) {
                (None, _) => {
                    counts.do_not_compile += 1;
                    "does not compile".to_owned()
                }
                (Some(Verdict::Model(by)), _) => {
                    counts.models += 1;
                    by.clone()
                }
                (Some(Verdict::Test(by)), _) => {
                    counts.tests += 1;
                    by.clone()
                }
                (Some(Verdict::Survived(_)), Some(reason)) => {
                    listed.insert(name);
                    counts.justified += 1;
                    format!("justified: {reason}")
                }
                (Some(Verdict::Survived(n)), None) => {
                    counts.unexplained += 1;
                    this.unexplained.push(name.to_owned());
                    format!("SURVIVED {n} checks")
                }
            };
            this.lines.push(format!("{name}: {came_of_it}"));
            if reason.is_some() && !listed.contains(name) {
                this.complaints.push(format!(
                    "{JUSTIFIED} lists what does not survive: {name}: {came_of_it}"
                ));
            }
        }
        let names: BTreeSet<&str> = program
            .numbers()
            .map(|number| program.name(number))
            .collect();
        for name in chosen.files.iter().flat_map(|file| justified.of_file(file)) {
            if !names.contains(name) {
                this.complaints
                    .push(format!("{JUSTIFIED} lists what is no mutant: {name}"));
            }
        }
        this
    }

    pub fn is_good(&self) -> bool {
        self.unexplained.is_empty() && self.complaints.is_empty()
    }

    pub fn print(&self) {
        let details = folder().join("verdicts.txt");
        let _ = std::fs::write(&details, self.lines.join("\n") + "\n");
        let mut all = Counts::default();
        println!(
            "\n{:<32} {:>7} {:>7} {:>7} {:>7} {:>9} {:>11}",
            "file", "mutants", "invalid", "models", "tests", "justified", "unexplained"
        );
        for (file, counts) in &self.files {
            row(file, counts);
            all.mutants += counts.mutants;
            all.do_not_compile += counts.do_not_compile;
            all.models += counts.models;
            all.tests += counts.tests;
            all.justified += counts.justified;
            all.unexplained += counts.unexplained;
        }
        row("all", &all);
        println!();
        for name in &self.unexplained {
            println!("SURVIVED, and is not in {JUSTIFIED}: {name}");
        }
        self.complaints.iter().for_each(|c| println!("FAILED: {c}"));
        println!("each mutant: {}", details.display());
    }

    /// Writes the lines of these files into the report.
    pub fn keep(&self) -> Result<(), String> {
        let mut lines = lines();
        for (file, counts) in &self.files {
            let Counts {
                mutants,
                do_not_compile,
                models,
                tests,
                justified,
                unexplained,
            } = counts;
            let line = format!(
                "{file} {} {mutants} {do_not_compile} {models} {tests} {justified} {unexplained}",
                content(file)
            );
            lines.insert(file.clone(), line);
        }
        lines.retain(|file, _| root().join(file).exists());
        let text: String = lines.values().map(|line| format!("{line}\n")).collect();
        let written = std::fs::write(root().join(FILE), format!("{HEAD}{text}"));
        written.map_err(|e| format!("{FILE} cannot be written: {e}"))
    }
}

fn row(file: &str, counts: &Counts) {
    let Counts {
        mutants,
        do_not_compile,
        models,
        tests,
        justified,
        unexplained,
    } = counts;
    println!(
        "{file:<32} {mutants:>7} {do_not_compile:>7} {models:>7} {tests:>7} {justified:>9} {unexplained:>11}"
    );
}

const HEAD: &str = "\
# What each file's order mutants came to when they were last examined, by `cargo weaken -- --order`
# or `ci/order.sh`; `ci/order.sh changed` examines the files that have changed since.
#
# FILE CONTENT MUTANTS DO-NOT-COMPILE NOTICED-BY-MODELS NOTICED-BY-TESTS JUSTIFIED UNEXPLAINED
";

/// The report's lines, by file.
fn lines() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root().join(FILE)).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let file = |line: &str| line.split(' ').next().unwrap_or("").to_owned();
    lines.map(|line| (file(line), line.to_owned())).collect()
}

/// What each file was when it was last examined.
pub fn contents() -> BTreeMap<String, String> {
    let second = |line: String| line.split(' ').nth(1).unwrap_or("").to_owned();
    lines()
        .into_iter()
        .map(|(file, line)| (file, second(line)))
        .collect()
}

/// What a file is, without the commit that it came with: that may be rebased.
pub fn content(file: &str) -> String {
    let hash = git(&["hash-object", file]).unwrap_or_default();
    hash.trim().chars().take(12).collect()
}
