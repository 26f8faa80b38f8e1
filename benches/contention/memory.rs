//! The benchmark `memory`: what memory costs. It compares releasepool's blocks with other
//! allocators. See README.md.

mod allocators;
mod check;
mod checked;
mod comparisons;
mod contestants;
mod cross;
mod peak;
mod works;

use releasepool_benches::table;
use std::{fs, thread};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if peak::is_apart(&arguments) {
        return;
    }
    let has = |option: &str| arguments.iter().any(|argument| argument == option);
    let all = contestants::all();
    let rows = comparisons::rows(&all);
    if !has("--rows") {
        // On a spawned thread, like all measurements.
        thread::scope(|scope| {
            let check = scope.spawn(|| check::check(&all));
            check.join().expect("all allocators do the same work");
        });
    }
    let mut json = arguments.iter().filter_map(|a| a.strip_prefix("--json="));
    let json = json.next();
    if !has("--peak") {
        let measured = table::asked(rows, &arguments);
        if let Some(file) = json {
            let text = serde_json::to_string(&measured).expect("rows can be written as JSON");
            fs::write(file, text).expect("the file can be written");
        }
    }
    if !has("--rows") && !has("--targets") && json.is_none() {
        peak::print(&all);
    }
}
