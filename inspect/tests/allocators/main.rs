//! Tests the findings in memory of several allocators.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

#[path = "../common/mod.rs"]
mod common;
mod kinds;
#[path = "../sample/mod.rs"]
mod sample;
mod unknown;
#[path = "../leaky/verdicts.rs"]
#[allow(dead_code, reason = "the leaks of another program are not expected")]
mod verdicts;

use common::{Target, inspect};
use releasepool::{HomeRef, Ref};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::RefCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU8, Ordering};
use std::{mem, thread};

/// The allocator that the role names.
struct Chosen;

#[global_allocator]
static CHOSEN: Chosen = Chosen;

/// The first letter of the role; 0 until it is known.
static LETTER: AtomicU8 = AtomicU8::new(0);

fn chosen() -> &'static dyn GlobalAlloc {
    let mut letter = LETTER.load(Ordering::Relaxed);
    if letter == 0 {
        // SAFETY: the name ends with a zero, and nothing changes the environment.
        let role = unsafe { libc::getenv(c"RELEASEPOOL_INSPECT_ROLE".as_ptr()) };
        letter = match role.is_null() {
            true => b'g',
            // SAFETY: not null, so it has at least the zero at its end.
            false => unsafe { *role.cast() },
        };
        LETTER.store(letter, Ordering::Relaxed);
    }
    match letter {
        b'm' => &mimalloc::MiMalloc,
        b'j' => &tikv_jemallocator::Jemalloc,
        b'u' => &unknown::LISTS,
        _ => &System,
    }
}

// SAFETY: all calls go to one allocator, whose promises are these.
unsafe impl GlobalAlloc for Chosen {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the caller's contract.
        unsafe { chosen().alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the caller's contract.
        unsafe { chosen().alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: by the caller's contract.
        unsafe { chosen().dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: by the caller's contract.
        unsafe { chosen().realloc(block, layout, size) }
    }
}

/// Plays the role that the process was started for.
#[test]
fn role() {
    match common::role().as_deref() {
        None => {}
        Some("unknown") => sample::play(|| common::serve(str::to_owned)),
        Some(_) => play(),
    }
}

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
