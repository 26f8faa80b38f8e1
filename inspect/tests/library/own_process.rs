//! The test's own process as an image.

use releasepool_inspect::image::{Image, Memory, Parts, elf};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The test's own process, while other threads that use the library wait.
pub(super) struct OwnProcess {
    memory: File,
    parts: Parts,
}

impl Memory for OwnProcess {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        self.memory.read_at(buffer, address).unwrap_or(0)
    }
}

impl Image for OwnProcess {
    fn parts(&self) -> &Parts {
        &self.parts
    }
}

impl OwnProcess {
    pub(super) fn new() -> Self {
        let mut this = Self {
            memory: File::open("/proc/self/mem").unwrap(),
            parts: Parts::default(),
        };
        let exe = std::env::current_exe().unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps
            .lines()
            .find(|line| line.ends_with(exe.to_str().unwrap()));
        let start = line.unwrap().split('-').next().unwrap();
        let base = u64::from_str_radix(start, 16).unwrap();
        this.parts.modules.extend(elf::module(&this, base, "own"));
        this
    }
}
