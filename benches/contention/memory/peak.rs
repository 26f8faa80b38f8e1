//! The peak memory of each allocator: it allocates many objects in a process that does nothing else.

use super::contestants;
use super::works::OBJECTS;
use releasepool_benches::{resident, terminal};

/// The prefix of work with mixed sizes.
const MIXED: &str = "mixed: ";

/// Does the work if this is a process for it, and returns true then.
pub fn is_apart(arguments: &[String]) -> bool {
    resident::is_apart(arguments, |name| {
        let mixed = name.strip_prefix(MIXED);
        let all = contestants::all();
        let contestant = all.iter().find(|c| c.name == mixed.unwrap_or(name));
        (contestant.expect("the allocator exists").usage)(mixed.is_some())
    })
}

/// Measures an allocator in another process.
fn shown(name: &str) -> String {
    let [requested, peak] = resident::apart(name).map(|bytes| bytes as f64 / 1e6);
    if peak == 0.0 {
        return "not measured on this system".to_owned();
    }
    let times = peak / requested;
    format!("{peak:.1} MB for {requested:.1} MB, x {times:.2}")
}

/// Measures and prints the peaks of all allocators.
pub fn print() {
    println!(
        "\nPeak memory for {OBJECTS} live objects and their size, in a process for each allocator"
    );
    let mut table = terminal::figures([
        ("", 40),
        ("64 bytes", 28),
        ("16 to 640 bytes, replaced at random", 0),
    ]);
    for contestant in contestants::all() {
        let same = shown(contestant.name);
        let mixed = match contestant.is_shared() {
            true => shown(&format!("{MIXED}{}", contestant.name)),
            false => "-".to_owned(),
        };
        table.add_row([contestant.name, &same, &mixed]);
    }
    println!("{}", table.trim_fmt());
}
