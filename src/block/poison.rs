//! The bytes of free blocks, for AddressSanitizer and the checks of misuse.
//!
//! To AddressSanitizer (`--cfg releasepool_asan`) free blocks are poisoned, so that it reports a
//! use after free. Where blocks are [`CHECKED`], free ones are filled with [`FREED`], so that a
//! write after the free is found when the block is next handed out.

use std::ptr::NonNull;

/// True if blocks are checked for misuse: in debug builds and with the feature `checks`.
pub(super) const CHECKED: bool = cfg!(any(debug_assertions, feature = "checks"));

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
    if CHECKED {
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

/// Allows access to the links of a free block, until [`poison_links`].
#[inline(always)]
pub(super) fn unpoison_links(block: NonNull<u8>) {
    unpoison(block, LINK_BYTES);
}

/// Ends the access that [`unpoison_links`] allowed.
#[inline(always)]
pub(super) fn poison_links(block: NonNull<u8>) {
    poison(block, LINK_BYTES);
}
