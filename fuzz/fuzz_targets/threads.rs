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
use model::free::{self, Setting, Step};
use model::run::{Place, in_turns, live_objects};
use model::{Op, THREADS};

#[derive(Debug)]
enum Program {
    InTurns(Vec<(u8, Op)>),
    Free(Vec<Vec<Step>>),
}

impl<'a> Arbitrary<'a> for Program {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match u8::arbitrary(bytes)? % 4 {
            0 | 1 => Self::Free(by_thread(bytes)?),
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

fn by_thread(bytes: &mut Unstructured) -> Result<Vec<Vec<Step>>> {
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

fn run_free(programs: Vec<Vec<Step>>) {
    let before = live_objects();
    free::run(programs, Setting::CHECKED, &[]);
    assert_eq!(live_objects(), before, "objects live that nobody has");
}

fuzz_target!(
    init: {
        releasepool::event::set_hook(Some(Box::new(model::real::on_event)));
    },
    |program: Program| match program {
        Program::InTurns(program) => drop(in_turns(&program, THREADS, PLACE)),
        Program::Free(programs) => run_free(programs),
    }
);
