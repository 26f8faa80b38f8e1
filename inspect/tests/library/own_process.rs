//! The test's own process as an image.

use releasepool_inspect::image::{Image, Mapping, Memory, Module, Thread, elf};
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
        this.modules.extend(elf::module(&this, base, "own"));
        this
    }

    pub(super) fn half(&self, address: u64) -> u64 {
        let mut bytes = [0; 4];
        assert_eq!(self.read(address, &mut bytes), 4);
        u32::from_ne_bytes(bytes).into()
    }
}
