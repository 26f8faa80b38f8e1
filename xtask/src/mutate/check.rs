//! Models and tests that may notice a mutant: what each reaches, and how long it takes.

use super::copy::FOLDER;
use crate::command::output;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::process::CommandExt;
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
        let until = Instant::now() + limit;
        let mut command = Command::new("sh");
        command
            .args(["-c", LIMITS])
            .arg(&self.program)
            .args(&self.args);
        for name in LOOM {
            command.env_remove(name);
        }
        command.env("RUST_BACKTRACE", "0");
        command.envs(switch.map(|(name, value)| (name, value)));
        command
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(Stdio::null());
        // A group of its own, to be killed as one.
        let mut child = command.process_group(0).spawn().expect("there is a shell");
        let mut pause = Duration::from_micros(500);
        loop {
            if let Some(status) = child.try_wait().expect("it is our child") {
                return status.success();
            }
            if Instant::now() > until {
                let group = format!("-{}", child.id());
                let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
                let _ = child.wait();
                return false;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

/// Runs these tests of one program, one after the other, and returns whether all pass.
pub fn pass_together(tests: &[&Check], switch: &Switch, limit: Duration) -> bool {
    let mut all = tests[0].clone();
    let others = tests[1..].iter().flat_map(|test| test.args.last().cloned());
    all.args.extend(others);
    all.passes(switch, limit)
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
