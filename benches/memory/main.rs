//! The benchmark `memory`: what memory costs. It compares releasepool's blocks with other
//! allocators, and objects in blocks with other objects. See README.md.

mod allocators;
mod arena;
mod box2d;
mod check;
mod checked;
mod comparisons;
mod contestants;
mod cross;
#[path = "../groups.rs"]
mod groups;
mod objects;
mod peak;
mod random;
mod usage;
mod works;

use groups::run_criterion;
use releasepool_benches::contest::Effort;
use releasepool_benches::{markdown, table, terminal};
use std::{fs, thread};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if peak::run_if_asked(&arguments) {
        return;
    }
    // The other options are criterion's, which parses the command line itself.
    let has = |option: &str| arguments.iter().any(|argument| argument == option);
    let effort = if has("--quick") {
        Effort::QUICK
    } else {
        Effort::FULL
    };
    // The argument that cargo adds; `cargo test --benches` does not.
    let everything = has("--bench") && arguments.iter().all(|a| a == "--bench" || a == "--quick");

    let all = contestants::all();
    if has("--rows") {
        let groups = comparisons::groups(&all);
        let rows = groups.iter().flat_map(|group| &group.rows);
        rows.for_each(|row| markdown::print_beginning(row.what(), row.threads()));
        return;
    }
    // On a spawned thread, like all measurements.
    thread::scope(|scope| {
        let check = scope.spawn(|| check::check(&all));
        check.join().expect("all allocators do the same work");
    });
    let groups = comparisons::groups(&all);
    if !has("--targets") && !has("--peak") {
        run_criterion(&groups);
    }
    if has("--targets") || everything {
        let rows = table::print(groups.into_iter().flat_map(|group| group.rows), effort);
        terminal::conclude(&rows);
        if let Some(at) = arguments.iter().position(|argument| argument == "--json") {
            let json = serde_json::to_string(&rows).expect("rows can be written as JSON");
            let file = arguments.get(at + 1).expect("--json FILE");
            fs::write(file, json).expect("the file can be written");
        }
    }
    if has("--peak") || everything {
        peak::print(&all);
    }
}
