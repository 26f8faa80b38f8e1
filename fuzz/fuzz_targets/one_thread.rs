//! Programs on one fresh thread, to its end, step by step beside the naive model.
#![no_main]

// Shared with the library's tests; each target uses a part of it.
#[allow(dead_code)]
#[path = "../../tests/all/model/mod.rs"]
mod model;

use libfuzzer_sys::fuzz_target;
use model::Op;
use model::run::{Place, one_thread};

fuzz_target!(
    init: {
        releasepool::event::set_hook(Some(model::real::world::on_event));
    },
    |program: Vec<Op>| {
        one_thread(&program, Place { on_thread: || (), alone: true });
    }
);
