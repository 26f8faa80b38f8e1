//! What each model and test reaches of the copy, and how long it takes, with no mutant on.

use super::build::Built;
use super::process::{Ended, run};
use super::program::{Program, folder};
use crate::checks::model::{MODES, Model};
use crate::checks::run::in_parallel;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// What may notice a mutant.
#[derive(Clone)]
pub enum Check {
    Model(&'static Model, &'static str),
    Test { program: usize, name: String },
}

impl Check {
    pub fn run(&self, built: &Built, env: &[(&str, &str)], limit: Duration) -> Ended {
        match self {
            Self::Model(model, mode) => {
                let args = ["--child", model.name, mode, "--brief"];
                run(&built.models, &args, env, limit)
            }
            Self::Test { program, name } => run_tests(built, *program, &[name], env, limit),
        }
    }

    pub fn is_test(&self) -> bool {
        matches!(self, Self::Test { .. })
    }

    /// The name of a test.
    pub fn test(&self) -> Option<&str> {
        match self {
            Self::Model(..) => None,
            Self::Test { name, .. } => Some(name),
        }
    }

    pub fn name(&self) -> String {
        match self {
            Self::Model(model, mode) => format!("model {}, {mode}", model.name),
            Self::Test { name, .. } => format!("test {name}"),
        }
    }
}

/// Runs these tests, one after the other.
pub fn run_tests(
    built: &Built,
    program: usize,
    names: &[&str],
    env: &[(&str, &str)],
    limit: Duration,
) -> Ended {
    let args = [&["--exact", "--test-threads=1"], names].concat();
    run(&built.tests[program], &args, env, limit)
}

/// A check, and what is known of it.
pub struct Known {
    pub check: Check,
    pub seconds: f64,
    /// By list of statements, whether it is reached.
    reached: Vec<bool>,
}

impl Known {
    /// How many lists of statements it reaches.
    pub fn breadth(&self) -> usize {
        self.reached.iter().filter(|reached| **reached).count()
    }

    /// The time that it may take with a mutant on.
    pub fn limit(&self) -> Duration {
        limit(self.seconds)
    }
}

/// The time that what takes `seconds` may take with a mutant on.
pub fn limit(seconds: f64) -> Duration {
    Duration::from_secs_f64(5.0 * seconds + 10.0)
}

pub struct Baseline(Vec<Known>);

/// How long a check may take with no mutant on.
const LONG: Duration = Duration::from_secs(900);

/// What takes longer is left out where it is to be quick.
const MOMENT: Duration = Duration::from_secs(3);

impl Baseline {
    pub fn of(program: &Program, built: &Built, is_quick: bool) -> Result<Self, String> {
        let limit = if is_quick { MOMENT } else { LONG };
        let models = crate::checks::list::all()
            .into_iter()
            .filter(|m| m.must_fail.is_none());
        let mut jobs: Vec<_> = models
            .flat_map(|m| MODES.map(|mode| Check::Model(m, mode)))
            .collect();
        for (i, tests) in built.tests.iter().enumerate() {
            jobs.extend(
                names(tests)?
                    .into_iter()
                    .map(|name| Check::Test { program: i, name }),
            );
        }
        let jobs: Vec<(usize, Check)> = jobs.into_iter().enumerate().collect();
        let files = folder().join("reached");
        std::fs::create_dir_all(&files).map_err(|e| e.to_string())?;
        let (count, mut done, mut known, mut failed) = (jobs.len(), 0, Vec::new(), Vec::new());
        in_parallel(
            jobs,
            |(i, check)| {
                let file = files.join(i.to_string());
                std::fs::write(&file, vec![0_u8; program.blocks().max(1)])
                    .expect("target/ can be written");
                let env = [("RELEASEPOOL_ORDER_REACHED", &*file.to_string_lossy())];
                let ended = check.run(built, &env, limit);
                let reached = std::fs::read(&file).expect("it has just been written");
                (ended, reached)
            },
            |(_, check), (ended, reached)| {
                done += 1;
                crate::checks::weaken::progress(done, count, "checks as they are");
                if is_quick && ended.seconds >= limit.as_secs_f64() {
                    return;
                }
                if !ended.passed {
                    failed.push(check);
                    return;
                }
                known.push(Known {
                    check,
                    seconds: ended.seconds,
                    reached: reached.into_iter().map(|byte| byte != 0).collect(),
                });
            },
        );
        let is_model = |check: &&Check| !check.is_test();
        if let Some(model) = failed.iter().find(is_model) {
            return Err(format!("{} fails with no mutant on", model.name()));
        }
        // The copy needs more stack, and is slower: there are tests that notice this.
        for test in &failed {
            println!("left out, as it fails with no mutant on: {}", test.name());
        }
        Ok(Self(known))
    }

    /// The checks that reach a list of statements.
    pub fn reaching(&self, block: usize) -> impl Iterator<Item = &Known> {
        self.0.iter().filter(move |known| known.reached[block])
    }
}

/// The names of the tests in a program, without those that are ignored.
fn names(tests: &Path) -> Result<Vec<String>, String> {
    let list = |more: &[&str]| {
        let output = Command::new(tests)
            .args(["--list", "--format=terse"])
            .args(more)
            .output();
        let output = output.map_err(|e| format!("{} cannot be run: {e}", tests.display()))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok::<Vec<String>, String>(names.map(str::to_owned).collect())
    };
    let ignored = list(&["--ignored"])?;
    let mut names = list(&[])?;
    names.retain(|name| !ignored.contains(name));
    Ok(names)
}
