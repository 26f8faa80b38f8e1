//! All scenarios.

mod frame;
mod handoff;
mod temporaries;
pub mod trees;

use crate::rival;
use crate::scenario::{Contestant, Scenario};

/// Returns all scenarios, in the order of the output.
pub fn all() -> Vec<Scenario> {
    let mut all = Vec::from(temporaries::temporaries());
    all.extend([handoff::scenario(), trees::scenario(), frame::scenario()]);
    all.iter_mut().for_each(rival::add);
    all
}

/// Returns the contestant with exactly these names.
pub fn find(scenario: &str, implementation: &str) -> Result<Contestant, String> {
    let scenario = all().into_iter().find(|s| s.id == scenario);
    let mut contestants = scenario.into_iter().flat_map(|s| s.contestants);
    let found = contestants.find(|contestant| contestant.name == implementation);
    found.ok_or_else(|| "no such work".to_owned())
}
