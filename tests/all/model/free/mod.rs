//! Programs on several threads at once. Their results are not determined as those of threads that
//! take turns, but these statements always hold:
//!
//! * Every object dies exactly once, after its last handle, and no upgrade fails before.
//! * An object that was never shown to another thread dies on the thread that made it.
//! * A thread's pools hold and release only what that thread put there.
//! * A cache returns the object that its slot holds, unless that changes meanwhile.
//!
//! Four drivers run such programs: the random tests, the fuzz target `threads`, the program `shuttle`
//! in `loom_tests/`, and `soak/`.
//!
//! * [`step`]: the steps
//! * [`objects`]: objects and handles
//! * [`world`]: what threads share
//! * [`random`]: how programs are drawn
//! * [`worker`]: one thread, and how it does each step

#![allow(dead_code, unused_imports, reason = "each driver uses a part")]

mod objects;
mod random;
mod step;
mod worker;
mod world;

pub use objects::{ON_PURPOSE, survive};
pub use random::Random;
pub use step::{Kind, Step};
pub use worker::start;
pub use world::{Setting, World};

use releasepool::ThreadHandle;

/// Runs each program on a thread of its own, and checks at the end that nothing is left. The programs
/// send to the other threads, too, which make drains until then.
///
/// # Panics
/// If something was lost, released twice or by the wrong thread, or was never released.
pub fn run(programs: Vec<Vec<Step>>, setting: Setting, others: &[ThreadHandle]) {
    let (world, looper, first) = World::new(setting, others);
    for program in programs {
        start(&world, program, first.another());
    }
    drop(first);
    world.join();
    looper.shutdown().unwrap();
    world.end();
}
