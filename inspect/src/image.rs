//! Memory and threads of a stopped process, or of a core file.

use process::Stopped;
use regions::Regions;
use std::ops::Range;
use symbols::Symbols;

pub mod core;
pub mod elf;
pub mod process;
mod regions;
mod registers;
pub mod symbols;
pub mod write_core;

/// Reads the memory of the program that is inspected.
pub trait Memory: Sync {
    /// Fills `buffer` from `address` on, as far as there is memory; returns how many bytes from the
    /// start of `buffer` were filled.
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize;

    /// Returns the `len` bytes at `address` without a copy, if they are at hand in one piece.
    fn slice(&self, address: u64, len: usize) -> Option<&[u8]> {
        let _ = (address, len);
        None
    }

    /// Reads a word; `None` if there is no memory.
    fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        (self.read(address, &mut bytes) == 8).then(|| u64::from_ne_bytes(bytes))
    }
}

/// What a program looked like at one moment: its memory, its mappings and its threads.
pub trait Image: Memory {
    /// Returns the mappings, by address, without overlaps.
    fn mappings(&self) -> &[Mapping];

    /// Returns the threads, with their registers.
    fn threads(&self) -> &[Thread];

    /// Returns the loaded ELF files, by address: the program first if it is known.
    fn modules(&self) -> &[Module];

    /// Returns the process id, if there is one.
    fn pid(&self) -> Option<u32>;

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

/// What a process was while it was stopped, or when its core file was written.
pub struct ProgramImage {
    pid: Option<u32>,
    mappings: Vec<Mapping>,
    threads: Vec<Thread>,
    modules: Vec<Module>,
    regions: Regions,
    symbols: Symbols,
    stopped: Stopped,
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
        self.pid
    }

    fn present(&self) -> Vec<Range<u64>> {
        self.regions.present()
    }

    fn symbols(&self) -> Option<&Symbols> {
        Some(&self.symbols)
    }
}

/// A range of addresses with one kind of access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The first address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// Can be read.
    pub read: bool,
    /// Can be written.
    pub write: bool,
    /// Can be executed.
    pub execute: bool,
    /// Writes are seen by other processes.
    pub shared: bool,
    /// Where the mapping begins in its file.
    pub offset: u64,
    /// The file or a name in brackets such as `[heap]`; empty if the mapping is anonymous.
    pub name: String,
}

/// A thread and its registers.
#[derive(Clone, Debug)]
pub struct Thread {
    /// The kernel's id.
    pub tid: u32,
    /// The name that the kernel knows; cores do not have it.
    pub name: Option<String>,
    /// The stack pointer.
    pub stack_pointer: u64,
    /// Where the thread-local storage is: `fs_base` on x86-64, `tpidr_el0` on AArch64.
    pub thread_pointer: u64,
    /// All general registers, and the words of the vector registers.
    pub registers: Vec<u64>,
}

/// An ELF file that is mapped.
#[derive(Clone, Debug)]
pub struct Module {
    /// The path in the program's view of files.
    pub path: String,
    /// Add this to an address in the file to get the address in memory.
    pub bias: u64,
    /// The first mapped address.
    pub start: u64,
    /// The address after the last mapped one.
    pub end: u64,
    /// Notes by name and type: the address in memory of the description, and its length.
    pub notes: Vec<Note>,
    /// The range of thread-local storage relative to the module's image, if it has one: address of
    /// the initial image, its size in memory, its alignment.
    pub tls: Option<(u64, u64, u64)>,
    /// The build id.
    pub build_id: Vec<u8>,
}

/// A note in an ELF file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The name, without the zero at its end.
    pub name: String,
    /// The type.
    pub kind: u32,
    /// Where the description is in memory.
    pub address: u64,
    /// Its length in bytes.
    pub len: u64,
}
