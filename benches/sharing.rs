//! The benchmark `sharing`: what sharing objects between threads costs. It measures slots, hot
//! objects, destruction by another thread, and drains with a budget. See README.md.

use releasepool_benches::contest::Effort;
use releasepool_benches::{budget, held, rows, table, terminal};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if held::run_if_asked(&arguments) {
        return ExitCode::SUCCESS;
    }
    let has = |option: &str| arguments.iter().any(|argument| argument == option);
    let has_parts = arguments.iter().any(|argument| !argument.starts_with("--"));
    let mut measured = Vec::new();
    if !has("--budget") && !has("--held") {
        if let Err(error) = rows::check_elsewhere() {
            eprintln!("sharing: {error}");
            return ExitCode::from(1);
        }
        measured = table::print(table::asked(rows::sharing(), &arguments), Effort::FULL);
    }
    if !has_parts && !has("--held") {
        measured.push(budget::measure(20));
    }
    if !measured.is_empty() {
        terminal::conclude(&measured);
    }
    if has("--held") || (!has_parts && !has("--budget") && !has("--targets")) {
        held::print();
    }
    ExitCode::SUCCESS
}
