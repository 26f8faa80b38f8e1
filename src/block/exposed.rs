//! Provenance that comes back through foreign code, for collections.
//!
//! `Allocator::deallocate`, `grow` and `shrink` receive the pointer that a collection has kept.
//! `Box` makes a `&mut T` of its pointer and a pointer of that again, which then covers the `T`
//! alone: the header of the block's chunk, or the node before a value on the heap, is out of its
//! bounds. So memory that goes to a collection exposes its provenance, and of the pointer that
//! comes back only the address counts.
//!
//! Through the recovered pointer the allocators read where their own pointer to the memory is,
//! and they use that one from there on: all pointers in their lists have strict provenance. This
//! is the crate's only integer-to-pointer cast, and `ci/miri.sh` allows it in this file alone.

use std::ptr::{self, NonNull};

/// Exposes the provenance of memory that goes to a collection.
#[inline(always)]
pub(super) fn expose(memory: NonNull<u8>) {
    _ = memory.as_ptr().expose_provenance();
}

/// Returns a pointer to the same address, with provenance that [`expose`] has exposed.
#[inline(always)]
pub(super) fn recover(memory: NonNull<u8>) -> NonNull<u8> {
    let recovered = ptr::with_exposed_provenance_mut(memory.addr().get());
    // SAFETY: it has the address of `memory`, which is not null.
    unsafe { NonNull::new_unchecked(recovered) }
}
