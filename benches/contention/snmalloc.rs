//! The alternatives of the benchmark `contention`, in a process in which snmalloc is the global
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

use snmalloc_rs::SnMalloc;
use std::process::ExitCode;

#[global_allocator]
static GLOBAL: SnMalloc = SnMalloc;

fn main() -> ExitCode {
    serving::main()
}
