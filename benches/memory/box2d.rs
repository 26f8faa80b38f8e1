//! Box2D's `b2BlockAllocator`, rewritten in Rust: the model of releasepool's allocator.
//!
//! It has fourteen block sizes, chunks of 16 KiB, and a free list for each size. It is for one
//! thread, and frees its chunks only when it is dropped.

use crate::allocators::{Memory, Shared};
use parking_lot::Mutex;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{self, NonNull};

const CHUNK: usize = 16 * 1024;

const SIZES: [usize; 14] = [
    16, 32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640,
];

const LARGEST: usize = SIZES[SIZES.len() - 1];

/// The index in [`SIZES`] for each size in bytes.
const BY_SIZE: [u8; LARGEST + 1] = {
    let mut table = [0; LARGEST + 1];
    let (mut size, mut class) = (0, 0);
    while size <= LARGEST {
        if size > SIZES[class] {
            class += 1;
        }
        table[size] = class as u8;
        size += 1;
    }
    table
};

const CHUNK_LAYOUT: Layout = match Layout::from_size_align(CHUNK, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("the alignment is not a power of two"),
};

/// A free block.
struct Link {
    next: *mut Link,
}

pub struct Blocks {
    chunks: Vec<NonNull<u8>>,
    free: [*mut Link; SIZES.len()],
}

// SAFETY: it owns the memory that its pointers refer to, and no pointer depends on the thread.
unsafe impl Send for Blocks {}

impl Blocks {
    const fn new() -> Self {
        Self {
            chunks: Vec::new(),
            free: [ptr::null_mut(); SIZES.len()],
        }
    }

    fn class(layout: Layout) -> Option<usize> {
        let fits = layout.size() <= LARGEST && layout.align() <= CHUNK_LAYOUT.align();
        fits.then(|| usize::from(BY_SIZE[layout.size()]))
    }

    /// Allocates a chunk, links its blocks, and returns the first one.
    #[cold]
    fn new_chunk(&mut self, class: usize) -> NonNull<Link> {
        let chunk = system(CHUNK_LAYOUT);
        self.chunks.push(chunk);
        let mut next = ptr::null_mut();
        for index in (0..CHUNK / SIZES[class]).rev() {
            // SAFETY: the offset is inside of the chunk.
            let link = unsafe { chunk.add(index * SIZES[class]) }.cast::<Link>();
            // SAFETY: all classes have room for a link and are aligned; the block is new.
            unsafe { link.write(Link { next }) };
            next = link.as_ptr();
        }
        NonNull::new(next).expect("a chunk holds several blocks")
    }
}

// SAFETY: a block is either in a free list or with a caller.
unsafe impl Memory for Blocks {
    const NAME: &str = "Box2D's blocks, one thread";

    fn here() -> Self {
        Self::new()
    }

    #[inline]
    fn alloc(&mut self, layout: Layout) -> NonNull<u8> {
        let Some(class) = Self::class(layout) else {
            return system(layout);
        };
        let first = match NonNull::new(self.free[class]) {
            Some(first) => first,
            None => self.new_chunk(class),
        };
        // SAFETY: blocks in the free list belong to the allocator and contain a link.
        self.free[class] = unsafe { first.read() }.next;
        first.cast()
    }

    #[inline]
    unsafe fn dealloc(&mut self, p: NonNull<u8>, layout: Layout) {
        let Some(class) = Self::class(layout) else {
            // SAFETY: `alloc` took it from `System`, as the layout fits no class.
            return unsafe { System.dealloc(p.as_ptr(), layout) };
        };
        let link = p.cast::<Link>();
        let next = self.free[class];
        // SAFETY: all classes have room for a link and are aligned; the caller gave the block up.
        unsafe { link.write(Link { next }) };
        self.free[class] = link.as_ptr();
    }
}

/// Allocates by `malloc`.
fn system(layout: Layout) -> NonNull<u8> {
    // SAFETY: all layouts here have a size.
    NonNull::new(unsafe { System.alloc(layout) }).expect("the system has memory")
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for chunk in &self.chunks {
            // SAFETY: `new_chunk` allocated it, and no block of it is in use.
            unsafe { System.dealloc(chunk.as_ptr(), CHUNK_LAYOUT) };
        }
    }
}

/// Box2D's blocks for all threads, behind a mutex.
pub struct Locked;

static LOCKED: Mutex<Blocks> = Mutex::new(Blocks::new());

// SAFETY: a block is either in a free list or with a caller.
unsafe impl Memory for Locked {
    const NAME: &str = "Box2D's blocks, behind a mutex";

    fn here() -> Self {
        Self
    }

    #[inline]
    fn alloc(&mut self, layout: Layout) -> NonNull<u8> {
        LOCKED.lock().alloc(layout)
    }

    #[inline]
    unsafe fn dealloc(&mut self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract; there is only one such allocator.
        unsafe { LOCKED.lock().dealloc(p, layout) }
    }
}

// SAFETY: all values use one allocator, behind a mutex.
unsafe impl Shared for Locked {}
