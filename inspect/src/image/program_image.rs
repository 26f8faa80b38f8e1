//! The state of a program at one moment, of a process or of a core file.

use super::backing::Regions;
use super::parts::Memory;
use super::parts::{Mapping, Module, Parts, Thread};
use super::symbols::Symbols;
use std::ops::Range;
use std::time::Duration;

/// The state of a program at one moment: its memory, its mappings and its threads.
pub trait Image: Memory {
    /// Returns what the program has besides memory.
    fn parts(&self) -> &Parts;

    /// Returns the mappings, by address, without overlaps.
    fn mappings(&self) -> &[Mapping] {
        &self.parts().mappings
    }

    /// Returns the threads, with their registers.
    fn threads(&self) -> &[Thread] {
        &self.parts().threads
    }

    /// Returns the loaded ELF files, by address: the program first if it is known.
    fn modules(&self) -> &[Module] {
        &self.parts().modules
    }

    /// Returns the process id, if there is one.
    fn pid(&self) -> Option<u32> {
        self.parts().pid
    }

    /// Returns the ranges that can hold anything but zeros, by address, adjacent ones joined. Scan
    /// these: mappings may reserve terabytes of which the program has touched little. What lies in
    /// readable mappings between them reads as zeros.
    fn present(&self) -> Vec<Range<u64>> {
        let readable = self.mappings().iter().filter(|mapping| mapping.read);
        readable.map(|mapping| mapping.start..mapping.end).collect()
    }

    /// Returns the symbols of the modules, if there are any: a file may have been stripped. Those of a
    /// module are read when they are first asked for.
    fn symbols(&self) -> Option<&Symbols> {
        None
    }
}

/// The state of a process while it was stopped, or when its core file was written.
pub struct ProgramImage {
    pub(super) parts: Parts,
    pub(super) regions: Regions,
    pub(super) symbols: Symbols,
    pub(super) stopped: Stopped,
}

impl ProgramImage {
    /// Returns what the stop cost the process; nothing for a core file.
    pub fn stopped(&self) -> Stopped {
        self.stopped
    }

    /// Returns the symbols of the modules.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }
}

impl Memory for ProgramImage {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        self.regions.read(address, buffer)
    }

    fn slice(&self, address: u64, len: usize) -> Option<&[u8]> {
        self.regions.slice(address, len)
    }
}

impl Image for ProgramImage {
    fn parts(&self) -> &Parts {
        &self.parts
    }

    fn present(&self) -> Vec<Range<u64>> {
        self.regions.present()
    }

    fn symbols(&self) -> Option<&Symbols> {
        Some(&self.symbols)
    }
}

/// The cost of the stop to the process.
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
