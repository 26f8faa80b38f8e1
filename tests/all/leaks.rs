//! The ledger of live objects, and the reports of `leaks`.

mod balance;
mod contention;
mod expectations;
mod foreign;
mod holders;
mod reports;
mod scopes;
mod sites;

use crate::support::only;
use releasepool::leaks::{LeakGroup, LeakReport};

/// Returns the only group of a report.
#[track_caller]
pub fn only_group(report: &LeakReport) -> &LeakGroup {
    only(report.groups())
}
