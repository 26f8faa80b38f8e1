//! The benchmark `core`: what one object costs. It measures its creation, its references, and its
//! release by a pool, in a table of ratios. See README.md.

use releasepool_benches::contest::Effort;
use releasepool_benches::{rows, table, terminal};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rows = table::asked(rows::core(), &arguments);
    terminal::conclude(&table::print(rows, Effort::FULL));
}
