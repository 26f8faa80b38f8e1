//! Programs that may hang, or take all memory.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// No core dumps, and no more than 16 GiB of addresses.
const LIMITS: &str = "ulimit -c 0; ulimit -v 16777216; exec \"$0\" \"$@\"";

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    pub passed: bool,
    pub seconds: f64,
}

/// Runs a program to its end, or kills it, and what it has started, when `limit` is over.
pub fn run(program: &Path, args: &[&str], env: &[(&str, &str)], limit: Duration) -> Ended {
    let start = Instant::now();
    let mut command = Command::new("sh");
    command.args(["-c", LIMITS]).arg(program).args(args);
    command.envs(env.iter().copied()).env("RUST_BACKTRACE", "0");
    // These make loom stop early *and pass*.
    for name in [
        "LOOM_MAX_DURATION",
        "LOOM_MAX_PERMUTATIONS",
        "LOOM_MAX_PREEMPTIONS",
    ] {
        command.env_remove(name);
    }
    command
        .env_remove("LOOM_MAX_BRANCHES")
        .env_remove("LOOM_CHECKPOINT_FILE");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
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
