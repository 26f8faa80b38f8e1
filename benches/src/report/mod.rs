//! The results of a run of `contention` as a page: charts, tables, and which implementation to
//! choose. The page needs neither network nor JavaScript, so that it can be opened, sent and kept as
//! a file. Its markup is also XML, so that tests can parse it.

mod chart;
mod look;
mod page;
mod scale;
mod standing;
mod table;

use crate::results::Results;

/// Returns the whole page.
pub fn html(results: &Results) -> String {
    page::page(results)
}
