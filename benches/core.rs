//! The benchmark `core`: what one object costs. It measures its creation, its references, and its
//! release by a pool, in a table of ratios. See README.md.

use releasepool_benches::{rows, table};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    rows::check_works().expect("all implementations do the same work");
    table::asked(rows::core(), &arguments);
}
