//! Misuse of blocks, found where that is cheap enough: in debug builds and with the feature
//! `checks`. And what AddressSanitizer is told, so that it sees a use after free in a block.
//!
//! Free blocks are filled with [`FREED`], and looked at when they are handed out again: a
//! byte that is another was written after it was freed.

use super::chunk::{CHUNK, ChunkPtr};
use super::size_class::{ALIGN, SIZES};
use crate::sync::Bits;
use crate::thread::current::current_label;
use dashmap::DashSet;
use std::num::NonZero;
use std::ptr::NonNull;
use std::sync::LazyLock;

const ON: bool = cfg!(any(debug_assertions, feature = "checks"));

/// In free blocks, but for their first [`LINKS`] bytes.
const FREED: u8 = 0xDD;
/// In blocks that were just handed out.
const NEW: u8 = 0xCD;
/// What the allocator itself writes in a free block.
const LINKS: usize = 16;

/// Which blocks of a chunk are in use.
pub(crate) type Marks = Bits<{ if ON { CHUNK / ALIGN / 64 } else { 0 } }>;

/// Addresses of chunks. Not one of `sync`'s: models look at nothing here, and it outlives their
/// executions, as the process's own allocator gives up its chunks at the very end of each.
static CHUNKS: LazyLock<DashSet<usize>> = LazyLock::new(DashSet::new);

/// A chunk has come into being.
pub(crate) fn enter(chunk: NonZero<usize>) {
    if ON {
        CHUNKS.insert(chunk.get());
    }
}

/// A chunk is about to go.
pub(crate) fn leave(chunk: NonZero<usize>) {
    if ON {
        CHUNKS.remove(&chunk.get());
    }
}

fn is_chunk(at: usize) -> bool {
    CHUNKS.contains(&at)
}

/// A block was cut. It is nobody's yet.
///
/// # Safety
/// `size` bytes that are ours.
pub(crate) unsafe fn fresh(block: NonNull<u8>, size: usize) {
    // It may lie where there were blocks of another class.
    open(block, size);
    if ON {
        // SAFETY: by the caller's promise.
        unsafe { block.add(LINKS).write_bytes(FREED, size - LINKS) };
    }
    close(block, size);
}

/// A block is handed out.
///
/// # Safety
/// It is the caller's.
#[inline(always)]
pub(crate) unsafe fn handed_out(block: NonNull<u8>, class: usize) {
    open(block, SIZES[class]);
    if ON {
        // SAFETY: by the caller's promise.
        unsafe { look_at(block, class) };
    }
}

/// # Safety
/// As [`handed_out`].
#[inline(never)]
unsafe fn look_at(block: NonNull<u8>, class: usize) {
    // SAFETY: by the caller's promise.
    unsafe {
        let chunk = ChunkPtr::of(block);
        let bytes = block.add(LINKS).as_ptr();
        let bytes = std::slice::from_raw_parts(bytes, SIZES[class] - LINKS);
        if let Some(at) = bytes.iter().position(|byte| *byte != FREED) {
            let what = format!("was written at byte {} after it was freed", LINKS + at);
            misused(block, chunk, &what);
        }
        block.write_bytes(NEW, SIZES[class]);
        let index = chunk.index_of(block).unwrap_or(0);
        if chunk.marks().replace(index, true) {
            misused(block, chunk, "was handed out twice");
        }
    }
}

/// A collection comes back with a block, by a layout of the class. The block may be larger, as
/// a collection that shrinks may stay in it.
///
/// # Safety
/// If the checks are off: it is one, with the provenance of its chunk.
#[cfg(feature = "allocator-api2")]
#[inline(always)]
pub(crate) unsafe fn came_back(block: NonNull<u8>, class: usize) {
    if ON {
        // SAFETY: by the caller's promise.
        let chunk = unsafe { chunk_of(block, SIZES[class]) };
        if chunk.class() < class {
            was_another_size(block, chunk, SIZES[class]);
        }
    }
}

/// A block of the class is given back, by any thread.
///
/// # Safety
/// If the checks are off: it is one, and the caller's.
#[inline(always)]
pub(crate) unsafe fn given_back(block: NonNull<u8>, class: usize) {
    if ON {
        // SAFETY: by the caller's promise.
        unsafe { question(block, class) };
    }
    close(block, SIZES[class]);
}

/// # Safety
/// As [`given_back`].
#[inline(never)]
unsafe fn question(block: NonNull<u8>, class: usize) {
    let size = SIZES[class];
    // SAFETY: by the caller's promise.
    let chunk = unsafe { chunk_of(block, size) };
    if chunk.class() != class {
        was_another_size(block, chunk, size);
    }
    let Some(index) = chunk.index_of(block) else {
        misused(block, chunk, "was freed, but is no beginning of a block");
    };
    if !chunk.marks().replace(index, false) {
        misused(block, chunk, "was freed twice, or never handed out");
    }
    // SAFETY: it was in use, so all of it is there.
    unsafe { block.add(LINKS).write_bytes(FREED, size - LINKS) };
}

/// Returns the chunk of what is freed as a block of this size.
///
/// # Safety
/// If it is in a chunk, `block` has the provenance of that.
#[inline(never)]
unsafe fn chunk_of(block: NonNull<u8>, size: usize) -> ChunkPtr {
    if !is_chunk(block.addr().get() & !(CHUNK - 1)) {
        let thread = current_label();
        fatal(&format!(
            "{block:p}, freed as a block of {size} bytes by thread {thread}, is no block of any allocator"
        ));
    }
    // SAFETY: it is in a chunk, as `is_chunk` has just said; the caller's promise.
    unsafe { ChunkPtr::of(block) }
}

#[cold]
fn was_another_size(block: NonNull<u8>, chunk: ChunkPtr, size: usize) -> ! {
    misused(block, chunk, &format!("was freed as one of {size} bytes"))
}

#[cold]
fn misused(block: NonNull<u8>, chunk: ChunkPtr, what: &str) -> ! {
    let size = SIZES[chunk.class()];
    // SAFETY: a chunk's heap lives as long as the chunk.
    let owner = unsafe { chunk.heap().as_ref() }.owner_label();
    let thread = current_label();
    fatal(&format!(
        "the block of {size} bytes at {block:p}, of {owner}, {what} (thread {thread})"
    ))
}

#[cold]
fn fatal(message: &str) -> ! {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "releasepool: {message}; aborting");
    crate::sync::abort(message)
}

#[cfg(releasepool_asan)]
unsafe extern "C" {
    fn __asan_poison_memory_region(at: *const u8, size: usize);
    fn __asan_unpoison_memory_region(at: *const u8, size: usize);
}

/// Nobody may touch these bytes.
#[inline(always)]
fn close(at: NonNull<u8>, size: usize) {
    #[cfg(releasepool_asan)]
    // SAFETY: changes no byte of it.
    unsafe {
        __asan_poison_memory_region(at.as_ptr(), size);
    }
    let _ = (at, size);
}

/// They may be used again.
#[inline(always)]
pub(crate) fn open(at: NonNull<u8>, size: usize) {
    #[cfg(releasepool_asan)]
    // SAFETY: changes no byte of it.
    unsafe {
        __asan_unpoison_memory_region(at.as_ptr(), size);
    }
    let _ = (at, size);
}

/// The allocator is about to use the links of a free block.
#[inline(always)]
pub(crate) fn open_links(block: NonNull<u8>) {
    open(block, LINKS);
}

/// It has.
#[inline(always)]
pub(crate) fn close_links(block: NonNull<u8>) {
    close(block, LINKS);
}
