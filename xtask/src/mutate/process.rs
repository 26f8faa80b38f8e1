//! Programs that may hang or take all memory, and several at once.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
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

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    pub passed: bool,
    pub seconds: f64,
}

/// A variable of the environment that switches a mutant on, or has a program note what it reaches.
pub type Switch = (&'static str, String);

/// Runs a program to its end, or kills it, and what it has started, when `limit` is over. What it
/// prints goes to `output`.
pub fn run(
    program: &Path,
    args: &[&str],
    switch: Option<&Switch>,
    limit: Duration,
    output: Stdio,
) -> Ended {
    let start = Instant::now();
    let mut command = Command::new("sh");
    command.args(["-c", LIMITS]).arg(program).args(args);
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
    let passed = wait(&mut child, start + limit);
    Ended {
        passed,
        seconds: start.elapsed().as_secs_f64(),
    }
}

fn wait(child: &mut Child, until: Instant) -> bool {
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
