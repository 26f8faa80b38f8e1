//! Box2D's `b2BlockAllocator`, written again: what ours goes back to.
//!
//! Fourteen sizes of blocks, chunks of 16 KiB, and a free list for each size. For one
//! thread; it gives nothing back before it goes itself.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{self, NonNull};

const CHUNK: usize = 16 * 1024;

const SIZES: [usize; 14] = [
    16, 32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640,
];

const LARGEST: usize = SIZES[SIZES.len() - 1];

/// For each size in bytes, the index in [`SIZES`].
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
    Err(_) => panic!("a power of two"),
};

/// A block that is free.
struct Link {
    next: *mut Link,
}

pub struct Blocks {
    chunks: Vec<NonNull<u8>>,
    free: [*mut Link; SIZES.len()],
}

// SAFETY: its pointers are to memory of its own, which does not care about threads.
unsafe impl Send for Blocks {}

impl Blocks {
    pub const fn new() -> Self {
        Self {
            chunks: Vec::new(),
            free: [ptr::null_mut(); SIZES.len()],
        }
    }

    fn class(layout: Layout) -> Option<usize> {
        let fits = layout.size() <= LARGEST && layout.align() <= CHUNK_LAYOUT.align();
        fits.then(|| usize::from(BY_SIZE[layout.size()]))
    }

    #[inline]
    pub fn alloc(&mut self, layout: Layout) -> NonNull<u8> {
        let Some(class) = Self::class(layout) else {
            return system(layout);
        };
        let first = match NonNull::new(self.free[class]) {
            Some(first) => first,
            None => self.new_chunk(class),
        };
        // SAFETY: free, and so ours and linked.
        self.free[class] = unsafe { first.read() }.next;
        first.cast()
    }

    /// # Safety
    /// `p` came from `alloc`, by this layout, and nobody uses it.
    #[inline]
    pub unsafe fn dealloc(&mut self, p: NonNull<u8>, layout: Layout) {
        let Some(class) = Self::class(layout) else {
            // SAFETY: by the caller's promise.
            return unsafe { System.dealloc(p.as_ptr(), layout) };
        };
        let link = p.cast::<Link>();
        let next = self.free[class];
        // SAFETY: large enough, aligned, and nobody's.
        unsafe { link.write(Link { next }) };
        self.free[class] = link.as_ptr();
    }

    /// Links all blocks of a new chunk; the first of them.
    #[cold]
    fn new_chunk(&mut self, class: usize) -> NonNull<Link> {
        let chunk = system(CHUNK_LAYOUT);
        self.chunks.push(chunk);
        let mut next = ptr::null_mut();
        for index in (0..CHUNK / SIZES[class]).rev() {
            // SAFETY: inside the chunk.
            let link = unsafe { chunk.add(index * SIZES[class]) }.cast::<Link>();
            // SAFETY: large enough, aligned, and nobody's.
            unsafe { link.write(Link { next }) };
            next = link.as_ptr();
        }
        NonNull::new(next).expect("a chunk holds several blocks")
    }
}

/// Memory of malloc.
fn system(layout: Layout) -> NonNull<u8> {
    // SAFETY: nobody here asks for nothing.
    NonNull::new(unsafe { System.alloc(layout) }).expect("memory")
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for chunk in &self.chunks {
            // SAFETY: of `new_chunk`; nobody has blocks of it any more.
            unsafe { System.dealloc(chunk.as_ptr(), CHUNK_LAYOUT) };
        }
    }
}
