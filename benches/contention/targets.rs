//! The rows that have targets, and all others of the benchmarks `core` and `sharing`.

use crate::scenarios::trees;
use releasepool_benches::rows::{core, sharing};
use releasepool_benches::table::{Row, Target};

/// Compares deep trees from the global allocator with those that are destroyed by hand.
fn deep_trees() -> [Row; 2] {
    let [ours, theirs] = trees::in_global();
    [1, 2].map(|threads| {
        let row = Row::new("deep trees dropped, global allocator", threads, &ours);
        row.against(Target::AtMost(1.0), threads, &theirs)
    })
}

/// Returns the rows with targets, or all.
pub fn rows(all: bool) -> Vec<Row> {
    let core = core().into_iter();
    let rows = core.chain(sharing()).chain(deep_trees());
    rows.filter(|row| all || row.has_target()).collect()
}
