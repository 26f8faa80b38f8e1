//! The peak memory of each allocator. Each runs in a process of its own, as an allocator could reuse
//! memory that another one has got from the system.

use crate::contestants::{self, Contestant};
use crate::usage::{OBJECTS, Shape, Usage};
use releasepool_benches::terminal;
use std::process::Command;
use std::thread;

/// The option with which the benchmark starts itself.
const OPTION: &str = "--peak-of";

fn name(shape: Shape) -> &'static str {
    match shape {
        Shape::Same => "same",
        Shape::Mixed => "mixed",
    }
}

/// Does the work if this is such a process, and returns true then.
pub fn run_if_asked(arguments: &[String]) -> bool {
    let [option, contestant, shape] = arguments else {
        return false;
    };
    if option != OPTION {
        return false;
    }
    let all = contestants::all();
    let contestant = all.iter().find(|other| other.name == contestant);
    let usage = contestant.expect("the allocator exists").usage;
    let shape = [Shape::Same, Shape::Mixed]
        .into_iter()
        .find(|other| name(*other) == shape)
        .expect("the shape exists");
    let used = thread::spawn(move || usage(shape)).join();
    let used = used.expect("the work does not panic");
    println!("{} {}", used.requested, used.peak.unwrap_or(0));
    true
}

/// Measures an allocator in another process.
fn of(contestant: &Contestant, shape: Shape) -> Usage {
    let this = std::env::current_exe().expect("this program has a path");
    let arguments = [OPTION, contestant.name, name(shape)];
    let output = Command::new(this).args(arguments).output();
    let output = output.expect("a process starts");
    assert!(output.status.success(), "{}: {output:?}", contestant.name);
    let text = String::from_utf8(output.stdout).expect("the output is text");
    let mut numbers = text.split_whitespace().map(|n| n.parse().expect("bytes"));
    let mut next = || numbers.next().expect("there are two numbers");
    let (requested, peak) = (next(), next());
    Usage {
        requested,
        peak: (peak > 0).then_some(peak),
    }
}

fn shown(used: &Usage) -> String {
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    match used.peak {
        Some(peak) => format!(
            "{:.1} MB for {:.1} MB, x {:.2}",
            megabytes(peak),
            megabytes(used.requested),
            peak as f64 / used.requested as f64
        ),
        None => "not measured on this system".to_owned(),
    }
}

/// Measures and prints the peaks of all allocators.
pub fn print(all: &[Contestant]) {
    println!(
        "\nPeak memory for {OBJECTS} live objects and their size, in a process for each allocator"
    );
    let mut table = terminal::figures([
        ("", 40),
        ("64 bytes", 28),
        ("16 to 640 bytes, replaced at random", 0),
    ]);
    for contestant in all {
        let same = shown(&of(contestant, Shape::Same));
        let mixed = if contestant.replaces() {
            shown(&of(contestant, Shape::Mixed))
        } else {
            "-".to_owned()
        };
        table.add_row([contestant.name, &same, &mixed]);
    }
    println!("{}", table.trim_fmt());
}
