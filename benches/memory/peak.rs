//! How much memory each of them takes for the same: a process for each, as what one has
//! got from the system another could use.

use crate::contestants::{Contestant, Memory};
use crate::works::{Live, SIZES};
use std::process::Command;
use std::thread;

/// Live objects.
const OBJECTS: usize = 100_000;

/// Of the mixed ones, how many are replaced.
const REPLACED: u64 = 1_000_000;

/// What the live objects are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// 64 bytes each.
    Same,
    /// Of many sizes, replaced at random.
    Mixed,
}

const SHAPES: [Shape; 2] = [Shape::Same, Shape::Mixed];

impl Shape {
    fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Mixed => "mixed",
        }
    }
}

/// Bytes.
pub struct Held {
    asked: u64,
    /// `None` where it is not measured.
    peak: Option<u64>,
}

/// A figure that the system has of this process.
#[cfg(target_os = "linux")]
fn figure(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(not(target_os = "linux"))]
fn figure(_: &str) -> Option<u64> {
    None
}

/// Has the objects, in a process that does nothing else.
pub fn hold<M: Memory>(shape: Shape) -> Held {
    let sizes = match shape {
        Shape::Same => 64..=64,
        Shape::Mixed => SIZES,
    };
    let mut live = Live::<M>::none(OBJECTS, sizes);
    let before = figure("VmRSS:");
    live.fill();
    let mut asked = live.bytes();
    if shape == Shape::Mixed {
        for seed in 0..REPLACED {
            live.replace_one(seed);
            if seed % 10_000 == 0 {
                asked = asked.max(live.bytes());
            }
        }
    }
    let peak = figure("VmHWM:");
    Held {
        asked: asked as u64,
        peak: peak.zip(before).map(|(peak, before)| peak - before),
    }
}

const OPTION: &str = "--peak-of";

/// Whether this is such a process, which has then done its work.
pub fn is_asked_for(arguments: &[String]) -> bool {
    let [option, name, shape] = arguments else {
        return false;
    };
    if option != OPTION {
        return false;
    }
    let all = crate::contestants::all();
    let contestant = all.iter().find(|contestant| contestant.name == name);
    let hold = contestant.expect("a contestant").hold;
    let shape = SHAPES.into_iter().find(|s| s.name() == shape);
    let shape = shape.expect("a shape");
    let held = thread::spawn(move || hold(shape)).join().expect("no panic");
    println!("{} {}", held.asked, held.peak.unwrap_or(0));
    true
}

/// In another process.
fn of(contestant: &Contestant, shape: Shape) -> Held {
    let this = std::env::current_exe().expect("this program");
    let arguments = [OPTION, contestant.name, shape.name()];
    let output = Command::new(this).args(arguments).output();
    let output = output.expect("another process");
    assert!(output.status.success(), "{}: {output:?}", contestant.name);
    let text = String::from_utf8(output.stdout).expect("two numbers");
    let mut numbers = text.split_whitespace().map(|n| n.parse().expect("bytes"));
    let mut next = || numbers.next().expect("two numbers");
    let (asked, peak) = (next(), next());
    Held {
        asked,
        peak: (peak > 0).then_some(peak),
    }
}

fn shown(held: &Held) -> String {
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    match held.peak {
        Some(peak) => format!(
            "{:.1} MB for {:.1}, x {:.2}",
            megabytes(peak),
            megabytes(held.asked),
            peak as f64 / held.asked as f64
        ),
        None => "not measured on this platform".to_owned(),
    }
}

pub fn print(all: &[Contestant]) {
    println!("\nPeak memory for {OBJECTS} live objects, and what was asked for; a process each\n");
    println!(
        "{:<46} {:>28} {:>32}",
        "", "64 bytes", "16 to 640, replaced at random"
    );
    for contestant in all {
        let same = shown(&of(contestant, Shape::Same));
        let mixed = if contestant.replaces {
            shown(&of(contestant, Shape::Mixed))
        } else {
            "-".to_owned()
        };
        println!("  {:<44} {same:>28} {mixed:>32}", contestant.name);
    }
}
