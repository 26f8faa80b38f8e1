//! All scenarios.

mod config;
mod frame;
mod handoff;
mod hot;
mod nested;
mod temporaries;
mod threads;
mod trees;

use crate::scenario::Scenario;

/// Returns all scenarios, in the order of the output.
pub fn all() -> Vec<Scenario> {
    let mut all = temporaries::all();
    all.extend(nested::all());
    all.extend([
        hot::scenario(),
        config::scenario(),
        handoff::scenario(),
        threads::scenario(),
        trees::scenario(),
        frame::scenario(),
    ]);
    all
}
