//! Models and tests that may notice a mutant: what each reaches, how long it takes, and which of them notices.

use super::copy::FOLDER;
use super::mutant::{Mutant, Verdict};
use crate::command::output;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// No core dumps, and no more than 16 GiB of addresses.
const LIMITS: &str = "ulimit -c 0; ulimit -v 16777216; exec \"$0\" \"$@\"";

/// These make loom stop early *and pass*, or change what it explores.
const LOOM: [&str; 5] = [
    "LOOM_MAX_DURATION",
    "LOOM_MAX_PERMUTATIONS",
    "LOOM_MAX_PREEMPTIONS",
    "LOOM_MAX_BRANCHES",
    "LOOM_CHECKPOINT_FILE",
];

/// How long a check may take with no mutant on.
const LONG: Duration = Duration::from_secs(900);

/// A variable of the environment that switches a mutant on, or has a program note what it reaches.
pub type Switch = (&'static str, String);

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

    /// Runs it with this mutant on, and returns whether it passes.
    pub fn passes(&self, switch: &Switch, limit: Duration) -> bool {
        self.run(Some(switch), limit, Stdio::null())
    }

    /// Runs it to its end, or kills it, and what it has started, when `limit` is over; returns whether it
    /// passes. What it prints goes to `output`.
    fn run(&self, switch: Option<&Switch>, limit: Duration, output: Stdio) -> bool {
        // All that is started is in the group of `timeout`.
        let mut command = Command::new("timeout");
        let limit = limit.as_secs_f64().to_string();
        command.args(["--signal=KILL", &limit, "sh", "-c", LIMITS]);
        command.arg(&self.program).args(&self.args);
        for name in LOOM {
            command.env_remove(name);
        }
        command.env("RUST_BACKTRACE", "0");
        command.envs(switch.map(|(name, value)| (name, value)));
        command
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(Stdio::null());
        command.status().expect("there is `timeout`").success()
    }
}

