//! Memory at the same addresses in each execution, and never twice in one.
//!
//! The crate chooses by address where it gathers some blocks. So the memory of an execution comes,
//! in turn, from one arena, whose alignment fixes the low bits of all addresses: a seed can be
//! replayed. Freed memory is overwritten, so that a use of it is likely to fail.

use super::atomic::{AtomicPtr, AtomicU64, AtomicUsize};
use std::alloc::{Layout, handle_alloc_error};
use std::cell::Cell;
use std::ptr;

/// The contents of freed memory.
const FREED: u8 = 0xDD;

/// Far more than an execution allocates. Only what is used takes memory.
const ARENA: Layout = match Layout::from_size_align(64 << 20, 1 << 20) {
    Ok(layout) => layout,
    Err(_) => panic!("both are powers of two"),
};

std::thread_local! {
    /// The arena, and how many of its bytes are in use. All threads of an execution are coroutines
    /// on one thread of the operating system.
    static FIRST: Cell<*mut u8> = const { Cell::new(ptr::null_mut()) };
    static USED: Cell<usize> = const { Cell::new(0) };
}

/// Allocates memory, like std's function of this name.
///
/// # Safety
/// As std's.
pub(crate) unsafe fn alloc(layout: Layout) -> *mut u8 {
    if FIRST.get().is_null() {
        // SAFETY: the layout has a size.
        let first = unsafe { std::alloc::alloc(ARENA) };
        if first.is_null() {
            handle_alloc_error(ARENA);
        }
        FIRST.set(first);
    }
    assert!(layout.align() <= ARENA.align(), "the arena is aligned less");
    let at = USED.get().next_multiple_of(layout.align());
    USED.set(at + layout.size());
    assert!(USED.get() <= ARENA.size(), "the arena is used up");
    // SAFETY: within the arena, by the assertion.
    unsafe { FIRST.get().add(at) }
}

/// Gives memory up, like std's function of this name, and overwrites it.
///
/// # Safety
/// As std's.
pub(crate) unsafe fn dealloc(at: *mut u8, layout: Layout) {
    // SAFETY: by the contract, the memory has this size, and nobody uses it any more.
    unsafe { at.write_bytes(FREED, layout.size()) };
}

/// Begins with an empty arena: what is left of the last execution is not used any more.
pub(super) fn begin_execution() {
    USED.set(0);
}

/// Overwrites an atomic whose memory is about to be freed, as that memory may be a block, which
/// goes to its heap and not to [`dealloc`].
pub(crate) trait FreeWitness {
    fn freed(&mut self);
}

impl FreeWitness for AtomicU64 {
    fn freed(&mut self) {
        *self.get_mut() = u64::from_ne_bytes([FREED; 8]);
    }
}

impl FreeWitness for AtomicUsize {
    fn freed(&mut self) {
        *self.get_mut() = usize::from_ne_bytes([FREED; size_of::<usize>()]);
    }
}

impl<T> FreeWitness for AtomicPtr<T> {
    fn freed(&mut self) {
        let address = usize::from_ne_bytes([FREED; size_of::<usize>()]);
        *self.get_mut() = ptr::without_provenance_mut(address);
    }
}
