//! `BlockAllocator`: size-class blocks in chunks, in a heap for each thread.

#[cfg(feature = "allocator-api2")]
pub mod api2;
mod block_allocator;
mod caps;
mod closing;
mod footprint;
mod misuse;
mod random;
mod requests;
mod teardown;
mod threads;

use crate::support::{Worker, fresh_to_the_end};
use releasepool::FrameLoop;
use releasepool::frame::FrameConfig;
use releasepool::memory::BlockAllocator;
use std::alloc::Layout;
use std::ptr::NonNull;

/// The sizes of blocks.
pub const SIZES: [usize; 33] = [
    16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1_024,
    1_280, 1_536, 1_792, 2_048, 2_688, 3_264, 4_032, 5_440, 8_128, 16_320, 21_760, 32_640, LARGEST,
];

/// The size of the largest block.
pub const LARGEST: usize = 64_768;

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

/// Allocates `n` blocks of this size.
pub fn fill(blocks: &BlockAllocator, n: usize, size: usize) -> Vec<Filled> {
    let fill = |i| Filled::new(blocks, layout(size, 1), i as u8);
    (0..n).map(fill).collect()
}

pub fn free(blocks: &BlockAllocator, all: Vec<Filled>) {
    all.into_iter().for_each(|block| block.free(blocks));
}

/// Returns the blocks in use, those on their way home, and those that have come back.
pub fn remote(blocks: &BlockAllocator) -> (u64, u64, u64) {
    let stats = blocks.stats();
    (stats.live_blocks, stats.inbox, stats.remote_frees)
}

/// Trims an allocator, and asserts that it holds nothing.
pub fn assert_empty(blocks: &BlockAllocator) {
    blocks.trim();
    let stats = blocks.stats();
    let left = (stats.live_blocks, stats.inbox, stats.chunk_bytes);
    assert_eq!((left, stats.live_large_bytes), ((0, 0, 0), 0));
}

/// Makes a frame, at whose end a thread has time.
pub fn frame() {
    FrameLoop::new(FrameConfig::new().unlimited()).tick(|_| ());
}

/// Calls `f` with an allocator on a thread, and waits until that has ended.
pub fn elsewhere<R: Send + 'static>(
    blocks: &BlockAllocator,
    f: impl FnOnce(&BlockAllocator) -> R + Send + 'static,
) -> R {
    let blocks = blocks.clone();
    fresh_to_the_end(move || f(&blocks))
}

/// Calls `f` with an allocator on a worker.
pub fn on<R: Send + 'static>(
    worker: &Worker,
    blocks: &BlockAllocator,
    f: impl FnOnce(&BlockAllocator) -> R + Send + 'static,
) -> R {
    let blocks = blocks.clone();
    worker.run(move || f(&blocks))
}
