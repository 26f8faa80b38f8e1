//! All kinds of work that are measured.

mod config;
mod frame;
mod handoff;
mod hot;
mod nested;
mod temporaries;
mod threads;
mod trees;

use crate::scenario::Scenario;

/// In the order in which they are shown.
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
