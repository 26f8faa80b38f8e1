//! The resident memory of a process, in bytes; on Linux only. Each measurement runs in a process of
//! its own, as an allocator could reuse memory that another one has got from the system.

use std::process::Command;
use std::thread;

/// The option with which a benchmark starts itself.
const OPTION: &str = "--apart";

/// Reads a line of this process's status, which Linux has. `sysinfo` does not have the peak.
fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Returns the resident memory, or `None` if the system does not tell it.
pub fn now() -> Option<u64> {
    status("VmRSS:")
}

/// Returns the peak of the resident memory, or `None` if the system does not tell it.
pub fn peak() -> Option<u64> {
    status("VmHWM:")
}

/// Returns the numbers that the work of this name returns in a process of its own.
///
/// # Panics
/// If the process fails.
pub fn apart<const N: usize>(name: &str) -> [u64; N] {
    let this = std::env::current_exe().expect("this program has a path");
    let output = Command::new(this).args([OPTION, name]).output();
    let output = output.expect("a process starts");
    assert!(output.status.success(), "{name}: {output:?}");
    let text = String::from_utf8(output.stdout).expect("the output is text");
    let numbers = text.lines().map(|line| line.parse().expect("a number"));
    let numbers: Vec<u64> = numbers.collect();
    numbers.try_into().expect("all numbers are there")
}

/// Does the work of this name and returns its numbers; `None` if it has no work of this name.
pub type Work = fn(&str) -> Option<Vec<u64>>;

/// Does the work of this name and prints its numbers, in the process that [`apart`] starts.
///
/// # Panics
/// If there is no such work, or if it panics.
pub fn work(name: &str, works: &[Work]) {
    let find = || works.iter().find_map(|work| work(name));
    // On a spawned thread, like all measurements.
    let numbers = thread::scope(|scope| scope.spawn(find).join());
    let numbers = numbers.expect("the work does not panic");
    for number in numbers.expect("there is such work") {
        println!("{number}");
    }
}
