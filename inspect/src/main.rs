//! `releasepool-inspect`: shows what is alive in a program that uses `releasepool`, and what leaks.

use clap::Parser;
use releasepool_inspect::cli::Arguments;
use releasepool_inspect::run::run;
use std::process::ExitCode;

fn main() -> ExitCode {
    return_freed_memory();
    report_truncated_files();
    // `parse` ends the process with code 2 for wrong arguments, as `run` does for errors.
    let arguments = Arguments::parse();
    run(&arguments).unwrap_or_else(|error| {
        eprintln!("releasepool-inspect: {error}");
        ExitCode::from(2)
    })
}

/// Makes glibc's malloc use a mapping of its own for each large vector, so that its memory goes
/// back to the system when it is freed. By default malloc raises its size limit for such mappings
/// whenever one is freed: then inspecting millions of objects takes a third more memory.
fn return_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const LARGE: i32 = 128 << 10;
        // SAFETY: the call takes numbers, and no other thread is running yet.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
    }
}

/// Makes the program end with a message if a mapped file becomes shorter, such as a core file that
/// is written again: a read beyond the new end raises SIGBUS.
fn report_truncated_files() {
    #[cfg(target_os = "linux")]
    {
        extern "C" fn report(_: libc::c_int) {
            const TEXT: &[u8] =
                b"releasepool-inspect: a file was truncated while it was read: try again\n";
            // SAFETY: `write` and `_exit` are async-signal-safe, and the length is that of the
            // text.
            unsafe {
                libc::write(libc::STDERR_FILENO, TEXT.as_ptr().cast(), TEXT.len());
                libc::_exit(2)
            }
        }
        let handler: extern "C" fn(libc::c_int) = report;
        // SAFETY: the handler does only what handlers may, and ends the process.
        unsafe { libc::signal(libc::SIGBUS, handler as *const () as libc::sighandler_t) };
    }
}
