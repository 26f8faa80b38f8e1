//! Programs on several fresh threads: in turns, step by step beside the naive model, or
//! all at once.
#![no_main]

mod decode;
// Shared with the library's tests; each target uses a part of it.
#[allow(dead_code)]
#[path = "../../tests/all/model/mod.rs"]
mod model;

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use model::Op;
use model::free::{Free, THREADS, run_free};
use model::run::{Place, in_turns};

#[derive(Debug)]
enum Program {
    InTurns(Vec<(u8, Op)>),
    Free(Vec<Vec<Free>>),
    InLockStep(Vec<Vec<Free>>),
}

impl<'a> Arbitrary<'a> for Program {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match u8::arbitrary(bytes)? % 4 {
            0 => Self::Free(by_thread(bytes)?),
            1 => Self::InLockStep(by_thread(bytes)?),
            _ => Self::InTurns(turns(bytes)?),
        })
    }
}

fn turns<'a, T: Arbitrary<'a>>(bytes: &mut Unstructured<'a>) -> Result<Vec<(u8, T)>> {
    let mut steps: Vec<(u8, T)> = decode::all(bytes)?;
    for (thread, _) in &mut steps {
        *thread %= THREADS as u8;
    }
    Ok(steps)
}

fn by_thread(bytes: &mut Unstructured) -> Result<Vec<Vec<Free>>> {
    let mut programs = vec![Vec::new(); THREADS];
    for (thread, step) in turns(bytes)? {
        programs[thread as usize].push(step);
    }
    Ok(programs)
}

const PLACE: Place = Place {
    on_thread: || (),
    alone: true,
};

fuzz_target!(
    init: {
        releasepool::event::set_hook(Some(Box::new(model::real::world::on_event)));
    },
    |program: Program| match program {
        Program::InTurns(program) => in_turns(&program, THREADS, PLACE),
        Program::Free(programs) => run_free(programs, false, PLACE),
        Program::InLockStep(programs) => run_free(programs, true, PLACE),
    }
);
