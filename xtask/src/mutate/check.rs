//! Models and tests that may notice a mutant: what each reaches, and how long it takes.

use super::process::{Ended, Switch, in_parallel, run};
use super::tree::folder;
use crate::command::output;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A check that may notice a mutant: a model in a mode, or a test.
#[derive(Clone, Debug, Default)]
pub struct Check {
    pub name: String,
    pub is_test: bool,
    pub program: PathBuf,
    pub args: Vec<String>,
}

impl Check {
    /// Returns whether it is a model of this name, in any mode.
    pub fn is_of(&self, model: &str) -> bool {
        !self.is_test && self.name.starts_with(&format!("model {model}, "))
    }

    pub fn run(&self, switch: Option<&Switch>, limit: Duration) -> Ended {
        self.run_to(switch, limit, Stdio::null())
    }

    fn run_to(&self, switch: Option<&Switch>, limit: Duration, output: Stdio) -> Ended {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        run(&self.program, &args, switch, limit, output)
    }
}

/// Runs these tests of one program, one after the other.
pub fn run_together(tests: &[&Check], switch: &Switch, limit: Duration) -> Ended {
    let mut all = tests[0].clone();
    all.args
        .extend(tests[1..].iter().flat_map(|test| test.args.last().cloned()));
    all.run(Some(switch), limit)
}

/// Returns all checks that must pass with no mutant on: the models of a program in both modes, and
/// the tests of others.
pub fn all(models: &Path, tests: &[PathBuf]) -> Result<Vec<Check>, String> {
    let check = |name, is_test, program: &Path, args: &[&str]| Check {
        name,
        is_test,
        program: program.to_owned(),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
    };
    let mut checks = Vec::new();
    let list = output(Command::new(models).arg("--list"))?;
    let names = list.lines().filter_map(|line| line.split(' ').next());
    for name in names.filter(|name| !name.starts_with("canary_")) {
        checks.extend(["plain", "rmw"].map(|mode| {
            let args = ["--child", name, mode, "--brief"];
            check(format!("model {name}, {mode}"), false, models, &args)
        }));
    }
    for program in tests {
        let list = |more: &[&str]| {
            let all = output(
                Command::new(program)
                    .args(["--list", "--format=terse"])
                    .args(more),
            )?;
            let names = all.lines().filter_map(|line| line.strip_suffix(": test"));
            Ok::<Vec<String>, String>(names.map(str::to_owned).collect())
        };
        let ignored = list(&["--ignored"])?;
        for name in list(&[])?.iter().filter(|name| !ignored.contains(name)) {
            let args = ["--exact", "--test-threads=1", name];
            checks.push(check(format!("test {name}"), true, program, &args));
        }
    }
    Ok(checks)
}

/// A check, and what is known of it.
pub struct Known {
    pub check: Check,
    pub seconds: f64,
    /// The places in the source that it reaches, by numbers of the kind of mutants.
    pub reached: BTreeSet<usize>,
}

/// How long a check may take with no mutant on.
const LONG: Duration = Duration::from_secs(900);

/// Quick runs leave out checks that take longer.
const MOMENT: Duration = Duration::from_secs(3);

/// Runs checks with no mutant on. A check writes what it reaches into the file that `switch` is
/// given, or prints it; `reached` is given both.
pub fn baseline(
    checks: Vec<Check>,
    is_quick: bool,
    switch: impl Fn(&Path) -> Option<Switch> + Sync,
    reached: impl Fn(&[u8], &str) -> BTreeSet<usize> + Sync,
) -> Result<Vec<Known>, String> {
    let limit = if is_quick { MOMENT } else { LONG };
    let files = folder().join("reached");
    std::fs::create_dir_all(&files).map_err(|e| e.to_string())?;
    println!("{} checks, with no mutant on", checks.len());
    let all = in_parallel(checks.into_iter().enumerate().collect(), |(i, check)| {
        let (file, prints) = (files.join(i.to_string()), files.join(format!("{i}.out")));
        let output = File::create(&prints).expect("target/ can be written");
        let mut ended = check.run_to(switch(&file).as_ref(), limit, output.into());
        let read = |file| std::fs::read(file).unwrap_or_default();
        let printed = String::from_utf8_lossy(&read(&prints)).into_owned();
        // A model that checks nothing proves nothing.
        ended.passed &= !printed.starts_with("checked 0 ");
        (check, ended, reached(&read(&file), &printed))
    });
    let mut known = Vec::new();
    for (check, Ended { passed, seconds }, reached) in all {
        let name = &check.name;
        match passed {
            true => known.push(Known {
                check,
                seconds,
                reached,
            }),
            false if is_quick && seconds >= limit.as_secs_f64() => {}
            // The copy needs more stack, and is slower: there are tests that notice this.
            false if check.is_test => println!("left out, as it fails with no mutant on: {name}"),
            false => return Err(format!("{name} fails with no mutant on")),
        }
    }
    Ok(known)
}
