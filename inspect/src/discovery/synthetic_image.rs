//! Programs that tests make up.

use crate::image::{Image, Mapping, Memory, Module, Thread};

/// Memory that tests fill with words, and threads.
#[derive(Default)]
pub(super) struct Synthetic {
    mappings: Vec<Mapping>,
    /// The words of each mapping.
    words: Vec<Vec<u64>>,
    pub(super) threads: Vec<Thread>,
}

impl Synthetic {
    /// Adds anonymous memory with these words, or without access if there are none. Mappings are
    /// added by address.
    pub(super) fn map(&mut self, start: u64, bytes: u64, words: &[(u64, u64)]) {
        let access = !words.is_empty();
        self.mappings.push(Mapping {
            start,
            end: start + bytes,
            read: access,
            write: access,
            execute: false,
            shared: false,
            offset: 0,
            name: String::new(),
        });
        let mut memory = vec![0; (bytes / 8) as usize];
        for (address, word) in words {
            memory[((address - start) / 8) as usize] = *word;
        }
        self.words.push(memory);
    }

    /// Adds a thread.
    pub(super) fn thread(&mut self, stack_pointer: u64, thread_pointer: u64, registers: &[u64]) {
        self.threads.push(Thread {
            tid: self.threads.len() as u32 + 1,
            name: None,
            stack_pointer,
            thread_pointer,
            registers: registers.to_vec(),
        });
    }
}

impl Memory for Synthetic {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let after = self
            .mappings
            .partition_point(|mapping| mapping.start <= address);
        let Some(mapping) = self.mappings[..after].last().filter(|m| m.read) else {
            return 0;
        };
        let bytes = self.words[after - 1]
            .iter()
            .flat_map(|word| word.to_ne_bytes());
        let rest = bytes.skip((address - mapping.start) as usize);
        let filled = buffer.iter_mut().zip(rest).map(|(to, byte)| *to = byte);
        filled.count()
    }
}

impl Image for Synthetic {
    fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }
    fn threads(&self) -> &[Thread] {
        &self.threads
    }
    fn modules(&self) -> &[Module] {
        &[]
    }
    fn pid(&self) -> Option<u32> {
        None
    }
}
