//! Instructions per operation, which do not depend on other load on the machine.
//!
//! callgrind counts them in a process that runs some turns, and in one that runs more. The difference
//! is what the additional turns took, without the start and end of the process.

use crate::scenario::{Contestant, Scenario};
use std::process::Command;
use std::thread;

/// Operations that are not counted, and that are.
const WARM_UP: u64 = 2_000;
const COUNTED: u64 = 20_000;

pub fn available() -> bool {
    let version = Command::new("valgrind").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// Runs some turns, in the process that callgrind watches.
pub fn run(contestant: &Contestant, turns: u64) {
    let workload = (contestant.measured)();
    thread::scope(|scope| {
        scope.spawn(|| workload.job()(turns));
    });
}

/// Returns all instructions of such a process.
fn collected(scenario: &Scenario, contestant: &Contestant, turns: u64) -> Result<u64, String> {
    let (program, name) = match contestant.elsewhere {
        Some(elsewhere) => (elsewhere.allocator.program()?, elsewhere.implementation),
        None => {
            let program = std::env::current_exe().map_err(|error| error.to_string())?;
            (program, contestant.name)
        }
    };
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .arg("--count-turns")
        .args([scenario.id, name, &turns.to_string()])
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find_map(|line| line.split_once("Collected :"));
    let count = line.and_then(|(_, count)| count.trim().parse().ok());
    count.ok_or_else(|| format!("callgrind printed no count:\n{text}"))
}

/// Returns the instructions per operation on one thread.
pub fn count(scenario: &Scenario, contestant: &Contestant) -> Result<f64, String> {
    let operations = (contestant.measured)().operations;
    let before = WARM_UP.div_ceil(operations);
    let turns = COUNTED.div_ceil(operations);
    let less = collected(scenario, contestant, before)?;
    let more = collected(scenario, contestant, before + turns)?;
    Ok(more.saturating_sub(less) as f64 / (turns * operations) as f64)
}
