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
mod objects;
mod peak;
mod random;
mod usage;
mod works;

use releasepool_benches::contest::Effort;
use releasepool_benches::{markdown, table, terminal};
use std::{fs, thread};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if peak::run_if_asked(&arguments) {
        return;
    }
    let has = |option: &str| arguments.iter().any(|argument| argument == option);
    let all = contestants::all();
    let rows = comparisons::rows(&all);
    if has("--rows") {
        let beginning = |row: &table::Row| markdown::print_beginning(row.what(), row.threads());
        return rows.iter().for_each(beginning);
    }
    // On a spawned thread, like all measurements.
    thread::scope(|scope| {
        let check = scope.spawn(|| check::check(&all));
        check.join().expect("all allocators do the same work");
    });
    if !has("--peak") {
        let effort = if has("--quick") {
            Effort::QUICK
        } else {
            Effort::FULL
        };
        let rows = table::print(rows, effort);
        terminal::conclude(&rows);
        if let Some(at) = arguments.iter().position(|argument| argument == "--json") {
            let json = serde_json::to_string(&rows).expect("rows can be written as JSON");
            let file = arguments.get(at + 1).expect("--json FILE");
            fs::write(file, json).expect("the file can be written");
        }
    }
    if !has("--targets") {
        peak::print(&all);
    }
}
