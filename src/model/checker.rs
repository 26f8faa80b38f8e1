//! Checks a model with the settings of its [`Builder`], and replays interleavings that failed.

use super::builder::{Builder, Details, Failure, Mode, Report, set_mode};
use super::execution::{begin, end};
use crate::sync::explore::{Body, Failed, Plan};
use crate::sync::{settings, time};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// One execution of a model; returns its outcome.
type Model = Arc<dyn Fn() -> String + Send + Sync>;

/// Locked during a check, as the mode and the seed are settings of the process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The outcomes that were reached, and the number of the first execution with each.
type Reached = Arc<Mutex<BTreeMap<String, usize>>>;

pub(super) fn run(builder: &Builder, at: &Location<'_>, model: Model) -> Result<Report, Failure> {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let name = builder.name.clone().or_else(test_name);
    let check = Check {
        builder,
        name: name.unwrap_or_else(|| at.to_string()),
        model,
    };
    let from_variable = std::env::var_os(VARIABLE).map(PathBuf::from);
    let result = match (&builder.replay, from_variable) {
        (Some(file), _) => check.replay(file, false),
        (None, Some(file)) => check.replay(&file, true),
        (None, None) => check.all(),
    };
    settings::set_seed(None);
    set_mode(Mode::Plain);
    time::let_time_pass(false);
    result
}

/// The check of one model.
struct Check<'b> {
    builder: &'b Builder,
    name: String,
    model: Model,
}

