//! Programs on one fresh thread, to its end, step by step beside the naive model.
#![no_main]

mod decode;
// Shared with the library's tests; each target uses a part of it.
#[allow(dead_code)]
#[path = "../../tests/all/model/mod.rs"]
mod model;

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use model::Op;
use model::run::{Place, one_thread};

#[derive(Debug)]
struct Program(Vec<Op>);

impl<'a> Arbitrary<'a> for Program {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        decode::all(bytes).map(Self)
    }
}

const PLACE: Place = Place {
    on_thread: || (),
    alone: true,
};

fuzz_target!(
    init: {
        releasepool::event::set_hook(Some(Box::new(model::real::on_event)));
    },
    |program: Program| {
        one_thread(&program.0, PLACE);
    }
);
