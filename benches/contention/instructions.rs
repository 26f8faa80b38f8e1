//! Instructions of an operation, which do not depend on what else the machine does.
//!
//! Counted by callgrind, in a process of its own that does some turns, and again in one
//! that does more: what they differ by are the turns, without the beginning and the end.

use crate::scenario::{Contestant, Scenario};
use std::process::Command;
use std::thread;

/// The option by which this program calls itself.
pub const OPTION: &str = "count-turns";

/// Operations that are left out at the beginning, and that are counted.
const WARM_UP: u64 = 2_000;
const COUNTED: u64 = 20_000;

/// What a process is to do.
pub struct Task {
    pub scenario: String,
    pub implementation: String,
    pub turns: u64,
}

pub fn available() -> bool {
    let version = Command::new("valgrind").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// What the process does.
pub fn run(contestant: &Contestant, turns: u64) {
    let workload = (contestant.measured)();
    thread::scope(|scope| {
        scope.spawn(|| workload.job()(turns));
    });
}

/// All instructions of such a process.
fn collected(scenario: &Scenario, contestant: &Contestant, turns: u64) -> Result<u64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .arg(format!("--{OPTION}"))
        .args([scenario.id, contestant.name, &turns.to_string()])
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find_map(|line| line.split_once("Collected :"));
    let count = line.and_then(|(_, count)| count.trim().parse().ok());
    count.ok_or_else(|| format!("callgrind says:\n{text}"))
}

/// Instructions of an operation by one thread.
pub fn count(scenario: &Scenario, contestant: &Contestant) -> Result<f64, String> {
    let operations = (contestant.measured)().operations;
    let before = WARM_UP.div_ceil(operations);
    let turns = COUNTED.div_ceil(operations);
    let less = collected(scenario, contestant, before)?;
    let more = collected(scenario, contestant, before + turns)?;
    Ok(more.saturating_sub(less) as f64 / (turns * operations) as f64)
}
