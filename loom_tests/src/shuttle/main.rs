//! Random programs on eight threads, under schedules that shuttle draws at random.
//!
//! * `cargo shuttle 1000` runs the seeds 0 to 999, on all cores; `cargo shuttle 50..60`, 50 to 59.
//! * `cargo shuttle --replay SEED` runs one seed again, step by step the same, and prints what each
//!   thread does.
//!
//! A seed determines the program and its schedules. loom_tests/README.md says what is checked.

#[cfg(not(releasepool_shuttle))]
compile_error!(
    "shuttle is off, so nothing would be checked: use `cargo shuttle`, and unset RUSTFLAGS"
);

// The module is shared with the library's tests.
#[cfg(releasepool_shuttle)]
#[path = "../../../tests/all/model/free/mod.rs"]
mod free;
#[cfg(releasepool_shuttle)]
mod program;
#[cfg(releasepool_shuttle)]
mod run;
#[cfg(releasepool_shuttle)]
mod seam;
#[cfg(releasepool_shuttle)]
mod stalls;

#[cfg(releasepool_shuttle)]
fn main() -> std::process::ExitCode {
    run::main()
}

#[cfg(not(releasepool_shuttle))]
fn main() {}
