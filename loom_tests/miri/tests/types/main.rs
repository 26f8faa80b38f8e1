//! Uses each public type of releasepool: see docs/CHECKING.md of that crate.

mod foreign;
mod frames;
mod later;
mod memory;
mod objects;
mod pools;
mod threads;

use std::time::Duration;

/// A deadline that is reached only if a test fails.
const LONG: Duration = Duration::from_secs(3_600);
