//! Registers as the kernel lays them out, the same way for ptrace and for core files.

use super::parts::Thread;

/// The kinds of processors that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    /// AMD64.
    X86_64,
    /// ARM of 64 bits.
    Aarch64,
}

impl Machine {
    /// Returns the machine of ELF's number for it.
    pub(crate) fn from_elf(number: u16) -> Option<Machine> {
        match number {
            62 => Some(Machine::X86_64),
            183 => Some(Machine::Aarch64),
            _ => None,
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
    /// and the thread pointer if it is not among the general ones. `None` if they are too short.
    pub(crate) fn thread(
        self,
        tid: u32,
        general: &[u8],
        vectors: &[u8],
        thread_pointer: Option<u64>,
    ) -> Option<Thread> {
        let mut registers = words(general.get(..self.general() * 8)?);
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

/// Returns the whole words of `bytes`.
fn words(bytes: &[u8]) -> Vec<u64> {
    let words = bytes.chunks_exact(8);
    words
        .map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
        .collect()
}
