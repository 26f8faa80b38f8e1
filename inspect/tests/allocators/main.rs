//! Tests the findings in memory of several allocators.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

#[path = "../common/mod.rs"]
mod common;
mod holders;
mod kinds;
#[path = "../sample/mod.rs"]
mod sample;
mod unknown;
#[path = "../leaky/verdicts.rs"]
#[allow(dead_code, reason = "the leaks of another program are not expected")]
mod verdicts;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU8, Ordering};

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
        Some(_) => holders::play(),
    }
}
