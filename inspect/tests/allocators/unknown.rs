//! An allocator that is not known, and what is found in its memory.

use crate::common::Target;
use crate::sample::expected;
use releasepool_inspect::discovery::discover;
use releasepool_inspect::image::ProgramImage;
use releasepool_inspect::library::Library;
use std::alloc::{GlobalAlloc, Layout};
use std::ptr;
use std::sync::Mutex;

/// An allocator with a list of free blocks for each power of two, like many: the first word of a
/// free block is the address of the next. The rest of it stays as it was.
pub struct Lists(Mutex<Memory>);

pub struct Memory {
    free: [usize; 48],
    /// The beginning of the memory that has not been handed out yet.
    start: usize,
    end: usize,
}

/// Memory that is taken from the system at once.
const PIECE: usize = 1 << 22;

pub static LISTS: Lists = Lists(Mutex::new(Memory {
    free: [0; 48],
    start: 0,
    end: 0,
}));

fn class_of(layout: Layout) -> usize {
    let size = layout.size().max(layout.align()).max(16);
    size.next_power_of_two().trailing_zeros() as usize
}

impl Memory {
    fn take(&mut self, size: usize) -> usize {
        let start = self.start.next_multiple_of(size);
        if start + size <= self.end {
            self.start = start + size;
            return start;
        }
        let bytes = PIECE.max(2 * size);
        // SAFETY: a new mapping, anywhere.
        let piece = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0)
        };
        assert_ne!(piece, libc::MAP_FAILED);
        self.start = piece.addr();
        self.end = self.start + bytes;
        self.take(size)
    }
}

// SAFETY: each block is in use once, large enough, and aligned to its size, a power of two.
unsafe impl GlobalAlloc for Lists {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let class = class_of(layout);
        let mut memory = self.0.lock().unwrap();
        let block = memory.free[class];
        if block == 0 {
            return ptr::with_exposed_provenance_mut(memory.take(1 << class));
        }
        let block = ptr::with_exposed_provenance_mut::<usize>(block);
        // SAFETY: free blocks begin with an address.
        memory.free[class] = unsafe { block.read() };
        block.cast()
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let class = class_of(layout);
        let mut memory = self.0.lock().unwrap();
        // SAFETY: the block is the caller's, and large enough for an address.
        unsafe { block.cast::<usize>().write(memory.free[class]) };
        memory.free[class] = block.expose_provenance();
    }
}

#[test]
fn objects_in_memory_of_an_unknown_allocator() {
    let target = Target::start("unknown");
    let image = ProgramImage::take(target.pid()).unwrap();
    let graph = discover(&image, &Library::read(&image).unwrap());
    expected::check_order(&graph);
    expected::check_objects(&graph, false);
    expected::check_library(&graph);
    assert_eq!(graph.caveats.len(), 1, "{:?}", graph.caveats);
    assert!(graph.caveats[0].contains("\"unreachable\" is less certain"));
}