impl Check<'_> {
    /// Returns the limits of loom's exploration.
    fn plan(&self) -> Plan {
        let builder = self.builder;
        let sampled = builder.seeds.is_some();
        Plan {
            preemption_bound: builder.preemption_bound.or(sampled.then_some(1)),
            max_branches: builder.max_branches,
            limit: sampled.then_some(builder.executions_per_seed),
        }
    }

    /// Returns the text of [`Report::extent`].
    fn extent(&self) -> String {
        let bounded = |n| format!("at most {n} preemptions");
        let plan = self.plan();
        match &self.builder.seeds {
            Some(seeds) => format!(
                "sampled: {} seeds, each up to {} executions with {}",
                seeds.end.saturating_sub(seeds.start),
                self.builder.executions_per_seed,
                plan.preemption_bound.map_or_else(String::new, bounded)
            ),
            None => plan
                .preemption_bound
                .map_or_else(|| "every interleaving".to_owned(), bounded),
        }
    }

    /// Returns the function that loom runs in each execution. It records the outcomes in `reached`.
    fn body(&self, reached: &Reached) -> Body {
        let model = self.model.clone();
        let reached = reached.clone();
        let count = Mutex::new(0);
        Arc::new(move || {
            let execution = {
                let mut count = count.lock().unwrap_or_else(PoisonError::into_inner);
                *count += 1;
                *count
            };
            begin();
            let outcome = model();
            end();
            let mut reached = reached.lock().unwrap_or_else(PoisonError::into_inner);
            reached.entry(outcome).or_insert(execution);
        })
    }

    /// Sets the process's mode, seed and clock for `run`.
    fn prepare(&self, run: &ModelRun) {
        set_mode(run.mode);
        settings::set_seed(run.seed);
        time::let_time_pass(self.builder.time_passes);
    }

    /// Returns the outcomes that executions of `run` may have; `None` allows all.
    fn allowed(&self, run: &ModelRun) -> Option<&BTreeSet<String>> {
        let builder = self.builder;
        let in_mode = builder.outcomes_in.get(&run.mode);
        // A seed's switches may reach outcomes that loom alone does not reach in this mode.
        let in_mode = in_mode.filter(|_| run.seed.is_none());
        in_mode.or(builder.outcomes.as_ref())
    }

    /// Checks the model in all modes and with all seeds.
    fn all(&self) -> Result<Report, Failure> {
        let builder = self.builder;
        let mut report = self.report(self.extent());
        for &mode in &builder.modes {
            let seeds: Vec<_> = match builder.seeds.clone() {
                Some(seeds) => seeds.map(Some).collect(),
                None => vec![None],
            };
            let mut in_mode = BTreeSet::new();
            for seed in seeds {
                let run = ModelRun {
                    name: self.name.clone(),
                    mode,
                    seed,
                };
                match self.one(&run, &mut in_mode) {
                    Ok(executions) => report.executions += executions,
                    Err(failure) => match &builder.must_fail {
                        Some(text) if failure.0.message.contains(text) => {
                            report.executions += failure.0.execution.unwrap_or(0);
                            report.extent = format!("failed as it must, {}", failure.0.when);
                            return Ok(report);
                        }
                        _ => return Err(failure),
                    },
                }
            }
            let wanted = builder.outcomes_in.get(&mode);
            if let (Some(wanted), None, None) = (wanted, &builder.seeds, &builder.must_fail) {
                self.compare(&in_mode, wanted, &format!("mode {mode}"))?;
            }
            report.outcomes.append(&mut in_mode);
        }
        if let Some(text) = &builder.must_fail {
            let message = format!("the model passed, but should have failed with {text:?}");
            return Err(self.failure("in all modes".to_owned(), message));
        }
        if let (Some(wanted), None) = (&builder.outcomes, &builder.seeds) {
            self.compare(&report.outcomes, wanted, "in all modes")?;
        }
        Ok(report)
    }

    /// Checks one mode and seed; returns the number of executions.
    fn one(&self, run: &ModelRun, outcomes: &mut BTreeSet<String>) -> Result<usize, Failure> {
        self.prepare(run);
        let reached = Reached::default();
        let (result, allowed) = (self.plan().run(self.body(&reached)), self.allowed(run));
        let executions = match result {
            Ok(executions) => executions,
            Err(failed) => return Err(self.failed(run, failed)),
        };
        let reached = std::mem::take(&mut *reached.lock().unwrap_or_else(PoisonError::into_inner));
        let unexpected = reached
            .iter()
            .filter(|(outcome, _)| allowed.is_some_and(|allowed| !allowed.contains(*outcome)))
            .min_by_key(|(_, first)| **first);
        if let Some((_, &execution)) = unexpected {
            let names: Vec<_> = reached.keys().collect();
            let message = format!(
                "an unexpected outcome; reached: {names:?}, expected: {:?}",
                allowed.into_iter().flatten().collect::<Vec<_>>()
            );
            return Err(self.failed(run, Failed { message, execution }));
        }
        outcomes.extend(reached.into_keys());
        Ok(executions)
    }

    /// Returns the report of a check that has not begun.
    fn report(&self, extent: String) -> Report {
        Report {
            name: self.name.clone(),
            executions: 0,
            outcomes: BTreeSet::new(),
            extent,
        }
    }

    fn failure(&self, when: String, message: String) -> Failure {
        Failure(Box::new(Details {
            model: self.name.clone(),
            message,
            execution: None,
            when,
            file: None,
            command: None,
        }))
    }

    fn when(run: &ModelRun) -> String {
        match run.seed {
            Some(seed) => format!("mode {}, seed {seed}", run.mode),
            None => format!("mode {}", run.mode),
        }
    }

    fn compare(
        &self,
        reached: &BTreeSet<String>,
        wanted: &BTreeSet<String>,
        when: &str,
    ) -> Result<(), Failure> {
        if reached == wanted {
            return Ok(());
        }
        let message = format!(
            "some expected outcomes were not reached; reached: {reached:?}, expected: {wanted:?}"
        );
        Err(self.failure(when.to_owned(), message))
    }

    fn failure_of(&self, run: &ModelRun, failed: Failed) -> Failure {
        let mut failure = self.failure(Self::when(run), explained(failed.message));
        failure.0.execution = Some(failed.execution);
        failure
    }

    /// Describes the failure of `run`, and writes the interleaving to a file.
    fn failed(&self, run: &ModelRun, failed: Failed) -> Failure {
        let execution = failed.execution;
        let mut failure = self.failure_of(run, failed);
        // Writes no file for a failure that is expected.
        if self.builder.must_fail.is_some() || !self.builder.writes_file {
            return failure;
        }
        let file = run.file();
        // Removes an existing file, as loom would begin with the interleaving in it.
        let _ = std::fs::remove_file(&file);
        self.prepare(run);
        let body = self.body(&Reached::default());
        let written =
            self.plan().write_path(execution, file.clone(), body) && run.complete(&file).is_ok();
        if written {
            let with = self.builder.replay_with.as_deref();
            failure.0.command = Some(command(&file, with));
            failure.0.file = Some(file);
        } else {
            failure.0.message += "\n(a second run did not fail here: the model depends on more than its interleaving)";
        }
        failure
    }

    fn replay(&self, file: &Path, skip_others: bool) -> Result<Report, Failure> {
        let complain = |message| self.failure("replay".to_owned(), message);
        let (run, path) = ModelRun::read(file).map_err(complain)?;
        let mut report = self.report(format!("skipped: another model, {}, is replayed", run.name));
        if skip_others && run.name != self.name {
            return Ok(report);
        }
        // Lets loom read a copy, as loom writes to the file that it reads.
        let copy = file.with_extension("replay");
        std::fs::write(&copy, path).map_err(|e| complain(e.to_string()))?;
        self.prepare(&run);
        settings::set_logging(true);
        let reached = Reached::default();
        let result = self.plan().replay(&copy, self.body(&reached));
        settings::set_logging(false);
        let _ = std::fs::remove_file(&copy);
        let reached = std::mem::take(&mut *reached.lock().unwrap_or_else(PoisonError::into_inner));
        let mut failure = match result {
            Ok(executions) => {
                report.executions = executions;
                report.extent = format!("replay of {}", file.display());
                report.outcomes = reached.into_keys().collect();
                let allowed = self.allowed(&run);
                if allowed.is_none_or(|allowed| report.outcomes.is_subset(allowed)) {
                    return Ok(report);
                }
                let message = format!("an unexpected outcome: {:?}", report.outcomes);
                self.failure(Self::when(&run), message)
            }
            Err(failed) => self.failure_of(&run, failed),
        };
        failure.0.when = format!("replay of {}, {}", file.display(), failure.0.when);
        Err(failure)
    }
}

