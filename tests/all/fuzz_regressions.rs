//! What the fuzz targets have found, each under a name of its own; and some programs on
//! edges that were thought of beforehand. See fuzz/README.md.

use crate::model::Op::{self, *};
use crate::model::Plan;
use crate::model::free::THREADS;
use crate::model::real::world::on_event;
use crate::model::run::{Place, in_turns, one_thread};
use crate::support::child;

fn alone(program: &[Op]) {
    one_thread(program, PLACE);
}

fn turns(program: &[(u8, Op)]) {
    in_turns(program, THREADS, PLACE);
}

/// Programs with orphans need a process of their own.
const PLACE: Place = Place {
    on_thread: || crate::support::react(on_event),
    alone: false,
};
