//! Programs on several fresh threads: in turns, step by step beside the naive model, or
//! all at once.
#![no_main]

#[path = "../../tests/all/model/mod.rs"]
mod model;

use libfuzzer_sys::fuzz_target;
use model::Op;
use model::run::{Place, in_turns};

fuzz_target!(
    init: {
        releasepool::event::set_hook(Some(model::real::world::on_event));
    },
    |program: Vec<(u8, Op)>| {
        in_turns(&program, 3, Place { on_thread: || (), alone: true });
    }
);
