//! What tasks of tokio have is no leak, in process after process beside busy threads, and what leaks
//! beside them is found.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

#[path = "../common/mod.rs"]
mod common;
mod jobs;
#[path = "../leaky/verdicts.rs"]
#[allow(dead_code, reason = "the leaks of another program are not expected")]
mod verdicts;

use common::Target;
use common::inspect;
use releasepool::Ref;
use std::cell::RefCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{mem, thread};

struct LeakCycle(RefCell<Option<Ref<LeakCycle>>>);
struct LeakForgotten(#[allow(dead_code)] [u64; 3]);

// SAFETY: they stay on the thread that makes them.
unsafe impl Send for LeakCycle {}
// SAFETY: as above.
unsafe impl Sync for LeakCycle {}

/// How many objects leak in each of the ways.
const LEAKS: u64 = 20;

/// Leaks some objects, on a thread of its own.
fn leak() {
    for n in 0..LEAKS {
        let own = Ref::new(LeakCycle(RefCell::default()));
        *own.0.borrow_mut() = Some(own.clone());
        mem::forget(black_box(Ref::new(LeakForgotten([n; 3]))));
    }
}

#[test]
fn role() {
    if common::role().is_some() {
        thread::spawn(leak).join().unwrap();
        let all = jobs::start();
        common::serve(|question| {
            black_box(&all);
            question.to_owned()
        });
    }
}

/// Inspects a process; its tasks may still be at their beginning.
fn check(pid: &str) {
    let report = inspect(&["leaks", "--json", "--limit", "0", "--pid", pid]).json();
    let mut found = [0, 0];
    for group in verdicts::groups(&report) {
        let types = verdicts::types(group);
        let is = |leak: &str| types.iter().any(|name| name.ends_with(leak));
        let at = ["::LeakCycle", "::LeakForgotten"].into_iter().position(is);
        let at = at.unwrap_or_else(|| panic!("held, but reported: {group:#}"));
        found[at] += group["leaks"].as_u64().unwrap();
    }
    // Words that are left on stacks may hide some forgotten ones.
    let is_found = found[0] == LEAKS && (LEAKS / 2..=LEAKS).contains(&found[1]);
    assert!(is_found, "{found:?} in {report:#}");
}

/// Ends busy threads when it is dropped, also by a panic.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn what_tasks_have_is_no_leak() {
    // `ci/long.sh tasks` sets a larger number.
    let processes = std::env::var("RELEASEPOOL_PROCESSES");
    let processes = processes.map_or(2, |n| n.parse().expect("a number of processes"));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let _done = Done(&done);
        for _ in 0..processes {
            let target = Target::start("tasks");
            let pid = target.pid().to_string();
            (0..3).for_each(|_| check(&pid));
        }
    });
}
