//! A program with 24 leaks, and many objects that are alive for a reason. For trying and testing
//! `releasepool-inspect`.
//!
//! ```console
//! $ cargo run --release -p releasepool-inspect --example leaky
//! pid 4711
//! $ releasepool-inspect leaks --pid 4711
//! ```
//!
//! It prints its process id when everything is in place, and waits. For each line that it reads, a
//! registry grows; with `--grow` it grows by itself, ten times a second. At the end of its input the
//! program waits for another ten minutes.
//!
//! `expected.txt` says which verdict each leak has.

#![allow(dead_code, reason = "fields are there to be found from outside")]

mod healthy;
mod leaks;

use releasepool::event;
use std::io::{self, BufRead, Write};
use std::thread;
use std::time::Duration;

fn main() {
    // The library reports some of these leaks by itself; that is not the point here.
    event::set_hook(Some(Box::new(|_| {})));
    let alive = healthy::make();
    leaks::cycles::plant();
    leaks::closures::plant();
    leaks::homes::plant();
    leaks::forgotten::plant();
    leaks::pools::plant();
    leaks::containers::plant();
    overwrite_the_stack(64);

    let mut out = io::stdout();
    writeln!(out, "pid {}", std::process::id()).expect("standard output is open");
    out.flush().expect("standard output is open");
    if std::env::args().any(|arg| arg == "--grow") {
        thread::spawn(|| {
            loop {
                leaks::containers::grow(100);
                thread::sleep(Duration::from_millis(100));
            }
        });
    }
    for line in io::stdin().lock().lines() {
        if line.is_err() {
            break;
        }
        leaks::containers::grow(1_000);
        writeln!(out, "grown").expect("standard output is open");
        out.flush().expect("standard output is open");
    }
    thread::sleep(Duration::from_secs(600));
    alive.check();
}

/// Overwrites what earlier calls have left on the stack, as programs do that go on working.
#[inline(never)]
fn overwrite_the_stack(depth: usize) -> usize {
    let page = std::hint::black_box([depth; 512]);
    if depth == 0 {
        page[0]
    } else {
        overwrite_the_stack(depth - 1) + page[1]
    }
}
