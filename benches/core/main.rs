//! The benchmark `core`: what one object costs. It measures its creation, its references, and its
//! release by a pool, by criterion and in a table of ratios. See README.md.

#[path = "../groups.rs"]
mod groups;

use groups::run_criterion;
use releasepool_benches::contest::Effort;
use releasepool_benches::{rows, table, terminal};

fn main() {
    // The other options are criterion's, which parses the command line itself.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let only_table = arguments.iter().any(|argument| argument == "--targets");
    // The argument that cargo adds; `cargo test --benches` does not.
    let everything = arguments == ["--bench"];
    let groups = rows::core();
    if !only_table {
        run_criterion(&groups);
    }
    if only_table || everything {
        let rows = groups.into_iter().flat_map(|group| group.rows);
        terminal::conclude(&table::print(rows, Effort::FULL));
    }
}
