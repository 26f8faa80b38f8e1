//! A running process: stopped for a moment, copied, and let go.
//!
//! Private pages that the process has written, and shared memory without a file, are copied during
//! the stop. The rest, such as code, is read from files or from the process when it is asked for.

use super::program_image::ProgramImage;
use crate::error::Error;

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod linux;

/// Other systems, on which no process can be stopped.
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
mod linux {
    use super::{Error, ProgramImage};

    pub(super) fn take(_: u32) -> Result<ProgramImage, Error> {
        Err(Error::NotSupported)
    }
}

impl ProgramImage {
    /// Stops a process, copies the part of its memory that may have references, and lets it go.
    ///
    /// All threads stop; the process goes on even if this fails, panics or is killed. System calls
    /// in which its threads wait may return `EINTR`: `epoll_wait` does.
    ///
    /// Memory that only has data is not kept: [`Image::present`](super::Image::present) leaves it
    /// out, and it is read from the process when it is asked for. New threads do the work.
    ///
    /// # Errors
    ///
    /// See [`Error`]. On systems other than Linux on x86-64 and AArch64, [`Error::NotSupported`].
    pub fn take(pid: u32) -> Result<Self, Error> {
        linux::take(pid)
    }
}
