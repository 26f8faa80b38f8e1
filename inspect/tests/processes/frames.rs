//! Tests what `top` shows of a program that runs.

use crate::common::inspect;
use crate::common::{self, Target};
use releasepool::{FrameConfig, FrameLoop};
use serde_json::Value;
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

/// How long the frames that the test asks for take, at least.
const FRAME: Duration = Duration::from_millis(2);

/// Plays the role.
pub fn play() -> ! {
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
