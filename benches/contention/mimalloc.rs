//! The alternatives of the benchmark `contention`, in a process in which mimalloc is the global
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

use mimalloc::MiMalloc;
use std::process::ExitCode;

#[global_allocator]
static GLOBAL: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    serving::main()
}
