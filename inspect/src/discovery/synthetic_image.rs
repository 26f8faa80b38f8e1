//! Programs that tests make up.

use crate::image::{Backing, Image, Mapping, Memory, Parts, Regions, Thread};
use std::ops::Range;
use std::sync::Arc;

/// A program with threads, and with memory that tests fill with words.
#[derive(Default)]
pub(super) struct Synthetic {
    parts: Parts,
    memory: Regions,
    /// The memory that cannot be read, as if its pages were absent.
    absent: Range<u64>,
}

/// Returns memory that has these bytes at these addresses.
pub(super) fn memory(parts: &[(u64, &[u8])]) -> Regions {
    let mut memory = Regions::default();
    for (start, bytes) in parts {
        add(&mut memory, *start, bytes.to_vec());
    }
    memory
}

fn add(memory: &mut Regions, start: u64, bytes: Vec<u8>) {
    let end = start + bytes.len() as u64;
    let source = memory.add_source(Arc::new(bytes));
    memory.push(start..end, Backing::Bytes { source, offset: 0 });
}

impl Synthetic {
    /// Returns a program in which these addresses cannot be read.
    pub(super) fn without(absent: Range<u64>) -> Self {
        Self {
            absent,
            ..Self::default()
        }
    }

    /// Adds anonymous memory with these words, or without access if there are none. Mappings must
    /// be added in the order of their addresses.
    pub(super) fn map(&mut self, start: u64, bytes: u64, words: &[(u64, u64)]) {
        let access = !words.is_empty();
        self.parts.mappings.push(Mapping {
            start,
            end: start + bytes,
            read: access,
            write: access,
            ..Mapping::default()
        });
        let mut memory = vec![0; if access { bytes as usize } else { 0 }];
        for (address, word) in words {
            memory[(address - start) as usize..][..8].copy_from_slice(&word.to_ne_bytes());
        }
        add(&mut self.memory, start, memory);
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
        let there = match address {
            _ if self.absent.contains(&address) => 0,
            _ => self.absent.start.checked_sub(address).unwrap_or(u64::MAX),
        };
        let len = buffer.len().min(there as usize);
        self.memory.read(address, &mut buffer[..len])
    }
}

impl Image for Synthetic {
    fn parts(&self) -> &Parts {
        &self.parts
    }
}
