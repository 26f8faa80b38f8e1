//! Objects that are held in more than sixty ways are no leaks, whatever the allocator is, and what
//! leaks beside them is found.

use crate::common::inspector::inspect;
use crate::common::{self, Target};
use crate::{kinds, verdicts};
use releasepool::{HomeRef, Ref};
use std::cell::RefCell;
use std::hint::black_box;
use std::{mem, thread};

struct LeakCycle(
    RefCell<Option<Ref<LeakCycle>>>,
    #[allow(dead_code)] [u64; 4],
);
struct LeakForgotten(#[allow(dead_code)] [u64; 5]);
struct LeakKept(#[allow(dead_code)] [u64; 3]);
struct LeakKeptInHome(#[allow(dead_code)] HomeRef<LeakKept>);

/// Leaks some objects, on a thread of its own.
fn leak() {
    for n in 0..20 {
        let pair = [0, 1].map(|at| Ref::new(LeakCycle(RefCell::default(), [n + at; 4])));
        *pair[0].0.borrow_mut() = Some(pair[1].clone());
        *pair[1].0.borrow_mut() = Some(pair[0].clone());
        mem::forget(black_box(Ref::new(LeakForgotten([n; 5]))));
        let home =
            thread::spawn(move || HomeRef::new(LeakKeptInHome(HomeRef::new(LeakKept([n; 3])))));
        drop(home.join().unwrap());
    }
}

/// Plays the role.
pub fn play() -> ! {
    thread::spawn(leak).join().unwrap();
    let all = kinds::make();
    common::serve(|question| {
        black_box(&all);
        question.to_owned()
    })
}

fn check(allocator: &str) {
    let target = Target::start(allocator);
    thread::sleep(std::time::Duration::from_millis(200));
    let pid = target.pid().to_string();
    let report = inspect(&["leaks", "--json", "--limit", "0", "--pid", &pid]).json();
    let mut found = Vec::new();
    for group in verdicts::groups(&report) {
        let types = verdicts::types(group);
        let leak = types.iter().find_map(|name| name.split("::Leak").nth(1));
        let leak = leak.unwrap_or_else(|| panic!("{allocator}: held, but reported: {group:#}"));
        found.push((leak.to_owned(), group["leaks"].as_u64().unwrap()));
    }
    found.sort();
    let expected = [("Cycle", 20), ("Forgotten", 20), ("KeptInHome", 20)];
    let expected = expected.map(|(name, leaks)| (name.to_owned(), leaks));
    assert_eq!(found, expected, "{allocator}: {report:#}");
}

#[test]
fn what_is_held_in_memory_of_glibc_is_no_leak() {
    check("glibc");
}

#[test]
fn what_is_held_in_memory_of_mimalloc_is_no_leak() {
    check("mimalloc");
}

#[test]
fn what_is_held_in_memory_of_jemalloc_is_no_leak() {
    check("jemalloc");
}
