//! A running process: stopped for a moment, copied, and let go.

use super::symbols::Symbols;
use super::{Image, Mapping, Memory, Module, Thread};
use crate::error::Error;
use std::ops::Range;
use std::time::Duration;

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod copy;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod filter;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod open;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod pages;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod proc;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod stop;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod sys;

/// What a process looked like while it was stopped.
///
/// What the process can write, and all that differs from files, was copied during the stop. The
/// rest, code and constants, is read from the files when it is asked for.
pub struct ProcessImage {
    pid: u32,
    mappings: Vec<Mapping>,
    threads: Vec<Thread>,
    modules: Vec<Module>,
    regions: super::regions::Regions,
    symbols: Symbols,
    stopped: Stopped,
}

/// What the stop of a process cost it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stopped {
    /// How long it lasted, from before the first thread stopped until all went on.
    pub duration: Duration,
    /// How many threads were stopped.
    pub threads: usize,
    /// How many bytes were read.
    pub bytes: u64,
    /// How many of them were kept.
    pub kept: u64,
}

impl ProcessImage {
    /// Stops a process, copies what of its memory may refer to other memory, and lets it go.
    ///
    /// All threads stop; the process goes on even if this fails, panics or is killed. System calls
    /// in which its threads wait may return `EINTR`: `epoll_wait` does.
    ///
    /// Memory that only has data is not kept: [`Image::present`] leaves it out, and it is read from
    /// the process when it is asked for. The work is done by a thread of its own.
    ///
    /// # Errors
    ///
    /// See [`Error`]. On systems other than Linux on x86-64 and AArch64, [`Error::NotSupported`].
    pub fn take(pid: u32) -> Result<ProcessImage, Error> {
        Self::open(pid, false)
    }

    /// Like [`take`](Self::take), and keeps all memory.
    ///
    /// # Errors
    ///
    /// Those of [`take`](Self::take).
    pub fn take_all(pid: u32) -> Result<ProcessImage, Error> {
        Self::open(pid, true)
    }

    fn open(pid: u32, all: bool) -> Result<ProcessImage, Error> {
        #[cfg(all(
            target_os = "linux",
            any(target_arch = "x86_64", target_arch = "aarch64")
        ))]
        return open::take(pid, all);
        #[cfg(not(all(
            target_os = "linux",
            any(target_arch = "x86_64", target_arch = "aarch64")
        )))]
        {
            let _ = (pid, all);
            Err(Error::NotSupported)
        }
    }

    /// Returns what tells the program of a process from those that it was before, or will be, by
    /// `exec`; `None` if that cannot be read.
    pub fn program_id(pid: u32) -> Option<[u8; 16]> {
        #[cfg(all(
            target_os = "linux",
            any(target_arch = "x86_64", target_arch = "aarch64")
        ))]
        return proc::program_id(&proc::open(pid).ok()?);
        #[cfg(not(all(
            target_os = "linux",
            any(target_arch = "x86_64", target_arch = "aarch64")
        )))]
        {
            let _ = pid;
            None
        }
    }

    /// Returns what the stop cost the process.
    pub fn stopped(&self) -> Stopped {
        self.stopped
    }

    /// Returns the symbols of the modules.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }
}

impl Memory for ProcessImage {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        self.regions.read(address, buffer)
    }

    fn slice(&self, address: u64, len: usize) -> Option<&[u8]> {
        self.regions.slice(address, len)
    }
}

impl Image for ProcessImage {
    fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    fn threads(&self) -> &[Thread] {
        &self.threads
    }

    fn modules(&self) -> &[Module] {
        &self.modules
    }

    fn pid(&self) -> Option<u32> {
        Some(self.pid)
    }

    fn present(&self) -> Vec<Range<u64>> {
        self.regions.present()
    }

    fn static_at(&self, address: u64) -> Option<String> {
        self.symbols.static_at(address)
    }

    fn function_at(&self, address: u64) -> Option<String> {
        self.symbols.function_at(address)
    }

    fn thread_local_at(&self, start: u64, offset: u64) -> Option<String> {
        self.symbols.thread_local_at(start, offset)
    }
}
