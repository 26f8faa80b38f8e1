//! `releasepool-inspect`: shows what is alive in a program that uses `releasepool`, and what leaks.

use clap::Parser;
use releasepool_inspect::cli::Arguments;
use releasepool_inspect::run::run;
use std::process::ExitCode;

fn main() -> ExitCode {
    return_freed_memory();
    // Wrong arguments end with code 2, too.
    let arguments = Arguments::parse();
    run(&arguments).unwrap_or_else(|error| {
        eprintln!("releasepool-inspect: {error}");
        ExitCode::from(2)
    })
}

/// Has glibc's malloc use a mapping of its own for each large vector, so that its memory goes back to
/// the system when it is freed. By default malloc keeps ever larger ones, as they might be allocated
/// again: with millions of objects it takes a third more memory.
fn return_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const LARGE: i32 = 128 << 10;
        // SAFETY: the call takes numbers, and no other thread is running yet.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
    }
}
