//! `BlockAllocator`: size-class blocks in chunks, in a heap for each thread.

#[cfg(feature = "allocator-api2")]
mod api2;
mod block_allocator;
mod caps;
mod closing;
mod footprint;
mod misuse;
mod random;
mod requests;
mod teardown;
mod threads;

use releasepool::BlockAllocator;
use std::alloc::Layout;
use std::ptr::NonNull;

/// The sizes of blocks.
pub const SIZES: [usize; 17] = [
    16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640,
];

/// The size of a chunk.
pub const CHUNK: u64 = 65_536;

pub fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

/// Memory filled with a pattern, which must be intact at the end.
pub struct Filled {
    at: NonNull<u8>,
    layout: Layout,
    pattern: u8,
}

// SAFETY: it owns its memory.
unsafe impl Send for Filled {}

impl Filled {
    pub fn new(blocks: &BlockAllocator, layout: Layout, pattern: u8) -> Self {
        let at = blocks.alloc(layout).unwrap();
        assert_eq!(at.addr().get() % layout.align(), 0);
        // SAFETY: just allocated with this size.
        unsafe { at.write_bytes(pattern, layout.size()) };
        Self {
            at,
            layout,
            pattern,
        }
    }

    pub fn small(blocks: &BlockAllocator, pattern: u8) -> Self {
        Self::new(blocks, layout(32, 8), pattern)
    }

    pub fn check(&self) {
        // SAFETY: `new` has written all of it.
        let bytes = unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.layout.size()) };
        assert!(bytes.iter().all(|byte| *byte == self.pattern), "overlap");
    }

    pub fn free(self, blocks: &BlockAllocator) {
        self.check();
        // SAFETY: `new` has allocated it by this layout; it is freed here only.
        unsafe { blocks.dealloc(self.at, self.layout) };
    }
}
