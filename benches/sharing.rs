//! The benchmark `sharing`: what sharing objects between threads costs. It measures slots, hot
//! objects, destruction by another thread, and drains with a budget. See README.md.

use releasepool_benches::contest::Effort;
use releasepool_benches::table::Row;
use releasepool_benches::{budget, held, rows, table, terminal};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if held::run_if_asked(&arguments) {
        return ExitCode::SUCCESS;
    }
    let has = |option: &str| arguments.iter().any(|argument| argument == option);
    // Parts of titles.
    let parts: Vec<_> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let is_asked = |row: &Row| {
        let is_named = parts.iter().any(|part| row.what().contains(*part));
        (parts.is_empty() || is_named) && (row.has_target() || !has("--targets"))
    };
    let mut measured = Vec::new();
    if !has("--budget") && !has("--held") {
        if let Err(error) = rows::check_elsewhere() {
            eprintln!("sharing: {error}");
            return ExitCode::from(1);
        }
        let rows = rows::sharing().into_iter().filter(is_asked);
        measured = table::print(rows, Effort::FULL);
    }
    if parts.is_empty() && !has("--held") {
        measured.push(budget::measure(20));
    }
    if !measured.is_empty() {
        terminal::conclude(&measured);
    }
    if has("--held") || (parts.is_empty() && !has("--budget") && !has("--targets")) {
        held::print();
    }
    ExitCode::SUCCESS
}
