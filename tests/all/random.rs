//! Random programs, compared with the naive model in [`crate::model`].

mod fuzz_regressions;
mod programs;
mod threads;

use crate::model::real::on_event;
use crate::model::run::Place;
use crate::support::react;

/// Other tests of this process run meanwhile.
pub const AMONG_OTHERS: Place = Place {
    on_thread: || react(on_event),
    alone: false,
};

/// In a process of its own, as orphans are shared by the whole process.
const ALONE: Place = Place {
    alone: true,
    ..AMONG_OTHERS
};
