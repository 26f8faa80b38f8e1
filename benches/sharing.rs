//! The benchmark `sharing`: what sharing objects between threads costs. It measures slots, hot
//! objects, handing objects to another thread for destruction, and drains with a budget
//! (`--budget`: only those). See README.md.

use releasepool_benches::contest::Effort;
use releasepool_benches::{budget, rows, table, terminal};

fn main() {
    let mut measured = Vec::new();
    if std::env::args().all(|argument| argument != "--budget") {
        measured = table::print(rows::sharing(), Effort::FULL);
    }
    measured.push(budget::measure(20));
    terminal::conclude(&measured);
}