/// Calls `work` with each job, on all cores, and returns the results in any order.
pub fn in_parallel<J: Send, R: Send>(jobs: Vec<J>, work: impl Fn(J) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let (queue, results) = (Mutex::new(jobs.into_iter()), Mutex::new(Vec::new()));
    let next = || queue.lock().expect("no panic in here").next();
    let one_by_one = || {
        while let Some(job) = next() {
            let result = work(job);
            results.lock().expect("no panic in here").push(result);
        }
    };
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(one_by_one))));
    results.into_inner().expect("no panic in here")
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
            output(
                Command::new(program)
                    .args(["--list", "--format=terse"])
                    .args(more),
            )
        };
        let (all, ignored) = (list(&[])?, list(&["--ignored"])?);
        let is_run = |line: &&str| !ignored.lines().any(|ignored| ignored == *line);
        for name in all
            .lines()
            .filter(is_run)
            .filter_map(|line| line.strip_suffix(": test"))
        {
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

/// Runs checks with no mutant on. A check writes what it reaches into the file that `switch` is
/// given, or prints it; `reached` is given both.
pub fn baseline(
    checks: Vec<Check>,
    switch: impl Fn(&Path) -> Option<Switch> + Sync,
    reached: impl Fn(&[u8], &str) -> BTreeSet<usize> + Sync,
) -> Result<Vec<Known>, String> {
    let files = Path::new(FOLDER).join("reached");
    std::fs::create_dir_all(&files).map_err(|e| e.to_string())?;
    println!("{} checks, with no mutant on", checks.len());
    let all = in_parallel(checks.into_iter().enumerate().collect(), |(i, check)| {
        let (file, prints) = (files.join(i.to_string()), files.join(format!("{i}.out")));
        let output = File::create(&prints).expect("target/ can be written");
        let switch = switch(&file);
        let start = Instant::now();
        let passed = check.run(switch.as_ref(), LONG, output.into());
        let seconds = start.elapsed().as_secs_f64();
        let read = |file| std::fs::read(file).unwrap_or_default();
        let printed = String::from_utf8_lossy(&read(&prints)).into_owned();
        // A model that checks nothing proves nothing.
        let passed = passed && !printed.starts_with("checked 0 ");
        let reached = reached(&read(&file), &printed);
        (
            passed,
            Known {
                check,
                seconds,
                reached,
            },
        )
    });
    let mut known = Vec::new();
    for (passed, of) in all {
        let name = &of.check.name;
        match passed {
            true => known.push(of),
            // The copy needs more stack, and is slower: there are tests that notice this.
            false if of.check.is_test => {
                println!("left out, as it fails with no mutant on: {name}")
            }
            false => return Err(format!("{name} fails with no mutant on")),
        }
    }
    Ok(known)
}

/// Checks whose times differ by less, in seconds, count as equally quick. Quick ones come first, so that as
/// many as possible are run.
const STEP: f64 = 0.2;

/// [`Job::most`] for a mutant that has a reason: its checks only confirm that it still survives.
pub const MOST_IF_EXPLAINED: f64 = 10.0;

/// A mutant that is built, and what is known of it before it is examined.
pub struct Job {
    /// Its index among all mutants.
    pub mutant: usize,
    pub switch: Switch,
    /// The place of the source that a check must reach.
    pub place: usize,
    /// The models that the source names; they are asked first, however long they take.
    pub named: Vec<String>,
    /// The longest time in seconds, without a mutant, that its checks take together. Those that
    /// reach little else come first; most of the others only happen to run the same code.
    pub most: f64,
    /// How many times as long as without a mutant a check may take.
    pub patience: f64,
}

/// Returns which check notices each of these mutants. Those that have noticed others of its function are asked
/// first.
pub fn verdicts(all: &[Mutant], jobs: Vec<Job>, known: &[Known]) -> BTreeMap<usize, Verdict> {
    let noticed: Mutex<BTreeMap<(&str, &str), BTreeSet<String>>> = Mutex::default();
    let noticed = || noticed.lock().expect("no panic in here");
    let verdicts = in_parallel(jobs, |job| {
        let mutant = &all[job.mutant];
        let function = (&*mutant.file, &*mutant.function);
        let hints = noticed().get(&function).cloned().unwrap_or_default();
        let verdict = examine(&job, known, &hints);
        println!("{}: {verdict}", mutant.name());
        if let Verdict::NoticedByModel(by) | Verdict::NoticedByTest(by) = &verdict {
            noticed().entry(function).or_default().insert(by.clone());
        }
        (job.mutant, verdict)
    });
    verdicts.into_iter().collect()
}

/// Runs the checks that reach a mutant until one notices.
fn examine(job: &Job, known: &[Known], hints: &BTreeSet<String>) -> Verdict {
    let checks = in_order(job, known, hints);
    let limit = |seconds: f64| Duration::from_secs_f64(job.patience * seconds + 10.0);
    let fails = |known: &Known| !known.check.passes(&job.switch, limit(known.seconds));
    // Tests twice: none is to fail by chance.
    let notices = |known: &&&Known| fails(known) && (!known.check.is_test || fails(known));
    match checks.iter().find(notices).map(|known| &known.check) {
        None => Verdict::Survived(checks.len()),
        Some(check) if check.is_test => Verdict::NoticedByTest(check.name.clone()),
        Some(check) => Verdict::NoticedByModel(check.name.clone()),
    }
}

/// Returns the checks that reach a mutant: those that the source names and those of its function's hints
/// before the others; of these the quick ones first, models before tests, and those that reach little else
/// first; and, besides those that are named, no more than may run.
fn in_order<'k>(job: &Job, known: &'k [Known], hints: &BTreeSet<String>) -> Vec<&'k Known> {
    let reaches = |known: &&Known| known.reached.contains(&job.place);
    let mut checks: Vec<_> = known.iter().filter(reaches).collect();
    let is_named = |known: &Known| job.named.iter().any(|model| known.check.is_of(model));
    checks.sort_by_key(|known| {
        let (check, breadth) = (&known.check, known.reached.len());
        let is_hint = hints.contains(&check.name);
        let steps = if is_hint {
            0
        } else {
            (known.seconds / STEP) as u64
        };
        (!is_named(known), steps, !is_hint, check.is_test, breadth)
    });
    let mut seconds = 0.0;
    let fits = |known: &&&Known| {
        is_named(known) || {
            seconds += known.seconds;
            seconds <= job.most
        }
    };
    let fitting = checks.iter().take_while(fits).count();
    checks.truncate(fitting.max(1));
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str, seconds: f64, reached: usize) -> Known {
        let check = Check {
            name: name.to_owned(),
            is_test: name.starts_with("test "),
            ..Check::default()
        };
        let reached = (1..1 + reached).collect();
        Known {
            check,
            seconds,
            reached,
        }
    }

    #[test]
    fn specific_and_quick_checks_come_first_and_no_more_than_may_run() {
        let known = [
            known("test few", 0.1, 1),
            known("model slow, rmw", 3.0, 1),
            known("model many, rmw", 0.1, 9),
            known("model few, rmw", 0.1, 2),
            known("model long, rmw", 1.0, 1),
            known("test many", 0.1, 9),
            known("model elsewhere, rmw", 0.1, 0),
        ];
        let order = |most, named: &[&str], hints: &[&str]| {
            let owned = |names: &[&str]| Vec::from_iter(names.iter().map(|&name| name.to_owned()));
            let job = Job {
                mutant: 0,
                switch: ("", String::new()),
                place: 1,
                named: owned(named),
                most,
                patience: 1.0,
            };
            let checks = in_order(&job, &known, &owned(hints).into_iter().collect());
            let names: Vec<_> = checks.iter().map(|known| &*known.check.name).collect();
            names.join(", ").replace("model ", "").replace(", rmw", "")
        };
        let all = "few, many, test few, test many, long, slow";
        assert_eq!(order(99.0, &[], &[]), all);
        let hinted = order(99.0, &["many"], &["test many", "model slow, rmw"]);
        assert_eq!(hinted, "many, slow, test many, few, test few, long");
        assert_eq!(order(0.25, &[], &[]), "few, many");
        assert_eq!(order(0.0, &[], &[]), "few");
        assert_eq!(order(0.25, &["slow"], &[]), "slow, few, many");
    }

    #[test]
    fn a_check_that_takes_too_long_is_killed_with_what_it_has_started() {
        let of = |script: &str| Check {
            program: "bash".into(),
            args: ["-c", script].map(str::to_owned).into(),
            ..Check::default()
        };
        let switch = ("X", "7".to_owned());
        let passes = |script, limit| of(script).passes(&switch, Duration::from_millis(limit));
        assert!(passes("[ $X = 7 ]", 60_000) && !passes("[ $X = 8 ]", 60_000));
        assert!(!passes("sleep 1000 | cat", 50));
    }
}
