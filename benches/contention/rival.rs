//! Alternatives in a process with another global allocator, which is what a program can change by one
//! line, without any pool.
//!
//! They take part in the same rounds as all others: each measured thread of this process has a thread
//! in the other one, sends it a number of turns through a socket, and waits for the time that the
//! turns took by the clock of that thread. So sockets and waiting are not part of the time.

use crate::scenario::{Contestant, Scenario};
use crate::scenarios;
use releasepool_benches::objects::Count;
use releasepool_benches::workload::{Job, Workload};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The benchmark with that allocator, as cargo knows it.
pub const BENCH: &str = "contention-mimalloc";
const NOTE: &str = "in a process of its own, in which mimalloc is the #[global_allocator]";

/// The implementations that also run there, and their names then.
const RIVALS: [(&str, &str); 4] = [
    ("Arc + Vec", "Arc + Vec, mimalloc"),
    ("triomphe + Vec", "triomphe + Vec, mimalloc"),
    ("Arc", "Arc, mimalloc"),
    ("Arc + channel of Vec", "Arc + channel of Vec, mimalloc"),
];

/// The scenarios in which nothing is allocated, or hardly anything.
const WITHOUT: [&str; 3] = ["nested-empty", "hot", "config"];

/// Adds the rivals to a scenario.
pub fn add(scenario: &mut Scenario) {
    let id = scenario.id;
    if WITHOUT.contains(&id) {
        return;
    }
    for (here, name) in RIVALS {
        let original = scenario.contestants.iter().find(|c| c.name == here);
        if let Some(original) = original {
            let measured = move || workload(id, here);
            let rival = Contestant {
                elsewhere: Some(here),
                ..Contestant::new(name, original.role, measured, measured)
            };
            scenario.contestants.push(rival.note(NOTE));
        }
    }
}

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Returns the program with the other allocator.
pub fn program() -> Result<PathBuf, String> {
    PROGRAM
        .get()
        .cloned()
        .ok_or_else(|| format!("{BENCH} was not built"))
}

/// Builds the program if these scenarios need it. If it cannot be built, removes its contestants.
pub fn prepare(scenarios: &mut Vec<Scenario>) {
    let mut contestants = scenarios.iter().flat_map(|s| &s.contestants);
    if !contestants.any(|contestant| contestant.elsewhere.is_some()) {
        return;
    }
    eprintln!("building {BENCH}");
    match build() {
        Ok(program) => {
            let first = PROGRAM.set(program);
            first.expect("it is built only once");
        }
        Err(error) => {
            eprintln!("there are no rows with mimalloc: {error}");
            for scenario in scenarios.iter_mut() {
                scenario.contestants.retain(|c| c.elsewhere.is_none());
            }
            scenarios.retain(|scenario| !scenario.contestants.is_empty());
        }
    }
}

/// Has cargo build the program, and returns its path.
fn build() -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // In the root, as cargo then uses the dependencies that it has built for this program.
    let output = Command::new(cargo)
        .args(["bench", "--no-run", "--quiet", "--bench", BENCH])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo does not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo could not build {BENCH}"));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let mut built = messages.filter_map(|message: serde_json::Value| {
        let is_ours = message["target"]["name"] == BENCH;
        let program = message["executable"].as_str().filter(|_| is_ours)?;
        Some(PathBuf::from(program))
    });
    built
        .next()
        .ok_or_else(|| "cargo printed no path".to_owned())
}

/// The other process. Dropping it ends it.
struct Process {
    child: Child,
    /// The process ends when this is closed, however this one ends.
    input: Option<ChildStdin>,
    port: u16,
}

impl Process {
    fn start(scenario: &str, implementation: &str) -> Result<Self, String> {
        let mut child = Command::new(program()?)
            .args(["--serve", scenario, implementation])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{BENCH} does not start: {error}"))?;
        let input = child.stdin.take();
        let output = child.stdout.take().expect("it is a pipe");
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        let port = read.ok().and_then(|_| line.trim().parse().ok());
        // Made first, so that an error ends the process.
        let process = Self {
            child,
            input,
            port: port.unwrap_or(0),
        };
        match port {
            Some(_) => Ok(process),
            None => Err(format!("{BENCH} does not serve {implementation}")),
        }
    }

    /// Creates the job of the calling thread.
    fn job(&self) -> io::Result<Job> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_nodelay(true)?;
        Ok(Box::new(move |turns| {
            let time = stream
                .write_all(&turns.to_le_bytes())
                .and_then(|()| number(&mut stream));
            Duration::from_nanos(time.expect("the process with mimalloc is running"))
        }))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.input = None;
        // If it has failed, that was noticed before.
        let _ = self.child.wait();
    }
}

/// Reads a number of turns, or of nanoseconds.
pub fn number(stream: &mut TcpStream) -> io::Result<u64> {
    let mut bytes = [0; 8];
    stream.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Returns a workload that is done by the other process.
fn workload(scenario: &'static str, implementation: &'static str) -> Workload {
    let here = scenarios::find(scenario, implementation).expect("it has rivals");
    let operations = (here.measured)().operations;
    let process =
        Process::start(scenario, implementation).expect("the process with mimalloc starts");
    let process = Arc::new(process);
    Workload::new("", operations, move || {
        process.job().expect("the process with mimalloc is running")
    })
}

/// Counts the objects of an implementation in the other process.
pub fn count(scenario: &str, implementation: &str, threads: usize) -> Result<Count, String> {
    let output = Command::new(program()?)
        .args(["--check", scenario, implementation, &threads.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("{BENCH} does not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let counts: Vec<_> = text.split_whitespace().map(str::parse).collect();
    match counts[..] {
        [Ok(made), Ok(destroyed), Ok(peak)] => Ok(Count {
            made,
            destroyed,
            peak,
        }),
        _ => Err(format!("{BENCH}: {}", text.trim())),
    }
}
