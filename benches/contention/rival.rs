//! Alternatives in processes with another global allocator, which a program can choose by one line,
//! instead of using pools. Such a process is this benchmark, built with a feature: see `serving`.
//!
//! These take part in the same rounds as all others: each measured thread here has a thread in the
//! other process, sends it a number of turns through a socket, and waits for the time that the
//! turns took by that thread's clock. So sockets and waiting are not part of the time.

use crate::allocator::{ALLOCATORS, Allocator, Elsewhere};
use crate::scenario::{Contestant, Scenario};
use crate::scenarios;
use releasepool_benches::objects::Count;
use releasepool_benches::workload::{Job, Workload};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// The alternatives that also run with other allocators.
const RIVALS: [&str; 5] = [
    "Arc + Vec",
    "triomphe + Vec",
    "Box + Vec",
    "Arc",
    "Arc + channel of Vec",
];

/// Adds the rivals to a scenario.
pub fn add(scenario: &mut Scenario) {
    let id = scenario.id;
    for allocator in &ALLOCATORS {
        for implementation in RIVALS {
            let original = scenario.contestants.iter();
            let Some(original) = original.clone().find(|c| c.name == implementation) else {
                continue;
            };
            let elsewhere = Elsewhere {
                allocator,
                implementation,
            };
            let measured = move || workload(id, elsewhere);
            let (kind, name) = (implementation, allocator.name);
            let name = format!("{kind}, {name}");
            let rival = Contestant {
                elsewhere: Some(elsewhere),
                ..Contestant::new(name, original.role, measured, measured)
            };
            scenario.contestants.push(rival.note(format!(
                "in a process of its own, in which {} is the #[global_allocator]",
                allocator.name
            )));
        }
    }
}

/// Builds the programs that these scenarios need. Removes the contestants of one that cannot be built,
/// or that takes too long for a quick run.
pub fn prepare(scenarios: &mut [Scenario], quick: bool) {
    for allocator in &ALLOCATORS {
        let is_in = |contestant: &Contestant| {
            let elsewhere = contestant.elsewhere;
            elsewhere.is_some_and(|elsewhere| elsewhere.allocator.name == allocator.name)
        };
        if !scenarios.iter().flat_map(|s| &s.contestants).any(is_in) {
            continue;
        }
        let built = if quick && allocator.slow_to_build {
            Err("it takes minutes to build, too long for a quick run".to_owned())
        } else {
            allocator.build()
        };
        match built {
            Ok(program) => _ = allocator.program.set(program),
            Err(error) => {
                eprintln!("there are no rows with {}: {error}", allocator.name);
                for scenario in scenarios.iter_mut() {
                    scenario.contestants.retain(|c| !is_in(c));
                }
            }
        }
    }
}

/// The other process, which ends when this is dropped.
struct Process {
    allocator: &'static Allocator,
    child: Child,
    /// The other process ends when its input is closed, however this process ends.
    input: Option<ChildStdin>,
    port: u16,
}

impl Process {
    fn start(scenario: &str, elsewhere: Elsewhere) -> Result<Self, String> {
        let Elsewhere {
            allocator,
            implementation,
        } = elsewhere;
        let mut child = Command::new(allocator.program()?)
            .args(["--serve", scenario, implementation])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("it does not start: {error}"))?;
        let input = child.stdin.take();
        let output = child.stdout.take().expect("it is a pipe");
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        let port = read.ok().and_then(|_| line.trim().parse().ok());
        // Made before `port` is checked, so that an error ends the other process.
        let process = Self {
            allocator,
            child,
            input,
            port: port.unwrap_or(0),
        };
        match port {
            Some(_) => Ok(process),
            None => Err(format!("it does not serve {implementation}")),
        }
    }

    /// Creates the job of the calling thread.
    fn job(&self) -> io::Result<Job> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_nodelay(true)?;
        let name = self.allocator.name;
        Ok(Box::new(move |turns| {
            let time = stream
                .write_all(&turns.to_le_bytes())
                .and_then(|()| number(&mut stream));
            let time = time.unwrap_or_else(|error| ended(name, &error));
            Duration::from_nanos(time)
        }))
    }
}

/// Panics, as the other process has failed.
fn ended(allocator: &str, error: &dyn std::fmt::Display) -> ! {
    panic!("the process with {allocator}: {error}")
}

impl Drop for Process {
    fn drop(&mut self) {
        self.input = None;
        // If the process has failed, that was noticed before.
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
fn workload(scenario: &'static str, elsewhere: Elsewhere) -> Workload {
    let here = scenarios::find(scenario, elsewhere.implementation).expect("it has rivals");
    let operations = (here.measured)().operations;
    let name = elsewhere.allocator.name;
    let process = Process::start(scenario, elsewhere).unwrap_or_else(|error| ended(name, &error));
    let process = Arc::new(process);
    Workload::new("", operations, move || {
        process.job().unwrap_or_else(|error| ended(name, &error))
    })
}

/// Counts the objects of an implementation in the other process.
pub fn count(scenario: &str, elsewhere: Elsewhere, threads: usize) -> Result<Count, String> {
    let output = Command::new(elsewhere.allocator.program()?)
        .args(["--count", scenario, elsewhere.implementation])
        .arg(threads.to_string())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("the other process does not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let counts: Vec<_> = text.split_whitespace().map(str::parse).collect();
    match counts[..] {
        [Ok(made), Ok(destroyed)] => Ok(Count { made, destroyed }),
        _ => Err("the other process has failed".to_owned()),
    }
}
