//! Programs that tests make up.

use crate::image::{Image, Mapping, Memory, Parts, Thread};
use std::ops::Range;

/// Memory that tests fill with words, and threads.
#[derive(Default)]
pub(super) struct Synthetic {
    parts: Parts,
    /// The words of each mapping.
    words: Vec<Vec<u64>>,
    /// Where reading ends, as if a page were absent.
    absent: Range<u64>,
}

impl Synthetic {
    /// Returns a program in which reading ends before these addresses.
    pub(super) fn without(absent: Range<u64>) -> Self {
        Self {
            absent,
            ..Self::default()
        }
    }

    /// Adds anonymous memory with these words, or without access if there are none. Mappings are
    /// added by address.
    pub(super) fn map(&mut self, start: u64, bytes: u64, words: &[(u64, u64)]) {
        let access = !words.is_empty();
        self.parts.mappings.push(Mapping {
            start,
            end: start + bytes,
            read: access,
            write: access,
            ..Mapping::default()
        });
        let mut memory = vec![0; (bytes / 8) as usize];
        for (address, word) in words {
            memory[((address - start) / 8) as usize] = *word;
        }
        self.words.push(memory);
    }

    /// Adds a thread.
    pub(super) fn thread(&mut self, stack_pointer: u64, thread_pointer: u64, registers: &[u64]) {
        self.parts.threads.push(Thread {
            tid: self.parts.threads.len() as u32 + 1,
            name: None,
            stack_pointer,
            thread_pointer,
            registers: registers.to_vec(),
        });
    }
}

impl Memory for Synthetic {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let mappings = &self.parts.mappings;
        let after = mappings.partition_point(|mapping| mapping.start <= address);
        let Some(mapping) = mappings[..after].last().filter(|m| m.read) else {
            return 0;
        };
        let bytes = self.words[after - 1]
            .iter()
            .flat_map(|word| word.to_ne_bytes());
        let rest = (address..).zip(bytes.skip((address - mapping.start) as usize));
        let there = rest.take_while(|(at, _)| !self.absent.contains(at));
        let filled = buffer.iter_mut().zip(there);
        filled.map(|(to, (_, byte))| *to = byte).count()
    }
}

impl Image for Synthetic {
    fn parts(&self) -> &Parts {
        &self.parts
    }
}