/// Returns one of loom's messages, with its probable cause if that is known.
fn explained(message: String) -> String {
    let more = if message.starts_with("Allocation leaked") {
        "this crate's memory was leaked, but no counted object is alive: a closure or release was sent to a thread that did not end with `model::thread_exit`, or a weak reference was forgotten"
    } else if message.starts_with("deadlock") {
        "every thread waits for another one: a wake-up was missed, or is missing from the code"
    } else {
        return message;
    };
    format!("{message}\n({more})")
}

// Files that hold a failing interleaving: the title, lines of `key=value`, an empty line, and the
// interleaving as loom writes it, which is a *path*.

const TITLE: &str = "releasepool model 1";

/// The model, mode and seed to which an interleaving belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ModelRun {
    name: String,
    mode: Mode,
    seed: Option<u64>,
}

impl ModelRun {
    /// Returns the file for this run's failing interleaving: beside the program, or else in the
    /// directory for temporary files.
    fn file(&self) -> PathBuf {
        let exe = std::env::current_exe().ok();
        let beside = exe.and_then(|exe| Some(exe.parent()?.join("failed-models")));
        let directory = beside
            .filter(|directory| std::fs::create_dir_all(directory).is_ok())
            .unwrap_or_else(std::env::temp_dir);
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut name: String = self.name.chars().map(plain).collect();
        let _ = write!(name, "-{}", self.mode);
        if let Some(seed) = self.seed {
            let _ = write!(name, "-{seed}");
        }
        directory.join(name + ".path")
    }

    /// Puts the title, name, mode and seed before the path that loom has written to `file`.
    fn complete(&self, file: &Path) -> io::Result<()> {
        let path = std::fs::read_to_string(file)?;
        let mut text = format!("{TITLE}\nname={}\nmode={}\n", self.name, self.mode);
        if let Some(seed) = self.seed {
            let _ = writeln!(text, "seed={seed}");
        }
        std::fs::write(file, text + "\n" + &path)
    }

    /// Reads a file; returns the run and loom's path.
    fn read(file: &Path) -> Result<(Self, String), String> {
        let complain = |what: &str| format!("{}: {what}", file.display());
        let text = std::fs::read_to_string(file).map_err(|e| complain(&e.to_string()))?;
        let (head, path) = text
            .split_once("\n\n")
            .filter(|(head, _)| head.starts_with(TITLE))
            .ok_or_else(|| complain("this file does not hold the interleaving of a model"))?;
        let value = |key: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once('='));
            lines.find(|(k, _)| *k == key).map(|(_, value)| value)
        };
        let (name, mode) = (value("name"), value("mode").and_then(Mode::from_name));
        let seed = value("seed").map(str::parse).transpose();
        let run = Self {
            name: name
                .ok_or_else(|| complain("the name is missing"))?
                .to_owned(),
            mode: mode.ok_or_else(|| complain("the mode is missing or unknown"))?,
            seed: seed.map_err(|_| complain("the seed is not a number"))?,
        };
        Ok((run, path.to_owned()))
    }
}

/// Returns the command that replays `file` in this program.
fn command(file: &Path, with: Option<&str>) -> String {
    let quote = |text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=+,@".contains(c);
        if !text.is_empty() && text.chars().all(plain) {
            text.to_owned()
        } else {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
    };
    let file = quote(&file.to_string_lossy());
    if let Some(with) = with {
        return format!("{with} {file}");
    }
    let mut command = format!("{VARIABLE}={file}");
    let exe = std::env::current_exe().unwrap_or_default();
    let _ = write!(command, " {}", quote(&exe.to_string_lossy()));
    match test_name() {
        // Selects this test alone, by the arguments of a test program.
        Some(test) => {
            let _ = write!(command, " --exact {} --nocapture", quote(&test));
        }
        None => {
            for argument in std::env::args().skip(1) {
                let _ = write!(command, " {}", quote(&argument));
            }
        }
    }
    command
}

/// The environment variable that names a file to replay instead of checking models.
const VARIABLE: &str = "RELEASEPOOL_MODEL_REPLAY";

/// Returns the name of the calling thread if it may be the name of a test.
fn test_name() -> Option<String> {
    let name = crate::sync::settings::os_thread_name()?;
    (name != "main").then_some(name)
}
