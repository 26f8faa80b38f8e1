//! How gdb shows references, pools and slots.

use crate::common;
use releasepool::{AutoreleasePool, HandoffPool, OptionSlot, Ref, Slot};
use std::hint::black_box;
use std::process::Command;

/// Plays the role.
pub fn play() {
    let pool = AutoreleasePool::named("frame");
    for number in 0..1_000_u64 {
        pool.create(number);
    }
    let handoff = HandoffPool::new();
    let number = Ref::new(4711_u32);
    let (second, weak) = (number.clone(), Ref::downgrade(&number));
    let dead = Ref::downgrade(&Ref::new(1_u8));
    let slice: Ref<[u16]> = Ref::from([7, 8, 9]);
    let slot = Slot::new(second);
    let empty: OptionSlot<u32> = OptionSlot::new(None);
    show();
    black_box((
        &pool, &handoff, &number, &weak, &dead, &slice, &slot, &empty,
    ));
}

/// Where gdb stops.
#[inline(never)]
fn show() {
    black_box(());
}

#[test]
fn gdb_shows_counts_values_and_entries() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../debuggers/releasepool.py");
    let names = [
        "pool", "handoff", "number", "weak", "dead", "slice", "slot", "empty",
    ];
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-ex", &format!("source {script}")]);
    gdb.args([
        "-ex",
        "set print elements 4",
        "-ex",
        "break processes::debugger::show",
    ]);
    gdb.args(["-ex", "run", "-ex", "up"]);
    for name in names {
        gdb.args(["-ex", &format!("print {name}")]);
    }
    gdb.arg("--args").arg(std::env::current_exe().unwrap());
    gdb.args(["--exact", "role", "--test-threads=1"]);
    let output = match gdb.env(common::ROLE, "shown").output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(_) => return eprintln!("gdb is not installed"),
    };
    let shown: Vec<&str> = output
        .lines()
        .filter(|line| line.starts_with('$'))
        .collect();
    let wanted: [&[&str]; 8] = [
        &[
            "AutoreleasePool \"frame\" (1000 entries) = {",
            "object (strong 1, weak 0) 0x",
        ],
        &["HandoffPool (0 entries)"],
        &["Ref (strong 2, weak 1) 0x", "value = 4711}"],
        &["Weak (strong 2, weak 1) 0x", "value = 4711}"],
        &["Weak (strong 0, weak 1, dead) 0x"],
        &["Ref (strong 1, weak 0) 0x", "= 7, ", "= 8, ", "= 9}"],
        &["Slot (strong 2, weak 1) 0x", "value = 4711}"],
        &["OptionSlot (empty)"],
    ];
    assert_eq!(shown.len(), wanted.len(), "{output}");
    for (line, wanted) in shown.iter().zip(wanted) {
        for part in wanted {
            assert!(line.contains(part), "{line}\nlacks {part}");
        }
    }
}
