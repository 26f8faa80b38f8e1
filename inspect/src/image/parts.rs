//! The parts of a program: memory, mappings, threads with their registers, and loaded files.

use object::elf::{NT_PRFPREG, NT_X86_XSTATE, NoteType};

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

    /// Reads `len` bytes; `None` if some of them are not there.
    fn bytes(&self, address: u64, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        (self.read(address, &mut bytes) == len).then_some(bytes)
    }

    /// Reads 32 bits; `None` if there is no memory.
    fn half(&self, address: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        (self.read(address, &mut bytes) == 4).then(|| u32::from_ne_bytes(bytes))
    }

    /// Reads a word; `None` if there is no memory.
    fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        (self.read(address, &mut bytes) == 8).then(|| u64::from_ne_bytes(bytes))
    }
}

/// Returns the whole words of some bytes of memory.
#[inline(always)]
pub(crate) fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(word)
}

/// Returns the word in eight bytes of memory.
#[inline(always)]
pub(crate) fn word(bytes: &[u8]) -> u64 {
    u64::from_ne_bytes(bytes.try_into().expect("eight bytes"))
}

/// The parts of a program besides memory.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// The process id, if there is one.
    pub pid: Option<u32>,
    /// 16 random bytes that the kernel has given to the program, if they are known.
    pub program_id: Option<[u8; 16]>,
    /// The mappings, by address, without overlaps.
    pub mappings: Vec<Mapping>,
    /// The threads, with their registers.
    pub threads: Vec<Thread>,
    /// The loaded ELF files, by address: the program first if it is known.
    pub modules: Vec<Module>,
}

/// A range of addresses with one kind of access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// The first address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// True if the memory can be read.
    pub read: bool,
    /// True if the memory can be written.
    pub write: bool,
    /// True if the memory can be executed.
    pub execute: bool,
    /// True if other processes see writes.
    pub shared: bool,
    /// Where the mapping begins in its file.
    pub offset: u64,
    /// The file or a name in brackets such as `[heap]`; empty if the mapping is anonymous.
    pub name: String,
}

impl Mapping {
    /// Returns whether the mapping is of a file.
    pub(super) fn is_file(&self) -> bool {
        !self.name.is_empty() && !self.name.starts_with('[')
    }
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

/// The kinds of processors that are known. On each, Linux lays registers out the same way for
/// ptrace and for core files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    /// AMD64.
    X86_64,
    /// ARM of 64 bits.
    Aarch64,
}

impl Machine {
    /// Returns the machine that ELF headers give this number.
    pub(crate) fn from_elf(number: u16) -> Option<Machine> {
        match number {
            62 => Some(Machine::X86_64),
            183 => Some(Machine::Aarch64),
            _ => None,
        }
    }

    /// Returns the type of the notes that have the vector registers.
    pub(crate) fn vectors(self) -> NoteType {
        match self {
            Machine::X86_64 => NT_X86_XSTATE,
            Machine::Aarch64 => NT_PRFPREG,
        }
    }

    /// Returns how many words the general registers have: `user_regs_struct`, `user_pt_regs`.
    fn general(self) -> usize {
        match self {
            Machine::X86_64 => 27,
            Machine::Aarch64 => 34,
        }
    }

    /// Returns a thread with these registers: the general ones, `vectors` as the kernel saves them,
    /// and the thread pointer if it is not among the general ones. `None` if `general` is short.
    pub(crate) fn thread(
        self,
        tid: u32,
        general: &[u8],
        vectors: &[u8],
        thread_pointer: Option<u64>,
    ) -> Option<Thread> {
        let mut registers = words(general.get(..self.general() * 8)?).collect::<Vec<_>>();
        let (stack_pointer, own) = match self {
            Machine::X86_64 => (registers[19], Some(registers[21])),
            Machine::Aarch64 => (registers[31], None),
        };
        let thread_pointer = own.or(thread_pointer).unwrap_or(0);
        registers.extend(words(vectors));
        Some(Thread {
            tid,
            name: None,
            stack_pointer,
            thread_pointer,
            registers,
        })
    }
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
    /// The notes: their names and types, and where their descriptions are in memory.
    pub notes: Vec<Note>,
    /// The thread-local storage, if the module has any: the address of its initial image in memory,
    /// its size and its alignment.
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
    /// The length of the description, in bytes.
    pub len: u64,
}
