//! Programs on several fresh threads: in turns, step by step beside the naive model, or
//! all at once.
#![no_main]

// Shared with the library's tests; each target uses a part of it.
#[allow(dead_code)]
#[path = "../../tests/all/model/mod.rs"]
mod model;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use model::Op;
use model::free::{Free, THREADS, run_free};
use model::run::{Place, in_turns};

#[derive(Arbitrary, Debug)]
enum Program {
    InTurns(Vec<(u8, Op)>),
    Free([Vec<Free>; THREADS]),
    InLockStep([Vec<Free>; THREADS]),
}

const PLACE: Place = Place {
    on_thread: || (),
    alone: true,
};

fuzz_target!(
    init: {
        releasepool::event::set_hook(Some(model::real::world::on_event));
    },
    |program: Program| match program {
        Program::InTurns(program) => in_turns(&program, THREADS, PLACE),
        Program::Free(programs) => run_free(programs.into(), false, PLACE),
        Program::InLockStep(programs) => run_free(programs.into(), true, PLACE),
    }
);
