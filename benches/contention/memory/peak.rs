//! The peak memory of each allocator: it allocates many objects in a process that does nothing else.

use super::contestants;
use super::works::OBJECTS;
use releasepool_benches::{resident, terminal};

/// The prefix of an allocator's name that asks for blocks of mixed sizes.
const MIXED: &str = "mixed: ";

/// Returns the memory that the allocator of this name takes; called in a process for it alone.
pub fn apart(name: &str) -> Option<Vec<u64>> {
    let mixed = name.strip_prefix(MIXED);
    let all = contestants::all();
    let contestant = all.iter().find(|c| c.name == mixed.unwrap_or(name))?;
    Some((contestant.usage)(mixed.is_some()).to_vec())
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
