//! Checks that find misuse of blocks, in debug builds and with the feature `checks`, and by
//! AddressSanitizer.
//!
//! With [`CHECKS`]:
//!
//! * free blocks are filled with [`FREED`], which is verified when they are handed out again, so that
//!   a write after the free is found;
//! * each chunk has a bit for each block that says whether it is in use;
//! * the addresses of all chunks are known, so that a pointer into no chunk is reported before
//!   anything is read through it.
//!
//! With `--cfg releasepool_asan`, free blocks are poisoned, so that AddressSanitizer reports a use
//! after free.
//!
//! This file and `chunk.rs` refer to each other: chunks are registered here, and checks read
//! chunks.

use super::chunk::{CHUNK_BYTES, ChunkPtr};
use super::size_class::SIZES;
use crate::ledger::{CHECKS, abort};
use crate::sync::PlainMap;
use crate::thread::current::current_label;
use std::num::NonZero;
use std::ptr::NonNull;

/// The value of all bytes of a free block except its first [`LINK_BYTES`].
pub(super) const FREED: u8 = 0xDD;

/// The number of bytes at the beginning of a free block that hold its links.
pub(super) const LINK_BYTES: usize = 16;

/// Fills and poisons a block that was just cut.
///
/// # Safety
/// The `size` bytes at `block` are within a chunk that the caller owns, and not in use.
pub(super) unsafe fn fill_cut_block(block: NonNull<u8>, size: usize) {
    // The bytes may have been poisoned as part of a block of another size.
    unpoison(block, size);
    // SAFETY: the contract is that of `fill_freed`.
    unsafe { fill_freed(block, size) };
    poison(block, size);
}

/// Fills a block with [`FREED`], except for its links, if blocks are checked.
///
/// # Safety
/// The `size` bytes at `block` are the caller's, and not in use.
pub(super) unsafe fn fill_freed(block: NonNull<u8>, size: usize) {
    if CHECKS {
        // SAFETY: within the `size` bytes, which are the caller's; every block has room for links.
        unsafe { block.add(LINK_BYTES).write_bytes(FREED, size - LINK_BYTES) };
    }
}

#[cfg(releasepool_asan)]
unsafe extern "C" {
    fn __asan_poison_memory_region(at: *const u8, size: usize);
    fn __asan_unpoison_memory_region(at: *const u8, size: usize);
}

/// Tells AddressSanitizer that nothing may access these bytes.
#[inline(always)]
pub(super) fn poison(at: NonNull<u8>, size: usize) {
    #[cfg(releasepool_asan)]
    // SAFETY: the call writes to AddressSanitizer's shadow memory only.
    unsafe {
        __asan_poison_memory_region(at.as_ptr(), size);
    }
    let _ = (at, size);
}

/// Tells AddressSanitizer that these bytes may be accessed again.
#[inline(always)]
pub(super) fn unpoison(at: NonNull<u8>, size: usize) {
    #[cfg(releasepool_asan)]
    // SAFETY: the call writes to AddressSanitizer's shadow memory only.
    unsafe {
        __asan_unpoison_memory_region(at.as_ptr(), size);
    }
    let _ = (at, size);
}

/// The addresses of chunks. Every free looks one up, so there are several tables, each with a lock.
/// Models use std's locks here, too: they have nothing to check in the tables, and the tables must
/// outlive an execution, at whose very end the process-wide allocator frees its chunks.
static CHUNKS: [PlainMap<usize, ()>; 16] = [const { PlainMap::new() }; 16];

fn table(chunk: usize) -> &'static PlainMap<usize, ()> {
    &CHUNKS[chunk / CHUNK_BYTES % CHUNKS.len()]
}

/// Registers a new chunk.
pub(super) fn register_chunk(chunk: NonZero<usize>) {
    if CHECKS {
        table(chunk.get()).insert(chunk.get(), ());
    }
}

/// Removes a chunk that is about to be freed.
pub(super) fn unregister_chunk(chunk: NonZero<usize>) {
    if CHECKS {
        table(chunk.get()).remove(&chunk.get());
    }
}

/// The value of all bytes of a block that was just handed out.
const NEW: u8 = 0xCD;

/// A function that names the owner of a chunk's heap, for reports.
pub(super) type OwnerLabel = fn(ChunkPtr) -> String;

/// Checks a block that is being handed out.
///
/// # Safety
/// The block belongs to the caller, and is of this class.
#[inline(always)]
pub(super) unsafe fn handed_out(block: NonNull<u8>, class: usize, owner: OwnerLabel) {
    unpoison(block, SIZES[class]);
    if CHECKS {
        // SAFETY: the contract of this function is that of `check_handed_out`.
        unsafe { check_handed_out(block, class, owner) };
    }
}

