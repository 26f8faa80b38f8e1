//! The alternatives of the benchmark `contention`, in a process in which jemalloc is the global
//! allocator. `contention` builds and starts it: see `rival`.

#![allow(
    dead_code,
    reason = "the modules are those of `contention`, which uses all of them"
)]

mod allocator;
mod check;
mod handing;
mod instructions;
mod pools;
mod rival;
mod scenario;
mod scenarios;
mod serving;
mod ui;

use std::process::ExitCode;
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static GLOBAL: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    serving::main()
}
