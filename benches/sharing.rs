//! The benchmark `sharing`: what sharing objects between threads costs. It measures slots, hot
//! objects, destruction by another thread, and drains with a budget. See README.md.

use releasepool_benches::{held, rows, table};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if held::is_apart(&arguments) {
        return ExitCode::SUCCESS;
    }
    let only_held = arguments.iter().any(|argument| argument == "--held");
    if !only_held {
        if let Err(error) = rows::check_works() {
            eprintln!("sharing: {error}");
            return ExitCode::from(1);
        }
        table::asked(rows::sharing(), &arguments);
    }
    // Cargo passes `--bench`.
    if only_held || arguments.iter().all(|argument| argument == "--bench") {
        held::print();
    }
    ExitCode::SUCCESS
}
