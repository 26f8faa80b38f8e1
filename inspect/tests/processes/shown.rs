//! Tests what `top` shows of a running program, and what gdb shows of handles, pools and slots.

use crate::common::{self, Target, inspect};
use releasepool::frame::FrameConfig;
use releasepool::slot::OptionSlot;
use releasepool::{AutoreleasePool, FrameLoop, HandoffPool, Ref, Slot};
use serde_json::Value;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// How long the frames that the test asks for take, at least.
const FRAME: Duration = Duration::from_millis(2);

/// Plays the role `frames`.
pub fn play_frames() -> ! {
    let other = thread::Builder::new().name("render".to_owned());
    let other = other.spawn(|| {
        let mut frames = FrameLoop::new(FrameConfig::new().frames_per_second(1_000));
        frames.run(|_| ControlFlow::Continue(()));
    });
    other.unwrap();
    let mut frames = FrameLoop::new(FrameConfig::default());
    common::serve(|question| {
        _ = frames.tick(|_| thread::sleep(FRAME));
        question.to_owned()
    })
}

/// Returns how many frames a thread has made, and how long the last one took.
fn frames(top: &Value, name: &str) -> (u64, u64) {
    let threads = top["threads"].as_array().expect("a list");
    let thread = threads.iter().find(|thread| thread["name"] == name);
    let thread = thread.unwrap_or_else(|| panic!("no thread {name} in {top:#}"));
    let number = |key: &str| thread[key].as_u64().unwrap_or_else(|| panic!("{top:#}"));
    (number("frames"), number("last_frame_nanos"))
}

#[test]
fn frames_of_running_loops_are_counted_and_timed() {
    let mut target = Target::start("frames");
    for question in ["first", "second", "third"] {
        target.ask(question);
    }
    let pid = target.pid().to_string();
    let look = || inspect(&["top", "--json", "--pid", &pid]).json();
    let top = look();
    let (count, nanos) = frames(&top, "role");
    assert_eq!(count, 3);
    assert!(u128::from(nanos) >= FRAME.as_nanos(), "{nanos} ns");
    let text = inspect(&["top", "--pid", &pid]).success();
    let shown = format!("3 ({:.1} ms)", nanos as f64 / 1e6);
    let is_row = |line: &&str| line.starts_with("role ") && line.trim_end().ends_with(&shown);
    assert!(text.lines().any(|line| is_row(&line)), "{shown}:\n{text}");
    // The loop of the other thread goes on.
    let (before, _) = frames(&top, "render");
    while frames(&look(), "render").0 <= before {
        thread::sleep(Duration::from_millis(10));
    }
}

/// Plays the role `shown`.
pub fn play_debugged() {
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

/// Does nothing: gdb stops here.
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
        "break processes::shown::show",
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
