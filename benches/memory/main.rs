//! What memory costs: blocks of ours beside those of others, and objects made in them.
//!
//! All allocators are called by one trait, and none is the program's global one. See
//! README.md.

mod arena;
mod box2d;
mod checked;
mod contestants;
mod groups;
mod objects;
mod peak;
mod random;
mod rows;
mod works;

use releasepool_benches::contest::Effort;
use releasepool_benches::table;
use std::thread;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if peak::is_asked_for(&arguments) {
        return;
    }
    let has = |option: &str| arguments.iter().any(|argument| argument == option);
    let effort = if has("--quick") {
        Effort::QUICK
    } else {
        Effort::FULL
    };
    // What cargo itself passes; `cargo test --benches` does not.
    let everything = has("--bench") && arguments.iter().all(|a| a == "--bench" || a == "--quick");

    let all = contestants::all();
    // As everything else that is measured: not on the main thread.
    thread::scope(|scope| {
        let check = scope.spawn(|| checked::check(&all));
        check.join().expect("all do the same work");
    });
    if !has("--targets") && !has("--peak") {
        groups::run(&all);
    }
    if has("--targets") || everything {
        table::print(&rows::rows(&all), effort);
    }
    if has("--peak") || everything {
        peak::print(&all);
    }
}