/// # Safety
/// The block belongs to the caller, and is of this class.
#[inline(never)]
unsafe fn check_handed_out(block: NonNull<u8>, class: usize, owner: OwnerLabel) {
    // SAFETY: the block is `SIZES[class]` bytes long and belongs to the caller; `fill_cut_block`
    // has initialized the bytes after its links.
    unsafe {
        let chunk = ChunkPtr::of(block);
        let bytes = block.add(LINK_BYTES).as_ptr();
        let bytes = std::slice::from_raw_parts(bytes, SIZES[class] - LINK_BYTES);
        if let Some(at) = bytes.iter().position(|byte| *byte != FREED) {
            let at = LINK_BYTES + at;
            let what = format!("was written at byte {at} after it was freed");
            misused(block, chunk, owner, &what);
        }
        block.write_bytes(NEW, SIZES[class]);
        let index = chunk.index_of(block).unwrap_or(0);
        if chunk.in_use().replace(index, true) {
            misused(block, chunk, owner, "was handed out twice");
        }
    }
}

/// Checks a block that a collection passes back with a layout of class `class`. The block may be
/// larger, as a collection that shrinks may stay in its block.
///
/// # Safety
/// If `block` points into a chunk, it has the provenance of that chunk.
#[cfg(feature = "allocator-api2")]
#[inline(always)]
pub(super) unsafe fn came_back(block: NonNull<u8>, class: usize, owner: OwnerLabel) {
    if CHECKS {
        // SAFETY: the contract is that of `chunk_of`.
        let chunk = unsafe { chunk_of(block, SIZES[class]) };
        if chunk.class() < class {
            was_another_size(block, chunk, owner, SIZES[class]);
        }
    }
}

/// Checks a block that is being freed, on any thread, as a block of `class`; poisons the block.
///
/// # Safety
/// If `block` points into a chunk, it has that chunk's provenance. The caller gives the block up.
#[inline(always)]
pub(super) unsafe fn freed(block: NonNull<u8>, class: usize, owner: OwnerLabel) {
    if CHECKS {
        // SAFETY: the contract is that of `check_freed`.
        unsafe { check_freed(block, class, owner) };
    }
    poison(block, SIZES[class]);
}

/// # Safety
/// The contract of [`freed`].
#[inline(never)]
unsafe fn check_freed(block: NonNull<u8>, class: usize, owner: OwnerLabel) {
    let size = SIZES[class];
    // SAFETY: the contract includes that of `chunk_of`.
    let chunk = unsafe { chunk_of(block, size) };
    if chunk.class() != class {
        was_another_size(block, chunk, owner, size);
    }
    let Some(index) = chunk.index_of(block) else {
        let what = "was freed, but a block does not begin at that address";
        misused(block, chunk, owner, what);
    };
    if !chunk.in_use().replace(index, false) {
        let what = "was freed twice, or never handed out";
        misused(block, chunk, owner, what);
    }
    // SAFETY: the block was in use, so it is whole, and the caller gives it up.
    unsafe { fill_freed(block, size) };
}

/// Returns the chunk of a pointer that is freed as a block of this size; aborts if it points into
/// no chunk.
///
/// # Safety
/// If `block` points into a chunk, it has that chunk's provenance.
#[inline(never)]
unsafe fn chunk_of(block: NonNull<u8>, size: usize) -> ChunkPtr {
    let chunk = block.addr().get() & !(CHUNK_BYTES - 1);
    if !table(chunk).contains(&chunk) {
        let thread = current_label();
        abort(&format!(
            "thread {thread} freed {block:p} as a block of {size} bytes, but no allocator owns \
             that address"
        ));
    }
    // SAFETY: the address is in a registered chunk, so by the contract `block` has the provenance
    // of that chunk.
    unsafe { ChunkPtr::of(block) }
}

#[cold]
fn was_another_size(block: NonNull<u8>, chunk: ChunkPtr, owner: OwnerLabel, size: usize) -> ! {
    let what = format!("was freed as a block of {size} bytes");
    misused(block, chunk, owner, &what)
}

#[cold]
fn misused(block: NonNull<u8>, chunk: ChunkPtr, owner: OwnerLabel, what: &str) -> ! {
    let size = SIZES[chunk.class()];
    let owner = owner(chunk);
    let thread = current_label();
    abort(&format!(
        "the block of {size} bytes at {block:p}, of {owner}, {what} (thread {thread})"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighboring_chunks_are_in_different_tables() {
        let tables = [1, 2].map(|nth| std::ptr::from_ref(table(nth * CHUNK_BYTES)));
        assert_ne!(tables[0], tables[1]);
    }
}
