//! The test's own process as an image.

use releasepool_inspect::image::{Image, Mapping, Memory, Module, Note, Thread};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The test's own process, while other threads that use the library wait.
pub(super) struct OwnProcess {
    memory: File,
    pub(super) modules: Vec<Module>,
}

impl Memory for OwnProcess {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        self.memory.read_at(buffer, address).unwrap_or(0)
    }
}

impl Image for OwnProcess {
    fn mappings(&self) -> &[Mapping] {
        &[]
    }

    fn threads(&self) -> &[Thread] {
        &[]
    }

    fn modules(&self) -> &[Module] {
        &self.modules
    }

    fn pid(&self) -> Option<u32> {
        Some(std::process::id())
    }
}

impl OwnProcess {
    pub(super) fn new() -> Self {
        let mut this = Self {
            memory: File::open("/proc/self/mem").unwrap(),
            modules: Vec::new(),
        };
        let exe = std::env::current_exe().unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps
            .lines()
            .find(|line| line.ends_with(exe.to_str().unwrap()));
        let start = line.unwrap().split('-').next().unwrap();
        let base = u64::from_str_radix(start, 16).unwrap();
        this.modules.push(this.module(base));
        this
    }

    pub(super) fn half(&self, address: u64) -> u64 {
        let mut bytes = [0; 4];
        assert_eq!(self.read(address, &mut bytes), 4);
        u32::from_ne_bytes(bytes).into()
    }

    /// Finds the notes of the executable at `base`.
    fn module(&self, base: u64) -> Module {
        let word = |at| self.word(at).unwrap();
        let headers = base + word(base + 32);
        let count = self.half(base + 56) & 0xffff;
        let mut notes = Vec::new();
        for header in (0..count).map(|i| headers + 56 * i) {
            const PT_NOTE: u64 = 4;
            if self.half(header) != PT_NOTE {
                continue;
            }
            let mut at = base + word(header + 16);
            let end = at + word(header + 40);
            while at < end {
                let (name_len, len) = (self.half(at), self.half(at + 4));
                let mut name = vec![0; name_len as usize - 1];
                self.read(at + 12, &mut name);
                let address = at + 12 + name_len.next_multiple_of(4);
                notes.push(Note {
                    name: String::from_utf8(name).unwrap(),
                    kind: self.half(at + 8) as u32,
                    address,
                    len,
                });
                at = address + len.next_multiple_of(4);
            }
        }
        Module {
            path: "own".to_owned(),
            bias: base,
            start: base,
            end: base,
            notes,
            tls: None,
            build_id: Vec::new(),
        }
    }
}
